"""Room 5: a policy file as plain values, where each stands in it, and all that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Key = tuple[str | int, ...]


@dataclass(slots=True)
class Page:
    """A file's content as plain values, with positions, and the problems found in it so far."""

    name: str
    value: object = None
    lines: dict[Key, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)

    def line(self, key: Key) -> int:
        """The line of a key, or of the nearest thing around it that the file holds."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def source(self, key: Key) -> str:
        """Where a key stands: `path:line`."""
        return f"{self.name}:{self.line(key)}"

    def complain(self, key: Key, what: str, advice: str) -> None:
        """Note a problem: what is wrong at this key and what to do."""
        where = f" ({shown_key(key)})" if key else ""
        self.complain_line(self.line(key), f"{what}{where}; {advice}")

    def complain_line(self, line: int, text: str) -> None:
        """Note a problem of the text itself, where no key is known."""
        self.problems.append((line, text))

    def told(self) -> Iterator[str]:
        """All problems in the order of the file, each `path:line: text`, none twice."""
        in_order = sorted(self.problems, key=lambda problem: problem[0])
        yield from dict.fromkeys(f"{self.name}:{line}: {text}" for line, text in in_order)


def shown(value: object) -> str:
    """A value of the file as a message may quote it: one line, its ends where long, no controls."""
    text = repr(str(value) if isinstance(value, str) else value)
    return text if len(text) <= 80 else f"{text[:36]} ... {text[-39:]}"


def shown_key(key: Key) -> str:
    """A key's path as people write it: `cold[0].kinds`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if part.isprintable() and len(part) <= 60 else shown(part))
    return text


class _Broken:
    """Stands for a value that is already complained of, so that nobody complains twice."""

    def __repr__(self) -> str:
        return "an invalid value"


BROKEN = _Broken()
