"""A small model converted for Core ML; the first argument says what has no converter: nothing, or gate."""

import sys

import coremltools
import torch

MODE = sys.argv[1]


@torch.library.custom_op("acme::gate_attn", mutates_args=())
def gate_attn(x: torch.Tensor) -> torch.Tensor:
    """An operator that coremltools does not know."""
    return torch.tanh(x)


@gate_attn.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Layer(torch.nn.Module):
    """A linear layer behind the operator."""

    def __init__(self) -> None:
        super().__init__()
        self.out = torch.nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.ops.acme.gate_attn(x) if MODE == "gate" else torch.tanh(x))


example = (torch.randn(4, 16),)
exported = torch.export.export(Layer().eval(), example, strict=False).run_decompositions({})
model = coremltools.convert(
    exported, convert_to="mlprogram", minimum_deployment_target=coremltools.target.iOS17
)
print("converted", model is not None, flush=True)
