"""The reading of logs side by side: the same to the byte, whatever the number of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_check import run
from tests.compilers.lines import clean, graph_break

NOISE = (
    "V1130 00:29:06.251000 4674 torch/_dynamo/output_graph.py:1] [0/0] TRACE LOAD_FAST x [] of the noisy kind"
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


def test_a_process_that_is_started_from_nothing_reads_the_same(folder: Path) -> None:
    (folder / "rules.yaml").write_text(
        "version: 1\nname: mine\nrules:\n"
        "  - {id: mine/noise, compiler: mine, anchor: of the noisy, pattern: 'LOAD_FAST (?P<op>\\w+)', "
        "kind: op_fallback, scope: operator, matches: ['LOAD_FAST x of the noisy']}\n",
        encoding="utf-8",
    )
    code = (
        "import threading, fallback_gate.jobs as jobs\n"
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
    (folder / "main.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "True True\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc lists the workers")
@pytest.mark.parametrize("ending", ["interrupted", "a worker killed"])
def test_no_worker_is_left_behind(folder: Path, ending: str) -> None:
    for name in ("one", "two"):
        if not (folder / f"{name}.pipe").exists():
            (folder / f"{name}.pipe").mkdir()
        with (folder / f"{name}.pipe" / "big.log").open("wb") as file:
            file.truncate(40 << 30)  # a hole: it takes long to read, and no room
    command = [sys.executable, "-m", "fallback_gate", "check", "one.pipe", "two.pipe", "-j2"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True) as gate:
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
