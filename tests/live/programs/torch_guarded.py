"""The guard around real compiles: prints the outcome of each block, and whether all was given back."""

import logging
import sys

import torch

from fallback_gate import FallbackError, guard


def clean(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2


def broken(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return x + 1


def topk(x: torch.Tensor) -> torch.Tensor:
    return torch.topk(x, 2).values


x = torch.randn(4, 8)
trace = logging.getLogger("torch.__trace")
before = [trace.level, trace.propagate]
for function in (clean, broken, topk):
    torch.compiler.reset()
    try:
        with guard() as gate:
            torch.compile(function)(x)
        print(function.__name__, "pass")
    except FallbackError as error:
        print(function.__name__, *(f"{f.event.kind.value}:{f.event.op}" for f in error.verdict.findings))
warm = torch.compile(clean)
warm(x)
with guard(raises=False) as gate:
    warm(x)
print("warm", gate.verdict.outcome.value)
with guard(raises=False) as gate, torch.compiler.set_stance("force_eager"):
    torch.compile(clean)(x)
print("off", *(f"{f.event.kind.value}:{f.event.op}" for f in gate.verdict.findings))
ours = [one for one in (*trace.handlers, *sys.meta_path) if "fallback_gate" in type(one).__module__]
print("given back", [trace.level, trace.propagate] == before and not ours)
