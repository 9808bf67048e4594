r"""Room 3: host callbacks in a printed jaxpr, the program as JAX traced it.

    name=route
    jaxpr={ lambda ; c:f32[4,8]. let
        d:i32[4,2] = pure_callback[
          callback=_FlatCallback(callback_func=<function Router.pick.<locals>.host at 0x7f16e4a8ef20>, in_tree=...)

It has no places; the compiled function around it is the one whose `name=` stands in a block that is still open.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "jax"
API = {
    "pure_callback": "jax.pure_callback",
    "io_callback": "jax.experimental.io_callback",
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
}
MEANING = "The program calls back into Python on the host: tensors are copied there and back at each call."
HELP = "Write the function in jax.numpy, or as a Pallas or FFI kernel; take jax.debug.print and checkify out of the release build."
MOST_PARAMETERS = 12
MOST_ABOVE = 60  # lines
_OWN = Pattern(r"\s*(?:callback=.{0,40}?<(?:function|bound method) (?P<name>[\w.<>]{1,300})|fmt=)")
_NAMED = Pattern(r"\s*name=(?P<name>[\w.<>-]{1,200})$")


def traced(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The primitive, if its parameters are a callback's, with the function that it calls."""
    kind, host = match["op"], None
    for line in takewhile(lambda line: line.text.strip()[:1] != "]", record.following(MOST_PARAMETERS)):
        if own := _OWN.match(line.text):
            host = (own["name"] or "").replace("<locals>.", "")
            break
    if host is None:
        return
    known = () if not host or host.endswith("_flat_callback") else (host,)
    caller = _caller(record)
    yield by_groups(rule, record, match)._replace(
        op=kind,
        names=(kind, API[kind], *known),
        stack=(caller,) if caller else (),
        site=f"{caller}/{host}",
        reason="a primitive of the traced program",
    )


def _caller(record: Record) -> str | None:
    """The function that is compiled around it: a block above that has ended is indented more than what follows it."""
    least = _indent(record.text)
    for line in record.preceding(MOST_ABOVE):
        named = _NAMED.match(line.text)
        if named and _indent(line.text) <= least:
            return str(named["name"])
        least = min(least, _indent(line.text) if line.text.strip() else least)
    return None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


TRACED = Rule(
    id="jax/host-callback-traced",
    compiler=NAME,
    anchor=tuple(f"{kind}[" for kind in API),
    pattern=r"^\s*(?:\w{1,9}:[^=]{1,300} = )?(?P<op>pure_callback|io_callback|debug_callback|debug_print)\[\s*$",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=MEANING,
    help=HELP,
    seen_in="0.4.38 to 0.12 (run), jax.make_jaxpr(f)(x) printed",
    matches=(
        "          d:i32[4,2] = pure_callback[\n            callback=_FlatCallback(callback_func=<function Router.pick.<locals>.host at 0x7f16e4a8ef20>, in_tree=PyTreeDef(((*,), {})))\n            result_avals=(ShapedArray(int32[4,2]),)\n          ] c",
        "          debug_print[\n            fmt=total {t}\n            has_placeholders=True\n          ] k",
        "                debug_callback[\n                  callback=<function debug_callback.<locals>._flat_callback at 0x7f16e4a9f6a0>\n                  effect=Debug\n                ] n",
    ),
    ignores=("handlers = pure_callback[", "x:f32[] = pure_callback[\n  size=3\n] c", "io_callback[0] = f"),
    read=traced,
)
