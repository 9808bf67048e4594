"""Small models lowered by ExecuTorch, one for each argument that names one.

`nothing` is taken whole, of `topk` the top-k stays outside, of `cond` a branch with a top-k in it. After a name:
`summary` prints how many operators are delegated, `table` prints which; `vulkan` takes Vulkan's partitioner in place
of XNNPACK's.
"""

import sys

import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.backend_debug import get_delegation_info
from executorch.exir import to_edge_transform_and_lower
from tabulate import tabulate


class Router(torch.nn.Module):
    """A linear layer, with a top-k behind it where that was asked for."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.model = model
        self.gate = torch.nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.gate(x))
        if self.model == "cond":
            return torch.cond(y.sum() > 0, lambda z: torch.topk(z, 2).values, lambda z: z[:, :2] + 1, (y,))
        return torch.topk(y, 2).values if self.model == "topk" else y


def lower(model: str, shows: list[str]) -> None:
    """Lower one model, and print what was asked for."""
    exported = torch.export.export(Router(model).eval(), (torch.randn(16, 64),), strict=True)
    partitioner = VulkanPartitioner() if "vulkan" in shows else XnnpackPartitioner()
    lowered = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    told = get_delegation_info(lowered.exported_program().graph_module)
    if "summary" in shows:
        print(told.get_summary())
    if "table" in shows:
        print(tabulate(told.get_operator_delegation_dataframe(), headers="keys", tablefmt="fancy_grid"))
    print("lowered", model, len(lowered.to_executorch().buffer) > 0, flush=True)


models: list[tuple[str, list[str]]] = []
for said in sys.argv[1:]:
    if said in ("nothing", "topk", "cond"):
        models.append((said, []))
    else:
        models[-1][1].append(said)
for one in models:
    lower(*one)
