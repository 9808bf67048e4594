"""Who is who: parts of a process are joined only where one process fits."""

from __future__ import annotations

import gzip
from itertools import zip_longest
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.compilers import READERS
from fallback_gate.compilers.log import LogEvidence
from fallback_gate.model import Outcome, ProcessKey
from fallback_gate.verdict.processes import processes

SAMPLES = Path(__file__).parents[2] / "sample_logs" / "torch"
CLEAN = Path(__file__).parents[1] / "data" / "clean.2.9.1.log"


def around(name: str, lines: list[str]) -> list[str]:
    """The lines as `docker compose logs` prints those of a container."""
    return [f"{name}  | {line}\n" for line in lines]


def test_two_containers_with_the_same_process_id_are_two(tmp_path: Path) -> None:
    lines = CLEAN.read_text(encoding="utf-8").splitlines()
    half = lines[: len(lines) // 2]
    log = tmp_path / "compose.log"
    log.write_text("".join([*around("decode-1", lines), *around("decode-2", half)]), encoding="utf-8")
    verdict = check([log], "builtin:strict")
    assert {process.host: process.outcome for process in verdict.processes} == {
        "decode-1": Outcome.PASS,
        "decode-2": Outcome.UNPROVEN,
    }
    assert verdict.outcome is Outcome.UNPROVEN


def test_one_container_is_one_process(tmp_path: Path) -> None:
    log = tmp_path / "compose.log"
    log.write_text(
        "".join(around("decode-1", CLEAN.read_text(encoding="utf-8").splitlines())), encoding="utf-8"
    )
    verdict = check([log], "builtin:strict")
    assert verdict.outcome is Outcome.PASS
    (process,) = verdict.processes
    assert process.key == ProcessKey(str(log), None, process.pid, "decode-1")


def outcome(folder: Path, *logs: list[str]) -> Outcome | None:
    """The verdict of a run of logs of these lines."""
    paths = []
    for number, lines in enumerate(logs):
        path = folder / f"{number}.log"
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        paths.append(path)
    return check(paths, "builtin:strict", cwd=folder, environ={"PATH": ""}).outcome


WHOLE = CLEAN.read_text(encoding="utf-8").splitlines()
START = WHOLE[:5]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*WHOLE, *START], Outcome.UNPROVEN),
        ([*START, *WHOLE], Outcome.UNPROVEN),
        ([*WHOLE, *START, *WHOLE], Outcome.UNPROVEN),
        ([*WHOLE, *WHOLE], Outcome.UNPROVEN),  # which of them printed the code, nobody can tell
    ],
    ids=["crashed after", "crashed before", "crashed between", "both whole"],
)
def test_a_process_that_is_started_again_with_its_id(
    lines: list[str], expected: Outcome, tmp_path: Path
) -> None:
    assert outcome(tmp_path, lines) is expected


@pytest.mark.parametrize(
    ("start", "expected"), [(" 01:40:10.2", Outcome.UNPROVEN), (" 01:38:40.2", Outcome.PASS)]
)
def test_a_clock_that_runs_back_by_a_minute_is_that_of_two_processes(
    start: str, expected: Outcome, tmp_path: Path
) -> None:
    lines = [line.replace(" 01:38:10.2", start) for line in WHOLE]
    assert lines != WHOLE
    assert outcome(tmp_path, lines) is expected


def test_a_clock_that_runs_back_by_a_year_is_that_of_new_years_eve(tmp_path: Path) -> None:
    lines = [line.replace("1130 01:38:1", "1231 23:59:5").replace("1130 ", "0101 ") for line in WHOLE]
    assert outcome(tmp_path, lines) is Outcome.PASS


@pytest.mark.parametrize(
    "around", ["[gpu {}] ", "(RayTrainWorker pid=4456, ip=10.0.0.{}) ", "[pod/decode-{}/engine] "]
)
def test_the_same_id_in_two_branches_or_on_two_hosts(around: str, tmp_path: Path) -> None:
    one, other = (
        [around.format(number) + line for line in lines] for number, lines in ((1, WHOLE), (2, START))
    )
    assert outcome(tmp_path, one) is Outcome.PASS
    assert outcome(tmp_path, [*one, *other]) is Outcome.UNPROVEN
    assert outcome(tmp_path, [*other, *one]) is Outcome.UNPROVEN
    mixed = [line for pair in zip_longest(one, other) for line in pair if line]
    assert outcome(tmp_path, mixed) is Outcome.UNPROVEN


