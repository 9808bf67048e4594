"""The annex, the coverage matrix: a kernel trace beside the output code of the same program.

Inside a CUDA graph a library's kernel has no operator. The wrapper starts its kernels in the same order, and
generated kernels have the same names there: between two of them, a library's kernels are what the wrapper
calls between the same two. Where that is not plain, nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fallback_gate.coverage.kernel_names import family
from fallback_gate.coverage.output_code import OutputCode, Part

Gap = tuple[str, str]


def calls(code: OutputCode) -> dict[Gap, tuple[Part, ...] | None]:
    """What the wrapper calls between two generated kernels; None where it is not always the same."""
    if not code.starts:
        return {}
    found: dict[Gap, tuple[Part, ...] | None] = {}
    before, between = "", list[Part]()
    for start in (*code.starts, None):
        if start is not None and not start.is_generated:
            if start.part is not None:
                between.append(start.part)
            continue
        gap, said = (before, start.name if start else ""), tuple(between)
        found[gap] = said if found.get(gap, said) == said else None
        before, between = gap[1], []
    return found


def aligned(
    kernels: Sequence[str], generated: Iterable[str], known: Mapping[Gap, tuple[Part, ...] | None]
) -> dict[int, Part]:
    """The call of each library kernel of one step (by its index), where the wrapper's `calls` tell it."""
    anchors = set(generated)
    found: dict[int, Part] = {}
    before, between = "", list[int]()
    for at, kernel in enumerate((*kernels, "")):
        if kernel and kernel not in anchors:
            between.append(at)
            continue
        said = known.get((before, kernel)) or ()
        found |= _matched(between, kernels, said)
        before, between = kernel, []
    return found


def _matched(between: Sequence[int], kernels: Sequence[str], said: Sequence[Part]) -> dict[int, Part]:
    """Kernels and calls of one gap: all kernels are the one call's, or each call has one kernel that fits."""
    fits: dict[Part, list[int]] = defaultdict(list)
    libraries = [at for at in between if family(kernels[at])]
    products = [part for part in said if "mm" in part.op or "conv" in part.op or "attention" in part.op]
    if len(products) == 1:
        fits[products[0]] = libraries
    elif len(products) == len(libraries):
        for part, at in zip(products, libraries, strict=True):
            fits[part].append(at)
    return {at: part for part, places in fits.items() for at in places}
