"""Room 3: programs in which Dynamo compiled nothing, by the messages that tell it.

`frames` reads the records; `compile` is the manual page.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import frames
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.model import Kind, Scope

_DYNAMO = "1130 00:18:20.571000 28717 torch/_dynamo/convert_frame.py:1994] [0/8] "

NO_FRAMES = Rule(
    id="torch/compiler-off",
    compiler=NAME,
    anchor=("found no compiled frames",),
    pattern=r"(?P<reason>torch\.compile with fullgraph=True found no compiled frames)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="fullgraph=True was asked for and nothing was compiled: the call ran in eager, and an error was raised.",
    help="Look at the list of skipped frames below the message.",
    seen_in="2.13 (source)",
    matches=("RuntimeError: torch.compile with fullgraph=True found no compiled frames. Skipped frames:",),
)

NOTHING_TRACED = Rule(
    id="torch/compiler-off",
    compiler=NAME,
    anchor=("attempted to trace the following frames",),
    pattern=r"TorchDynamo attempted to trace the following frames: \[",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="Dynamo traced nothing in this process: torch.compile was switched off, and all of it ran in eager.",
    help="Look for TORCHDYNAMO_DISABLE, TORCH_COMPILE_DISABLE, torch.compiler.set_stance and a disabled forward.",
    seen_in="2.7 to 2.14, INFO of dynamo, at exit",
    matches=("I" + _DYNAMO + "TorchDynamo attempted to trace the following frames: [",),
    read=frames.nothing_traced,
)

TRACING_DISABLED = Rule(
    id="torch/compiler-off",
    compiler=NAME,
    anchor=("reason: Dynamo tracing is disabled",),
    pattern=r"skipping: (?P<function>\S+) \(reason: Dynamo tracing is disabled, file: (?P<file>[^)]+)\)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="Tracing is disabled as a whole (TORCH_COMPILE_DISABLE): every frame runs in eager.",
    help="Unset TORCH_COMPILE_DISABLE.",
    seen_in="2.13, DEBUG of dynamo",
    matches=(
        "V" + _DYNAMO + "skipping: forward (reason: Dynamo tracing is disabled, file: /app/moe/decoder.py)",
    ),
    ignores=(
        "V"
        + _DYNAMO
        + "skipping: __iter__ (reason: frame is in the Dynamo skipfiles list, file: /x/container.py)",
    ),
    read=frames.tracing_disabled,
)
