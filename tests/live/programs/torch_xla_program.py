"""A step under PyTorch/XLA on its CPU device; the first argument says what has no lowering: nothing, or bincount.

With `report` as the second it prints the metrics report at its end.
"""

import sys

import torch
import torch_xla
from torch_xla.debug import metrics

MODE, *rest = sys.argv[1:]
x = torch.randn(8, 8, device=torch_xla.device())
y = torch.relu(x @ x)
if MODE == "bincount":
    y = y + torch.bincount(y.flatten().int() % 8, minlength=8)
torch_xla.sync()
print("output", y.cpu().shape, flush=True)
if rest == ["report"]:
    print(metrics.metrics_report(), flush=True)
