"""A small model lowered by ExecuTorch for XNNPACK; the first argument says what stays outside.

`nothing`, or `topk`, which XNNPACK has no configuration for. The second, if any: `table` prints the table of
delegated operators, `summary` only their number.
"""

import sys

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.backend_debug import get_delegation_info
from executorch.exir import to_edge_transform_and_lower
from tabulate import tabulate

MODE, *shows = sys.argv[1:]


class Router(torch.nn.Module):
    """A linear layer, with a top-k behind it where that was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.gate(x))
        return torch.topk(y, 2).values if MODE == "topk" else y


exported = torch.export.export(Router().eval(), (torch.randn(16, 64),), strict=True)
lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
told = get_delegation_info(lowered.exported_program().graph_module)
if "summary" in shows:
    print(told.get_summary())
if "table" in shows:
    print(tabulate(told.get_operator_delegation_dataframe(), headers="keys", tablefmt="fancy_grid"))
print("program of", len(lowered.to_executorch().buffer) > 0, flush=True)
