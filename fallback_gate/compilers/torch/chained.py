"""Room 3: exceptions of the compiler that led to another one: a compile that failed once may print several."""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Marker, Sighting
from fallback_gate.compilers.torch import dynamo_rules
from fallback_gate.compilers.torch.log import NAME, RAISED, parse
from fallback_gate.scan.record import Record

LONGEST = 80  # lines of an exception's text
_LED_ON = ("The above exception was the direct cause of ", "During handling of the above exception")


def led_on(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """That the exception is the cause of the next one, or was being handled when it was raised."""
    if parse(record.text):
        return
    for line, _ in record.following(LONGEST):
        if line.startswith(_LED_ON):
            yield Sighting(marker.id, record.position)
            return
        if RAISED.match(line) or line.startswith("Traceback "):
            return


_ERROR = "torch._inductor.exc.InductorError: LoweringException: NotImplementedError: no kernel"
MARKER = Marker(
    id="torch/error-led-on",
    compiler=NAME,
    anchor=dynamo_rules.RAISED.anchor,
    pattern=dynamo_rules.RAISED.pattern,
    shows="An error of the compiler that another one follows: both tell of one compile that failed.",
    seen_in=dynamo_rules.RAISED.seen_in,
    matches=(f"{_ERROR}\n\nThe above exception was the direct cause of the following exception:\n",),
    ignores=(_ERROR,),
    read=led_on,
)
