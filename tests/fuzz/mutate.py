"""Fuzzing: a seed made into another input, by a seeded generator: the same seed and number, the same input.

`lines` are the mutations that a text survives as a text: lines cut, dropped, doubled, moved, torn, and lines of
other seeds put between. `values` are those of JSON and YAML, `bytes_of` those that leave nothing sure: bytes flipped, filled, cut out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from copy import deepcopy

import yaml

LARGEST = 32 << 10  # bytes of one input
_ODD = (
    b"", b"\0", b"\r", b"\x1b[31m", b"\x1b]0;t\x07", b"\xff\xfe", b"\xc3", b'"', b"'", b"\\", b"\t", b"\x1c",
    b"9" * 400, b"(" * 200, b"[" * 3000, b"{" * 300, b"a" * 5000, b" " * 2000, b"-1", b"1e999", b"NaN", b"%s",
    b"[rank7]:", b"[default3]: ", b'{"log":"', b"2026-11-29T12:00:00.000339Z ", b"::error::x", b"# ", b"null",
    "٣".encode(), "𝟜".encode(), "²".encode(), b" ", "\ufeff".encode(), "\u202e".encode(),
)  # fmt: skip
_VALUES = (
    None, True, False, 0, 1, -1, 1.5, -0.0, 10**400, 2**63, float("nan"), float("inf"), "", "x", "NaN", "1", " ", "*",
    "2027-03-31", "\ud800", "\0", "a" * 3000, [], {}, [[]], [None], {"": None}, {"a": [1]}, [1, "x"],
)  # fmt: skip
Mutation = Callable[[random.Random, list[bytes], Sequence[bytes]], None]
Mutate = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def lines(chance: random.Random, seed: bytes, others: Sequence[bytes]) -> bytes:
    """A text of other lines, each of them whole."""
    text = seed.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        chance.choice(_LINE_WISE)(chance, text, others)
    return b"\n".join(text)[:LARGEST]


def bytes_of(chance: random.Random, seed: bytes, others: Sequence[bytes]) -> bytes:
    """Bytes that may be anything."""
    data = bytearray(lines(chance, seed, others) if chance.random() < 0.5 else seed[:LARGEST])
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 8, 64, 1024)))
        choice = chance.randrange(6)
        if choice == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
        elif choice == 1:
            del data[at:end]
        elif choice == 2:
            data[at:at] = chance.choice(_ODD)
        elif choice == 3:
            data[at:end] = chance.choice(_ODD)
        elif choice == 4:
            data[at:at] = data[at:end] * chance.randint(1, 3)
        else:
            del data[at:]
    return bytes(data[:LARGEST])


def values(chance: random.Random, seed: bytes, others: Sequence[bytes]) -> bytes:
    """JSON or YAML in which one to three values are others, of another type, or gone; other text, byte by byte."""
    text = seed[:LARGEST].decode("utf-8", "replace")
    before, brace, _ = text.partition("{")
    try:
        if len(before) < 200 and brace and "\n" not in before and "[" not in before:
            tree = json.loads(text[len(before) :])
        else:
            before, tree = "", json.loads(text) if text[:1] in "[{" else yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError):
        return bytes_of(chance, seed, others)
    for _ in range(chance.randint(1, 3)):
        _change(chance, tree)
    if chance.random() < 0.1 and isinstance(tree, (dict, list)):
        tree = [tree] if chance.random() < 0.5 else {"traceEvents": tree}
    return (before + json.dumps(tree, default=str)).encode("utf-8", "surrogatepass")[:LARGEST]


def _change(chance: random.Random, tree: object) -> None:
    """Another value at a random place, the deeper the rarer."""
    node = tree
    while isinstance(node, (dict, list)) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = chance.choice(keys)
        if not isinstance(node[key], (dict, list)) or not node[key] or chance.random() < 0.25:  # type: ignore[index]
            choice = chance.randrange(4)
            if choice == 0:
                del node[key]  # type: ignore[arg-type]
            elif choice == 1:
                other = node[chance.choice(keys)]  # type: ignore[index]
                node[key] = deepcopy(other) if other is not node[key] else None  # type: ignore[index]
            else:
                node[key] = deepcopy(chance.choice(_VALUES))  # type: ignore[index]
            return
        node = node[key]  # type: ignore[index]


def _drop(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    at = chance.randrange(len(text))
    del text[at : at + chance.choice((1, 1, 2, 10))]
    text.extend([b""] if not text else [])


def _double(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    at = chance.randrange(len(text))
    text[at:at] = text[at : at + chance.choice((1, 1, 3, 20))]


def _move(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    at = chance.randrange(len(text))
    moved = text[at : at + chance.choice((1, 1, 5))]
    del text[at : at + len(moved)]
    to = chance.randrange(len(text) + 1)
    text[to:to] = moved


def _tear(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    at = chance.randrange(len(text))
    cut = chance.randrange(len(text[at]) + 1)
    text[at : at + 1] = [text[at][:cut], text[at][cut:]] if chance.random() < 0.5 else [text[at][:cut]]


def _join(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    at = chance.randrange(len(text))
    text[at : at + 2] = [b"".join(text[at : at + 2])]


def _cut(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    at = chance.randrange(len(text))
    del text[at + 1 :]


def _splice(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    other = chance.choice(others).split(b"\n")
    at = chance.randrange(len(other))
    to = chance.randrange(len(text) + 1)
    text[to:to] = other[at : at + chance.choice((1, 1, 1, 4, 40))]


def _word(chance: random.Random, text: list[bytes], others: Sequence[bytes]) -> None:
    """One word of a line takes the place of another, as in a newer version's wording."""
    at = chance.randrange(len(text))
    words, other = text[at].split(b" "), chance.choice(text).split(b" ")
    words[chance.randrange(len(words))] = chance.choice(other)
    text[at] = b" ".join(words)


_LINE_WISE: tuple[Mutation, ...] = (_drop, _double, _move, _tear, _join, _cut, _splice, _splice, _word)
