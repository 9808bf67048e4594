"""Room 2: whether a text is as it was written is told alike, however little a read gives and whatever the parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Verdict
from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.window import Scan

ANCHOR = "falling back to eager"
PROSE = b"".join(
    b"step %d of the program took %d ms and went well\n" % (n, n * 7 % 90) for n in range(300_000)
)
MASKED = b"falling *** eager\n"
CUT = b"".join(
    (b"%d %s" % (n, word * 20))[:90] + b"\n"
    for n, word in enumerate([b"alpha ", b"beta ", b"gamma ", b"delta ", b"epsilon ", b"zeta ", b"etas "] * 3)
)
CLEAN = (Path(__file__).parents[1] / "data/clean.2.9.1.log").read_bytes()
TEXTS = {
    "as written": (PROSE, False, False),
    "masked at the start": (MASKED + PROSE, True, False),
    "masked in the middle": (PROSE + MASKED + PROSE, True, False),
    "masked in a long line": (b"." * (3 << 20) + MASKED, True, False),
    "cut at the start": (CUT + PROSE, False, True),
    "cut at the end": (PROSE + CUT, False, True),
    "rows as long in the middle": (PROSE + CUT + PROSE, False, False),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("sizes", [(1 << 20,), (4096,), (7, 100_000)])
def test_reads_of_any_size_tell_the_same(
    text: tuple[bytes, bool, bool], sizes: tuple[int, ...], chunked: Callable[..., object]
) -> None:
    data, masked, cut = text
    scan = Scan(Anchors([ANCHOR]), chunked(data, sizes), count_lines=False)  # type: ignore[arg-type]
    for _ in scan:
        pass
    assert (scan.spoilt is not None, scan.torn is not None) == (masked, cut)


def reasons(verdict: Verdict) -> set[str]:
    """Why something is unproven."""
    processes = (process for process in verdict.processes for process in process.compilers)
    return {proof.why for compiler in processes for proof in compiler.proof.values()}


@pytest.mark.parametrize(
    ("before", "behind", "expected"),
    [
        (b"", b"", None),
        (PROSE[: 8 << 20] + MASKED, b"", "masks stand within messages"),
        (b"", CUT, "cut or broken at 90 characters"),
    ],
)
def test_parts_tell_the_same(tmp_path: Path, before: bytes, behind: bytes, expected: str | None) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(before + PROSE * 3 + CLEAN + PROSE * 3 + behind)
    one, three = (check(log, jobs=jobs, environ={}, cwd=tmp_path) for jobs in (1, 3))
    assert reasons(one) == reasons(three)
    assert expected is None or any(expected in why for why in reasons(one))
    assert one.outcome is three.outcome
    assert (expected is None) == (one.exit_code == 0)
