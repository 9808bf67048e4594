"""Ways round torch.compile of which no log setting tells: python torch_ways_out.py MODE"""

import os
import signal
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode


class Gate(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1) * 2


def experts(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + 1


mode = sys.argv[1]
compiled = torch.compile(experts, dynamic=False, backend="eager" if mode == "eager" else "inductor")
compiled(torch.ones(2, 4))
if mode == "stance":
    torch.compiler.set_stance("eager_on_recompile")
    compiled(torch.ones(3, 4))
elif mode == "disabled":
    gate = Gate()
    gate.forward = torch.compiler.disable(gate.forward)
    torch.compile(gate)(torch.ones(2, 4))
elif mode == "once":
    torch.compiler.set_stance("eager_then_compile")
    torch.compile(Gate())(torch.ones(2, 4))
elif mode == "patched":
    with torch._dynamo.config.patch(disable=True):
        torch.compile(Gate())(torch.ones(2, 4))
elif mode == "dispatched":
    with FlopCounterMode(display=False):
        torch.compile(Gate())(torch.ones(2, 4))
elif mode == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
print("done", mode)
