r"""torch.compile: TorchDynamo and TorchInductor, from their text logs.

**What falls back.** Dynamo stops tracing (a graph break), gives up a whole frame, or stops recompiling at
a limit: that code runs in the eager interpreter. A back end fails or generates nothing. Inductor has no
code for an operator and calls the framework's kernel (`FallbackKernel`, `ScatterFallback`,
`IndexPutFallback`). A graph is not captured as a CUDA graph, or only in parts.

**At which setting it speaks.** At the default level only: limits, swallowed errors, a graph that the back
end refused, `Tensor.item()`, a builtin or a tensor that can't be traced, complex numbers, a graph that loses
its CUDA graph. Everything else is silent there, a decode loop at a quarter of its speed included. `TORCH_LOGS`:

| setting | shows | is blind to |
| --- | --- | --- |
| `graph_breaks` | each graph break, from 2.13 each frame given up | fallback kernels, eager back ends, a compiler that is off; up to 2.8 a break that can't be resumed behind (`nn.LSTM`) |
| `dynamo` | back end, frames traced and given up, an empty list at exit | where and why a graph broke |
| `perf_hints` | `FallbackKernel` once for each graph and operator | scatter and index_put fallbacks, everything on a cache hit |
| `inductor` | operators without any lowering | operators on Inductor's fallback list |
| `output_code` | each call that is no generated kernel, also on a cache hit | graph breaks |
| `+dynamo` | all of Dynamo | fallback kernels |
| `+inductor` | each scheduled fallback kernel | graph breaks, everything on a cache hit |

`TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code` shows all with the least volume.

Leave PyTorch's own format: under TORCH_LOGS_FORMAT, or a formatter of your own on its loggers, records lose their
process and compile ids; fallbacks are still read, and nothing is proven.

**When it is silent at every level.** `set_stance("eager_on_recompile")`; a stance or `config.disable` that holds
for a part of the run; a module whose forward is disabled, or `torch.compile(disable=True)`, beside others that
compile; a frame without tensor operations; a reference algorithm that was compiled in full;
scaled_dot_product_attention decomposed for lack of a fused kernel; a module of PyTorch's own that is compiled by
itself (`nn.Sequential(...).compile()`, blocks under fully_shard's hooks: DEBUG of dynamo tells); in a structured trace up to 2.10, what else a
checkpointed function with a break in it runs. An error that the program catches, and up to 2.8
a break that can't be resumed behind, are told by what is missing alone, and unproven: the end of their frame's compile or
trace, the frame of a recompile (artifact `recompiles`), the wrapper of a backward graph where the times at exit name one.
Without that artifact, an error of `error_on_recompile` that is caught is silent; so is, below DEBUG, a call under a dispatch
mode.

**What proves the end.** Dynamo's list of traced frames, or its table of compilation metrics, at exit. Where an
exception's traceback stands right before it, the program did not come to its end, and nothing is proven. An empty
list is a compiler that is off, and also a process that imports PyTorch to start others (a launcher, a front end, in
2.7 a compile worker, `autotune_in_subproc`), which no text tells apart: record the log with `fallback-gate record`,
which hushes those that ask nothing of the compiler, or judge the workers' own logs.

Wording seen in 2.7.1, 2.9.1, 2.10.0, 2.11.0, 2.13.0 and 2.14.1 (run), and in part in 2.1.2 and 2.4.1 (run).
"""

from __future__ import annotations

from collections.abc import Iterable

from fallback_gate.compilers.rule import Evidence, Reader
from fallback_gate.compilers.torch import (
    backwards,
    cache,
    chained,
    cudagraphs,
    cut_short,
    ddp,
    dynamo_rules,
    inductor_rules,
    passed_over,
    trace,
    trace_proof,
)
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.compilers.torch.markers import MARKERS
from fallback_gate.compilers.torch.proof import REQUIRED, SETTING, one_program, prove
from fallback_gate.model import Report


def conclude(evidence: Evidence) -> Iterable[Report]:
    """The fallbacks that only all of a process's lines tell together."""
    yield from trace_proof.conclude(evidence)
    yield from passed_over.conclude(evidence)
    yield from cut_short.conclude(evidence)


READER = Reader(
    name=NAME,
    rules=(*dynamo_rules.RULES, *inductor_rules.RULES),
    markers=(
        *MARKERS,
        *cache.MARKERS,
        chained.MARKER,
        cudagraphs.UNSORTED,
        *backwards.MARKERS,
        *cut_short.MARKERS,
        ddp.MARKER,
        passed_over.LIBRARY_MODULE,
        passed_over.CALLED_BY_OTHERS,
        *trace.MARKERS,
    ),
    required=REQUIRED,
    prove=prove,
    conclude=conclude,
    joins=one_program,
    setting=SETTING,
    manual=__doc__,
    silent="partly: limits and swallowed errors are printed, graph breaks and fallback kernels are not",
    seen_in="2.0 to 2.14 (2.0.1 to 2.14.1 run)",
)
