"""Who is who: parts of a process are joined only where one process fits."""

from __future__ import annotations

from pathlib import Path

from fallback_gate import check
from fallback_gate.model import Outcome, ProcessKey

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
