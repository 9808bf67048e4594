"""The front door: `fallback-gate numerics REF OUT`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from fallback_gate.cli.instrument import Asked, answer, judging_evidence

MOST_TENSORS = 20


@click.command("numerics")
@click.argument("reference", metavar="REF")
@click.argument("output", metavar="OUT")
@judging_evidence
def numerics_command(
    reference: str,
    output: str,
    **shared: Any,
) -> int:
    """Compare tensors with a reference, by limits for each precision.

    REF and OUT are npy, npz, safetensors or pt files, or folders of them; tensors are matched by name.
    Nothing in them is run: pickled objects are refused. Needs numpy.

    Exit codes: 0 within the limits, 1 a limit is exceeded, a tensor is missing or of another shape, or there
    are new NaN, 2 usage, 3 nothing could be compared.

    \b
    Examples:
      fallback-gate numerics eager.npz compiled.npz
      fallback-gate numerics ref.safetensors out.safetensors --policy policies/decode.yaml
    """
    from fallback_gate.instruments import numerics

    asked = Asked(**shared)
    said = numerics.read(reference, output)
    most = None if asked.verbose else MOST_TENSORS
    return answer(said, asked, asked.rule(), _sheet(numerics.rows(said.details), most))


def _sheet(rows: list[Mapping[str, Any]], most: int | None) -> Iterator[str]:
    """The tensors, the worst first."""
    yield "Tensors (largest absolute and relative error, in the norm, ulp, cosine, new NaN or infinite)"
    for row in rows[:most]:
        name = row["name"] if len(row["name"]) <= 60 or most is None else "..." + row["name"][-57:]
        errors = (
            f"{_shown(row['max_abs'])}  {_shown(row['max_relative'])}  {_shown(row['relative_l2'])}  "
            f"{_shown(row['max_ulp'])}  {_shown(row['cosine'])}  {row['nonfinite']}"
        )
        yield f"  {row['dtype']:<5} {errors}  {name}"
    if most is not None and len(rows) > most:
        yield f"  and {len(rows) - most:,} more (--verbose)"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}" if 0.5 < abs(value) <= 1 else f"{value:.3g}"
    return "-" if value is None else str(value)
