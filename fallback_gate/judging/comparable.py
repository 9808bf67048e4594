"""The second walk, beside the evidence: a claim and a measurement, under the same conditions only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from fallback_gate.errors import InputError
from fallback_gate.model.claims import (
    CONDITIONS,
    HIGHER,
    NEEDED,
    OF_A_KERNEL,
    Claim,
    ClaimState,
    Figure,
    HeldClaim,
    tells_load,
)

_DTYPES: Final = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}


def held(claim: Claim, figures: Sequence[Figure]) -> HeldClaim:
    """The claim beside the measurement that comes nearest to its conditions."""
    of_it = [figure for figure in figures if figure.metric == claim.metric]
    if not of_it:
        return HeldClaim(claim, ClaimState.NOT_MEASURED)
    wrong = [list(differences(claim, figure)) for figure in of_it]
    best = min(range(len(of_it)), key=lambda at: len(wrong[at]))
    figure = of_it[best]
    if wrong[best]:
        return HeldClaim(claim, ClaimState.NOT_COMPARABLE, figure, why="; ".join(wrong[best]))
    more = claim.metric in HIGHER
    share = figure.value / claim.value if more else claim.value / figure.value
    state = ClaimState.COMPARED
    if claim.at_least is not None:
        state = ClaimState.REACHED if share >= claim.at_least else ClaimState.MISSED
    return HeldClaim(claim, state, figure, share)


def differences(claim: Claim, figure: Figure) -> Iterator[str]:
    """Each condition that differs, or that one of the two does not tell."""
    mine, theirs = figure.conditions, claim.conditions
    for name in CONDITIONS:
        claimed, measured = theirs.get(name), mine.get(name)
        if claimed is None and measured is None:
            if name in NEEDED:
                yield f"{name} is told by neither side"
        elif claimed is None:
            yield f"the claim does not tell its {name} (measured: {measured})"
        elif measured is None:
            yield f"the measurement does not tell its {name} (claimed: {claimed})"
        elif not _same(name, claimed, measured):
            yield f"{name} is {claimed} in the claim and {measured} in the measurement"
    if claim.metric not in OF_A_KERNEL and not tells_load(mine) and not tells_load(theirs):
        yield "how many requests ran at a time is told by neither side (batch, concurrency)"


def _same(name: str, one: str, other: str) -> bool:
    plain = _PLAIN.get(name, str.casefold)
    return plain(one.strip()) == plain(other.strip())


def _device(text: str) -> str:
    """A device by its name in the table; several of one with their number."""
    many = re.fullmatch(r"(\d+)\s*[x×]\s*(.+)", text)
    if many:
        name = _device(many[2])
        return name if int(many[1]) == 1 else f"{int(many[1])} x {name}"
    from fallback_gate.instruments import devices

    try:
        return devices.device(text).name
    except InputError:
        return " ".join(text.casefold().split())


def _dtype(text: str) -> str:
    name = text.casefold().removeprefix("torch.")
    return "fp8" if re.match(r"(?:float8|fp8|e4m3|e5m2)", name) else _DTYPES.get(name, name)


def _shape(text: str) -> str:
    """Words and numbers alone: `in=1024, out=128` is `input 1024 output 128`."""
    plain = re.sub(r"[×*]", "x", text.casefold()).replace("input", "in").replace("output", "out")
    return " ".join(re.findall(r"[a-z]+|\d+", plain))


def _number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text.casefold()


_PLAIN: Final[Mapping[str, Callable[[str], str]]] = {
    "device": _device,
    "dtype": _dtype,
    "model": lambda text: text.rstrip("/").rpartition("/")[2].casefold(),
    "shape": _shape,
    "batch": _number,
    "concurrency": _number,
}
