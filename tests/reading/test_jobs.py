"""The reading of logs side by side: the same to the byte, whatever the number of processes."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate import check
from fallback_gate.compilers import READERS, near_miss
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import LogEvidence
from fallback_gate.reading import jobs
from fallback_gate.reading.run import PartReading, joined
from fallback_gate.scan.view import Overlap
from tests.cli.test_check import run
from tests.compilers.lines import clean, graph_break

NOISE = (
    "V1130 00:29:06.251000 4674 torch/_dynamo/output_graph.py:1] [0/0] TRACE LOAD_FAST x [] of the noisy kind"
)

OPENING = (
    "I1130 00:00:00.000000 7 torch/_dynamo/utils.py:1] TorchDynamo attempted to trace the following frames: ["
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six logs of 4 MB: many reports, few, none, one that is cut in an archive, one binary, one unknown."""
    place = tmp_path_factory.mktemp("logs")
    body = "\n".join([NOISE] * 38_000)
    for name in range(4):
        told = [
            line
            for site in range(0, 400, name + 1)
            for line in graph_break(
                f"Graph break in user code at /app/m{site % 7}.py:{site}",
                "User code traceback:",
                f'  File "/app/m{site % 7}.py", line {site}, in layer_{site}',
            )
        ]
        kernel = f"buf1 = torch.ops.aten.topk.default(buf0, {name})"
        text = "\n".join([*clean(kernel), *told, body, *told * (name + 1), "[default] tail"])
        (place / f"rank{name}.log").write_text(text, encoding="utf-8")
    (place / "cut.log.gz").write_bytes(b"\x1f\x8b\x08" + bytes(40))
    (place / "model.bin").write_bytes(bytes(range(256)) * 16_000)
    (place / "plain.log").write_text("nothing known\n" * 200_000, encoding="utf-8")
    return place


def test_reports_are_the_same_whatever_the_number_of_jobs(folder: Path) -> None:
    def reports(jobs: int) -> tuple[bytes, int]:
        arguments = ("-f", "json", "--hash", "--today", "2026-11-30", "-j", str(jobs))
        done = run(folder, "check", "rank3.log", "*.log", "cut.log.gz", "model.bin", "gone.log", *arguments)
        return done.stdout, done.returncode

    alone = reports(1)
    assert alone[1] == 2
    assert b'"rank3.log"' in alone[0]
    assert b"layer_399" in alone[0]
    assert [reports(jobs) for jobs in (2, 3, 16)] == [alone] * 3


