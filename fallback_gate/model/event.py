"""The vocabulary of what a log says: what a reader reports, and the event that such reports are folded into.

Positions, names and counts mean the same everywhere: line numbers are physical, counted by a line feed, and
start at 1; a `stack` is innermost first; a count of sites is operator times location.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from fallback_gate.model.measures import Cost
from fallback_gate.model.names import spelled


class Kind(str, Enum):
    """What sort of fallback an event is; an event has exactly one."""

    GRAPH_BREAK = "graph_break"
    EAGER_FRAME = "eager_frame"
    RECOMPILE_LIMIT = "recompile_limit"
    COMPILE_ERROR = "compile_error"
    OP_FALLBACK = "op_fallback"
    DEVICE_FALLBACK = "device_fallback"
    REFERENCE_KERNEL = "reference_kernel"
    UNTUNED_CONFIG = "untuned_config"
    SLOWER_KERNEL = "slower_kernel"
    CUDAGRAPH_SKIP = "cudagraph_skip"


class Scope(str, Enum):
    """How much of the program one event covers."""

    OPERATOR = "operator"  # one operator
    SITE = "site"  # a graph break: the code around one known place
    REGION = "region"  # a whole function and all that it calls
    PROGRAM = "program"  # a whole graph, session or process
    UNKNOWN = "unknown"  # the message names nothing


class Location(NamedTuple):
    """A place in the user's code, as far as the log tells it."""

    file: str | None = None
    line: int | None = None
    function: str | None = None


class ProcessKey(NamedTuple):
    """Who printed a record: rank, process id and host (machine, pod, container), where the log tells them."""

    log: str
    rank: int | None = None
    pid: int | None = None
    host: str | None = None


class Report(NamedTuple):
    """One record of a log, read: a fallback that the compiler reported once.

    `op` is the name that a release engineer would use, `*` where the message names nothing. `position` is
    where the record stands in its log, in the unit of the source (`sources.Source.lines_at` turns positions
    into line numbers). `site` tells two sites of one operator apart where no location does. `compile_id` is
    torch.compile's number of the frame and its compile, `0/1`. `at_least` says that the compiler prints this
    message once for many. `hint` says that the record implies the fallback rather than reports it: it joins a
    real report of the same operator. `also`: further kinds that this tells of, so that a hint of them adds
    nothing.
    """

    id: str
    compiler: str
    kind: Kind
    scope: Scope
    op: str
    position: int
    text: str
    names: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None
    location: Location | None = None
    layer: str | None = None
    site: str | None = None
    pid: int | None = None
    rank: int | None = None
    when: float | None = None
    at_least: bool = False
    hint: bool = False
    help: str = ""
    compile_id: str | None = None
    also: tuple[Kind, ...] = ()


class Place(NamedTuple):
    """Where in the user's code one report of an event says that it is: function, stack and files."""

    function: str | None = None
    stack: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Variants(NamedTuple):
    """What the reports of one event say differently: a hot entry may match any, a cold one must match all.

    `ops` are, for each way to say it, the names by which a cold entry may know the operator (where no
    operator is named: the message). `names` are all further names. `overflowed` holds the fields (`ops`,
    `names`, `layers`, `places`) of which more were said than are kept, and `all` where the event stands
    for fallbacks that are not kept apart: nothing can allow it.
    """

    ops: tuple[tuple[str, ...], ...] = ()
    names: tuple[str, ...] = ()
    layers: tuple[str | None, ...] = (None,)
    places: tuple[Place, ...] = (Place(),)
    overflowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Event:
    """All reports of one fallback, folded: one for each compiler, kind, operator and location.

    `line` is the first physical line that reports it, `lines` the first 20, `count` all reports,
    `sites` the distinct sites, `text` the proving line (raw log text: escape it), `files` the user's
    source files innermost first, `processes` those that printed it, `variants` what its reports say
    differently (None where they agree), `cost` what a trace beside the log shows that it costs. `compile_ids`
    are the compiles that reported it, none where there were too many to keep.
    """

    id: str
    compiler: str
    kind: Kind
    scope: Scope
    op: str
    names: tuple[str, ...]
    stack: tuple[str, ...]
    files: tuple[str, ...]
    reason: str | None
    log: str
    line: int | None
    lines: tuple[int, ...]
    count: int
    sites: int
    count_is_lower_bound: bool
    ranks: tuple[int, ...]
    location: Location | None
    layer: str | None
    text: str
    fingerprint: str
    help: str
    processes: tuple[ProcessKey, ...] = ()
    variants: Variants | None = None
    cost: Cost | None = None
    compile_ids: tuple[str, ...] = ()


def operator_names(said: Report | Event) -> tuple[str, ...]:
    """The names by which a cold entry may know the operator; where none is named, those of the message."""
    if said.op != "*":
        return spelled(said.op, said.names)
    return tuple(text for text in ("*", said.id, *said.names, said.reason) if text)


def place_of(said: Report | Event) -> Place:
    """Where in the user's code it is."""
    return Place(said.location.function if said.location else None, said.stack, said.files)
