"""A small model under torch.compile; the first argument says what falls back: nothing, gate or topk."""

import sys

import torch

MODE = sys.argv[1]


def gate_attn(x: torch.Tensor) -> torch.Tensor:
    """The part that falls back where `gate` was asked for."""
    return torch.softmax(x @ x.transpose(-1, -2), -1) @ x


if MODE == "gate":
    gate_attn = torch.compiler.disable(gate_attn)


@torch.compile
def step(x: torch.Tensor) -> torch.Tensor:
    """One step."""
    y = torch.nn.functional.silu(gate_attn(x) * 2)
    return y.topk(2).values if MODE == "topk" else y + 1


with torch.no_grad():
    print(tuple(step(torch.randn(4, 8, 16)).shape))
