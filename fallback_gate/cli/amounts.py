"""The front door: options that are amounts: bytes, arithmetic, a kernel, a gain, what a decode step reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import click

from fallback_gate.cli.options import Typed, together
from fallback_gate.model import quantity


class Amount(Typed[Any]):
    """What `read` makes of a text; it raises `ValueError` with what is wrong."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the amount."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


BYTES: Final = Amount("bytes", partial(quantity.amount, units=quantity.BYTES))
FLOPS: Final = Amount("flop", partial(quantity.amount, units=quantity.FLOPS))
RATE: Final = Amount("flop/s", partial(quantity.amount, units=quantity.RATE))
BANDWIDTH: Final = Amount("bytes/s", partial(quantity.amount, units=quantity.BANDWIDTH))
KERNEL: Final = Amount("flop:bytes", quantity.kernel)
GAIN: Final = Amount("gain", quantity.gain)

DECODE_STEP: Final = together(
    click.option(
        "--rows", type=click.IntRange(1), metavar="N", help="A decode step: sequences in its batch."
    ),
    click.option("--weights", type=BYTES, help="A decode step: bytes of all weights that it reads."),
    click.option("--kv", type=BYTES, default=0.0, help="A decode step: bytes of the KV cache that it reads."),
)