def test_a_process_that_is_started_from_nothing_reads_the_same(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nname: mine\nrules:\n"
        "  - {id: mine/noise, compiler: mine, anchor: of the noisy, pattern: 'LOAD_FAST (?P<op>\\w+)', "
        "kind: op_fallback, scope: operator, matches: ['LOAD_FAST x of the noisy']}\n",
        encoding="utf-8",
    )
    code = (
        "import threading, fallback_gate.reading.jobs as jobs\n"
        "from fallback_gate import check\n"
        "def main():\n"
        "    jobs.WORTH_SPAWNING = 0\n"
        "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"  # so that none is forked
        "    logs = ['rank0.log', 'rank1.log']\n"
        "    one, two = (check(logs, 'rules.yaml', jobs=number) for number in (1, 2))\n"
        "    print(one == two, len(one.findings) > 400)\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    for name in ("rank0.log", "rank1.log"):
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        (tmp_path / name).write_bytes(b"".join(lines[:4_000]))
    (tmp_path / "main.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "True True\n"


ROOT = Path(__file__).parents[2]
SAMPLES = sorted(
    path
    for kind in ("*.log", "*.log.gz")
    for path in (ROOT / "sample_logs").rglob(kind)
    if 2_000 < path.stat().st_size < 2_000_000
)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Parts of a megabyte; the list tells of each log in parts whether these told all."""
    for name in ("WORTH_FORKING", "WORTH_SPAWNING"):
        monkeypatch.setattr(jobs, name, 0)
    for name in ("LEAST_PART", "MOST_PART"):
        monkeypatch.setattr(jobs, name, 1 << 20)
    told: list[bool] = []
    joined = jobs.joined

    def watched(*arguments: object) -> object:
        reading = joined(*arguments)  # type: ignore[arg-type]
        told.append(reading is not None)
        return reading

    monkeypatch.setattr(jobs, "joined", watched)
    return told


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere processes start from nothing")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(picked=st.data())
def test_a_log_in_parts_says_what_the_whole_says(
    tmp_path: Path, small_parts: list[bool], picked: st.DataObject
) -> None:
    path = picked.draw(st.sampled_from(SAMPLES))
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = [line for line in text.splitlines(keepends=True) if line.endswith(b"\n")]
    body, log = [text.rstrip(b"\n") + b"\n"], tmp_path / "big.log"
    while sum(map(len, body)) < 2_400_000:
        some = picked.draw(st.integers(0, len(lines)))
        noise = b"." * picked.draw(st.integers(1, 9_000)) + b"\n"
        body += [b"".join(lines[some : some + 200]), noise * picked.draw(st.integers(1, 200)), text]
    log.write_bytes(b"".join(body))
    whole = check([log], "builtin:moe-serving")
    assert check([log], "builtin:moe-serving", jobs=2) == whole


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere processes start from nothing")
@pytest.mark.parametrize("case", ["plain", "wordings", "overlapping", "late colours"])
def test_a_log_whose_parts_may_say_less_is_read_as_a_whole(
    tmp_path: Path, small_parts: list[bool], case: str
) -> None:
    told = graph_break(
        "Graph break in user code at /app/m.py:7", "User code traceback:", '  File "/app/m.py"'
    )
    lines = [NOISE] * 4_000 + told + [NOISE] * 20_000
    if case == "wordings":
        odd = ["".join(chr(97 + (n >> shift) % 16) for shift in (0, 4)) for n in range(2 * near_miss.MOST)]
        lines += [f"the {name} layer is falling back to something" for name in odd] * 2
    elif case == "overlapping":
        lines += [OPENING] * 4_000 + [NOISE] * 10_000
    elif case == "late colours":
        lines.insert(15_000, "\x1b[31mred\x1b[0m")
    log = tmp_path / "big.log"
    log.write_text("\n".join(lines + told), encoding="utf-8")
    before = check([log])
    assert check([log], jobs=2) == before
    assert before.findings
    assert (small_parts == [True]) == (case == "plain")


@pytest.mark.parametrize(
    ("overlaps", "seconds", "whole"),
    [
        ([(200_000, 200_000), (100_000, 100_000)], (1.0, 1.0), True),
        ([(200_000, 200_000), (100_001, 100_001)], (1.0, 1.0), False),
        ([(-90_000, 0), (390_000, 390_000)], (1.0, 1.0), True),
        ([(0, 300_001), (-90_000, 0)], (1.0, 1.0), False),
        ([(0, 0), (0, 0)], (4.9, 5.2), False),
    ],
)
def test_parts_take_no_more_than_the_whole_may(
    overlaps: list[tuple[int, int]], seconds: tuple[float, float], whole: bool
) -> None:
    readings = [
        PartReading(LogEvidence(), Overlap(*overlap), took)
        for overlap, took in zip(overlaps, seconds, strict=True)
    ]
    reading = joined(readings, Book(READERS), lambda report, process: None)
    assert (reading is not None) is whole


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc lists the workers")
@pytest.mark.parametrize("ending", ["interrupted", "a worker killed"])
def test_no_worker_is_left_behind(folder: Path, ending: str) -> None:
    for name in ("one", "two"):
        if not (folder / f"{name}.pipe").exists():
            (folder / f"{name}.pipe").mkdir()
        with (folder / f"{name}.pipe" / "big.log").open("wb") as file:
            file.write(b"noise\n" * 20_000)
            file.truncate(40 << 30)  # a hole: it takes long to read, and no room
    command = [sys.executable, "-m", "fallback_gate", "check", "one.pipe", "two.pipe", "-j2"]
    with subprocess.Popen(
        command,
        cwd=folder,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored around here
    ) as gate:
        children = Path(f"/proc/{gate.pid}/task/{gate.pid}/children")
        while len(workers := children.read_text().split()) < 2:
            assert gate.poll() is None
        if ending == "interrupted":
            os.killpg(gate.pid, signal.SIGINT)
        else:
            os.kill(int(workers[0]), signal.SIGKILL)
        assert gate.stderr is not None
        said = gate.stderr.read().decode()
        assert gate.wait(timeout=30) == (130 if ending == "interrupted" else 2)
        assert ("no verdict was reached" if ending == "interrupted" else "--jobs 1") in said
        assert "Traceback" not in said
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
