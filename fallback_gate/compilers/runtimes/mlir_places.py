r"""Room 3: where an operation of a printed MLIR module comes from: the aliases that stand around the module.

    %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0) {...} : (...) -> tensor<4x2xi32> loc(#loc31)
    ...
    #loc2 = loc("/app/tables.py":9:15 to :109)
    #loc10 = loc("Router.pick"(#loc2))
    #loc29 = loc(callsite(#loc10 at #loc24))
    #loc30 = loc("jit(route)/pure_callback"(#loc29))
    #loc31 = loc("pure_callback:"(#loc30))

A name around a place of a file is a function's; one around anything else is the operation's path. Most
stand behind the module, some before it; they are read once for all operations between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fallback_gate.compilers.runtimes.xla_module import lines_of
from fallback_gate.model import Location
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record
from fallback_gate.scan.view import ALLOWANCE_BYTES, LONGEST_LINE
from fallback_gate.scan.window import BEHIND

MOST = 200  # aliases of one operation
_GAP = 4 * 1024  # bytes without an alias, behind which they have ended
_OF = Pattern(r"#loc(?P<id>\d{0,9}) = loc\(")
_ALIAS = Pattern(r"loc\(#loc(?P<id>\d{0,9})\)\s*$")
_MEANS = Pattern(
    r"#loc\d{0,9} = loc\((?:\"(?P<name>[^\"]{0,1000})\"\(#loc(?P<child>\d{0,9})\)"
    r"|callsite\(#loc(?P<callee>\d{0,9}) at #loc(?P<caller>\d{0,9})\)"
    r"|\"(?P<file>[^\"]{1,500})\":(?P<line>\d{1,9}):)"
)


class _Aliases(NamedTuple):
    position: int
    lines: Mapping[str, str]  # by number


@dataclass(slots=True)
class Origin:
    """The stack, innermost first, and the names of the operation, outermost first."""

    places: list[Location] = field(default_factory=list)
    path: list[str] = field(default_factory=list)


def origin(record: Record) -> Origin:
    """Where the operation on the record's line comes from; empty where neither line nor text behind it tells."""
    found, alias = Origin(), _ALIAS.search(record.text)
    if alias is None:
        return found
    lines = _aliases(record)
    left: list[tuple[str, str | None]] = [(alias["id"], None)]
    for _ in range(MOST):
        if not left:
            break
        number, name = left.pop()
        means = _MEANS.match(lines.get(number, ""))
        if name is not None and (means is None or not means["file"]):
            found.path.append(name)
        if means is None:
            continue
        if means["file"]:
            found.places.append(Location(means["file"], int(means["line"]), name))
        elif means["name"] is not None:
            left.append((means["child"], means["name"]))
        else:
            left += [(means["caller"], None), (means["callee"], None)]
    return found


def keep(record: Record) -> None:
    """Keep the aliases that stand before a module, as far as the window reaches back."""
    before = bytes(record.view.buffer[max(0, record.start - LONGEST_LINE) : record.start])
    record.view.kept.put("mlir head", record.envelope.stream, before if b"#loc" in before else b"")


def _aliases(record: Record) -> Mapping[str, str]:
    """The aliases of the module that the record stands in."""
    view, writer = record.view, record.envelope.stream
    kept = view.kept.get("mlir aliases", writer)
    if isinstance(kept, _Aliases) and kept.position > record.position:
        return kept.lines
    buffer, stop = view.buffer, min(view.end, record.start + BEHIND)
    first = buffer.find(b" = loc(", record.end, stop)
    end = reach = stop if first < 0 else first
    while (alias := buffer.find(b" = loc(", end, min(stop, reach + _GAP))) >= 0:
        end = reach = alias + 1
    view.spend((min(stop, end + _GAP) - record.end) // ALLOWANCE_BYTES)
    if first < 0:
        return {}
    begin, end = buffer.rfind(b"\n", record.end, first) + 1, buffer.find(b"\n", end, stop)
    head = view.kept.get("mlir head", writer)
    lines = _block(reversed(list(lines_of(head, record))[:-1])) if isinstance(head, bytes) else {}
    lines.update(_block(lines_of(bytes(buffer[begin : stop if end < 0 else end]), record)))
    view.kept.put("mlir aliases", writer, _Aliases(record.position_at(begin), lines))
    return lines


def _block(lines: Iterable[str]) -> dict[str, str]:
    """The aliases of one block by their numbers: it ends at another line, or where a number comes again."""
    found: dict[str, str] = {}
    for line in lines:
        alias = _OF.match(line)
        if alias is None or alias["id"] in found:
            break
        found[alias["id"]] = line
    return found