def ranks() -> dict[int, list[str]]:
    """A real log of two ranks, taken apart."""
    with gzip.open(SAMPLES / "ranks-clean.2.7.1.log.gz", "rt", encoding="utf-8") as log:
        lines = log.read().splitlines()
    return {
        rank: [line for line in lines if f"rank{rank}]" in line or f" {pid} " in line]
        for rank, pid in ((0, 12217), (1, 12218))
    }


def test_every_rank_below_the_largest_is_owed(tmp_path: Path) -> None:
    by_rank = ranks()
    assert outcome(tmp_path, [*by_rank[0], *by_rank[1]]) is Outcome.PASS
    assert outcome(tmp_path, by_rank[0], by_rank[1]) is Outcome.PASS
    assert outcome(tmp_path, by_rank[0]) is Outcome.PASS
    assert outcome(tmp_path, by_rank[1]) is Outcome.UNPROVEN


def test_the_ranks_that_are_missing_are_named(tmp_path: Path) -> None:
    log = tmp_path / "rank.log"
    log.write_text(
        "".join(line.replace("[rank1]", "[rank3]") + "\n" for line in ranks()[1]), encoding="utf-8"
    )
    verdict = check([log], "builtin:strict")
    assert verdict.outcome is Outcome.UNPROVEN
    missing = {p.rank: p.why for p in verdict.processes if p.outcome is Outcome.UNPROVEN}
    assert sorted(rank for rank in missing if rank is not None) == [0, 1, 2]
    assert all(f"rank {rank}:" in (why or "") and "all ranks" in (why or "") for rank, why in missing.items())


TRACE = gzip.decompress((SAMPLES / "trace-clean.2.9.1.log.gz").read_bytes()).decode().splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (START, Outcome.PASS),
        ([line.replace("forward /app/tv/model.py:52", "decode /app/tv/other.py:9") for line in START], Outcome.UNPROVEN),
        ([*START, *(START[1].replace("forward", "decode").replace("[0/0]", "[1/0]"),)], Outcome.UNPROVEN),
        (START[:1] + START[2:], Outcome.PASS),
        ([line.replace("[0/0]", "[7/0]") for line in START[:1] + START[2:]], Outcome.UNPROVEN),
        ([*START, *START], Outcome.UNPROVEN),
    ],
    ids=["the same program", "another program", "one frame more", "no frame named", "no frame named, another id", "started twice"],
)  # fmt: skip
def test_a_trace_proves_the_text_log_of_its_own_program(
    text: list[str], expected: Outcome, tmp_path: Path
) -> None:
    mine = [line.replace(" 4456 ", " 4865 ") for line in text]
    assert outcome(tmp_path, TRACE) is Outcome.PASS
    assert outcome(tmp_path, mine) is Outcome.UNPROVEN
    assert outcome(tmp_path, mine, TRACE) is expected


def test_a_trace_of_two_processes_with_one_id(tmp_path: Path) -> None:
    begun = TRACE[: next(at for at, line in enumerate(TRACE) if '{"dynamo_start"' in line) + 1]
    assert outcome(tmp_path, [*begun, *TRACE]) is Outcome.UNPROVEN
    assert outcome(tmp_path, [*TRACE, *begun]) is Outcome.UNPROVEN


def test_many_processes_are_each_found_once() -> None:
    said, many = LogEvidence(), 20_000
    for number in range(many):
        said.of(ProcessKey("a", None, number, f"pod-{number % 7}"), "torch.compile")
        said.of(ProcessKey("a", number, number, f"pod-{number % 7}"), "torch.compile")
        said.of(ProcessKey("a", number, None, f"pod-{number % 7}"), "torch.compile")
        said.of(ProcessKey("a", None, 1, f"host-{number}"), "torch.compile")
    found = processes({"a": said}, READERS)
    assert len(found.evidence) == 2 * many
