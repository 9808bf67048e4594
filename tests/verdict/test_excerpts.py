"""Room 6: the lines around a proving line, against cutting the file by hand."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from fallback_gate.model import Outcome
from fallback_gate.sources import Source, expand
from fallback_gate.verdict.excerpts import AROUND, LONGEST, MOST, excerpts
from tests.reports import sample


def source(path: Path) -> dict[str, Source]:
    (found,), errors = expand([str(path)], path.parent)
    assert not errors
    return {found.path: found}


def numbered(count: int) -> list[str]:
    return [f"line {number}" for number in range(1, count + 1)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("line", [1, 2, 50, 99, 100])
def test_as_cut_by_hand(tmp_path: Path, line: int, packed: bool) -> None:
    path = tmp_path / ("a.log.gz" if packed else "a.log")
    data = ("\r\n".join(numbered(100))).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    sources = source(path)
    (log,) = sources
    found = excerpts([sample.blocked(log=log, line=line)], (), sources)
    wanted = [(n, f"line {n}") for n in range(max(1, line - AROUND), min(100, line + AROUND) + 1)]
    assert list(found[log, line]) == wanted


def test_far_apart_in_many_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    lines = [f"line {number} {'x' * 60}" for number in range(1, 60_001)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    sources = source(path)
    (log,) = sources
    wanted = (1, 16_000, 16_002, 30_000, 60_000)
    found = excerpts([sample.blocked(log=log, line=line) for line in wanted], (), sources)
    for line in wanted:
        middle = range(max(1, line - AROUND), min(60_000, line + AROUND) + 1)
        assert list(found[log, line]) == [(n, lines[n - 1]) for n in middle]


def test_a_line_of_megabytes_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(b"one\n" + b"a" * 5_000_000 + b"\nthree\n\xff")
    sources = source(path)
    (log,) = sources
    (around,) = excerpts([sample.blocked(log=log, line=2)], (), sources).values()
    assert around == ((1, "one"), (2, "a" * LONGEST), (3, "three"), (4, "\udcff"))


def test_proofs_and_bounds(tmp_path: Path) -> None:
    path = tmp_path / "p.log"
    path.write_text("\n".join(numbered(2_000)), encoding="utf-8")
    sources = source(path)
    (log,) = sources
    process = sample.process(Outcome.PASS, log=log)
    assert set(excerpts((), (process,), sources)) == {(log, 3)}
    many = [sample.blocked(log=log, line=line) for line in range(1, 1_001)]
    found = excerpts([sample.allowed(log=log, line=1_500), *many], (process,), sources)
    assert len(found) == MOST
    assert (log, 1_500) not in found  # what blocks comes first


def test_a_pipe_has_none_and_an_archive_what_could_be_read(tmp_path: Path) -> None:
    piped = Source("-", named=True, once=True)
    assert excerpts([sample.blocked(log="-", line=1)], (), {"-": piped}) == {}
    path = tmp_path / "cut.log.gz"
    path.write_bytes(gzip.compress("\n".join(numbered(100_000)).encode())[:2_000])
    sources = source(path)
    (log,) = sources
    found = excerpts([sample.blocked(log=log, line=2), sample.blocked(log=log, line=90_000)], (), sources)
    assert found[log, 90_000] == ()


def test_what_stands_nowhere_has_no_lines_and_takes_none_away(tmp_path: Path) -> None:
    """An event or a proof without a line, and a pipe beside a log."""
    path = tmp_path / "a.log"
    path.write_text("one  \r\n\ttwo\t\r\r\nthree\n", encoding="utf-8", newline="")
    sources = {"-": Source("-", named=True, once=True), **source(path)}
    log = str(path)
    findings = [
        sample.blocked(log="-", line=1),
        sample.blocked(log=log, line=None),
        sample.blocked(log=log, line=2),
    ]
    process = sample.process(Outcome.PASS, log=log)
    (compiler,) = process.compilers
    silent = {kind: replace(proof, line=None) for kind, proof in compiler.proof.items()}
    process = replace(process, compilers=(compiler._replace(proof=silent),))
    found = excerpts(findings, [process], sources)
    assert found == {(log, 2): ((1, "one  "), (2, "\ttwo\t"), (3, "three"))}
    assert excerpts([sample.blocked(log="gone.log", line=1), *findings[2:]], (), sources) == found


def test_more_than_are_kept_are_those_that_stand_first(tmp_path: Path) -> None:
    path = tmp_path / "p.log"
    path.write_text("\n".join(numbered(MOST + 50)), encoding="utf-8")
    sources = source(path)
    (log,) = sources
    found = excerpts([sample.blocked(log=log, line=line) for line in range(1, MOST + 2)], (), sources)
    assert set(found) == {(log, line) for line in range(1, MOST + 1)}
    assert found[log, MOST][-1] == (MOST + AROUND, f"line {MOST + AROUND}")
