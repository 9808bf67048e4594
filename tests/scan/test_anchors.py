"""Room 2: what the scan looks for: a rare piece of each anchor, and where the anchor lies around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.scan import anchors
from fallback_gate.scan.anchors import LENGTH, Anchors
from fallback_gate.scan.pieces import PIECES

PIECE, SECOND = sorted(piece for piece in PIECES if len(piece) == LENGTH and piece.isalpha())[:2]


def found(*literals: str) -> dict[bytes, tuple[tuple[int, bytes, int], ...]]:
    made = Anchors(literals)
    assert made.literals == literals
    return dict(zip(made.pieces, made.behind, strict=True))


def test_of_an_anchor_its_piece_is_looked_for() -> None:
    whole = f"~~{PIECE}~"
    assert found(whole) == {PIECE.encode(): ((2 + LENGTH, whole.encode(), 0),)}
    assert found(f"~{PIECE}") == {PIECE.encode(): ((1 + LENGTH, f"~{PIECE}".encode(), 0),)}
    assert found(f"é{PIECE}") == {PIECE.encode(): ((2 + LENGTH, f"é{PIECE}".encode(), 0),)}
    assert found(PIECE) == {PIECE.encode(): ((LENGTH, PIECE.encode(), 0),)}


def test_the_first_piece_of_two_and_one_piece_of_two_anchors() -> None:
    one, other = f"{PIECE}~{SECOND}", f"~~~{PIECE}"
    assert found(one, other) == {PIECE.encode(): ((LENGTH, one.encode(), 0), (3 + LENGTH, other.encode(), 1))}


def test_an_anchor_without_a_piece_is_looked_for_as_a_whole() -> None:
    assert found("~+~+~+~+~+~", "~") == {
        b"~+~+~+~+~+~": ((11, b"~+~+~+~+~+~", 0),), b"~": ((1, b"~", 1),),
    }  # fmt: skip


def test_an_anchor_with_a_number_in_it_is_looked_for_as_it_is() -> None:
    numbered = f"{PIECE}{{n}} = x"
    assert found(numbered, PIECE) == {
        numbered.encode(): ((0, b"", 0),), PIECE.encode(): ((LENGTH, PIECE.encode(), 1),),
    }  # fmt: skip


@pytest.mark.parametrize("count", [0, anchors.FEWEST - 1, anchors.FEWEST, anchors.FEWEST + 5])
def test_a_database_tells_the_place_of_what_it_found(count: int) -> None:
    """Few expressions are filled up with others, whose places are behind and which no text holds."""
    listed = [b"~%d~" % number for number in range(count)]
    seen: list[tuple[int, int]] = []
    scan = anchors.database([*listed, b"last"])
    text = b"x ~0~ ~3~ ~3~ last " + bytes(range(256))
    scan(text, match_event_handler=lambda place, start, end, flags, context: seen.append((place, end)))
    expected = [(0, 5), (3, 9), (3, 13)] if count else []
    assert sorted(seen, key=lambda one: one[1]) == [*expected, (count, 18)]


def test_an_expression_may_be_told_once_a_scan() -> None:
    seen: list[int] = []

    def tell(place: int, start: int, end: int, flags: int, context: object) -> None:
        seen.append(place)

    for once, expected in ((False, [0, 0, 0]), (True, [0])):
        seen.clear()
        anchors.database([b"abc"], once=once)(b"abc abc abc", match_event_handler=tell)
        assert seen == expected
    seen.clear()
    anchors.database([b"abc", *anchors.ANY_RANK])(b"abc [rank0] abc [rank1]", match_event_handler=tell)
    assert sorted(seen) == [0, 0, 1]


@pytest.mark.parametrize("near", [PIECE, f"~{PIECE}", f"~~{PIECE}", f"{PIECE}~", f"~~~{PIECE}~"])
def test_a_piece_without_its_anchor_around_it_is_no_hit(scan: Callable[..., Any], near: str) -> None:
    """Also where the piece stands at the very start, and the anchor before it in another line."""
    whole = f"~~{PIECE}~"
    wanted = [1, 3] if whole in near else []
    text = f"{near}\n~~\n{near}\n".encode()
    assert [hit.position for hit in scan(text, [whole])] == wanted
