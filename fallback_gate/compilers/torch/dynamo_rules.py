"""Room 3: the messages of Dynamo that report a fallback, each in the wordings of its versions.

`graph_breaks` and `frames` read the records; `compile` is the manual page.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import (
    backend_refused,
    checkpoint,
    compiler_off,
    cut_short,
    frames,
    graph_breaks,
    passed_over,
    trace,
)
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.model import Kind, Scope

_GRAPH_BREAKS = "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
_DYNAMO = "1130 00:18:20.571000 28717 torch/_dynamo/convert_frame.py:1994] [0/8] "

GRAPH_BREAK = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=graph_breaks.HEADER,
    kind=Kind.GRAPH_BREAK,
    shared_anchor=True,
    scope=Scope.SITE,
    meaning=graph_breaks.MEANING,
    help=graph_breaks.HELP,
    seen_in="2.7 to 2.14, artifact graph_breaks (which +dynamo switches on)",
    matches=(
        _GRAPH_BREAKS + "Graph break in user code at /app/moe/breaks.py:64",
        _GRAPH_BREAKS
        + "Graph break (user stack suppressed due to duplicate graph break) in user code at breaks.py:64",
        "Graph break in user code at /app/moe/breaks.py:64\nGraph Break Reason: Call to `torch._dynamo.graph_break()`",
        "2026-12-01 00:21:19.216 | DEBUG    | torch._dynamo.symbolic_convert:log_graph_break:5368 - Graph break in user code at /app/moe/breaks.py:64",
    ),
    ignores=(
        "Graph break in user code at /app/moe/breaks.py:64",
        "docs: Graph break in user code at model.py:3 means that ...",
        _GRAPH_BREAKS + "Graph Break Reason: Data-dependent branching",
    ),
    read=graph_breaks.graph_break,
)

OLD_GRAPH_BREAK = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=r"Graph break: (?P<reason>.*?) ?from user code at:?\s*(?P<rest>File .*)?$",
    kind=Kind.GRAPH_BREAK,
    shared_anchor=True,
    scope=Scope.SITE,
    meaning=graph_breaks.MEANING,
    help=graph_breaks.HELP,
    seen_in="2.0 to 2.6, artifact graph_breaks (2.0: WARNING)",
    matches=(
        "V1130 01:17:55.025000 139853580790656 torch/_dynamo/symbolic_convert.py:534] [0/0] [__graph_breaks] Graph break: from user code at:",
        "[2026-11-30 01:18:36,471] [4/0] torch._dynamo.symbolic_convert.__graph_breaks: [DEBUG] Graph break: Tensor.item from user code at:",
        '[2023-03-31 05:57:27,551] torch._dynamo.symbolic_convert: [WARNING] Graph break: call_function f from user code at   File "m.py", line 3, in f',
    ),
    ignores=("W" + _DYNAMO + "Graph break: from user code at:",),
    read=graph_breaks.old_graph_break,
)

ITEM = Rule(
    id="torch/item-break",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=r"Graph break from `Tensor\.item\(\)`, consider setting:",
    kind=Kind.GRAPH_BREAK,
    shared_anchor=True,
    scope=Scope.SITE,
    meaning="Tensor.item() moves a value to Python: the graph ends here, and on a GPU the host waits.",
    help="Keep the value a tensor, or set torch._dynamo.config.capture_scalar_outputs = True.",
    seen_in="2.4 to 2.14, WARNING, once a process",
    matches=("W" + _DYNAMO + "Graph break from `Tensor.item()`, consider setting:",),
    ignores=("Graph break from `Tensor.item()`, consider setting:",),
    at_least=True,
    read=graph_breaks.item_warning,
)

BUILTIN = Rule(
    id="torch/untraceable-builtin",
    compiler=NAME,
    anchor=("does not know how to trace", "Graph break"),
    pattern=r"UserWarning: (?:Dynamo does not know how to trace the builtin `|Graph break due to unsupported builtin )(?P<op>[\w.]+)",
    kind=Kind.GRAPH_BREAK,
    shared_anchor=True,
    scope=Scope.SITE,
    meaning="A Python builtin or C function that Dynamo can't trace breaks the graph at each call.",
    help="Take the call out of the compiled region, or register it as a custom operator (torch.library.custom_op).",
    seen_in="2.4 to 2.14, a Python warning, once for each builtin and process",
    matches=(
        "/opt/torch/_dynamo/variables/functions.py:2431: UserWarning: Dynamo does not know how to trace the builtin `sys.getrefcount.` This function is",
        "/opt/torch/_dynamo/variables/functions.py:702: UserWarning: Graph break due to unsupported builtin sys.getrefcount. This function",
    ),
    ignores=(
        _GRAPH_BREAKS
        + "  Explanation: Dynamo does not know how to trace the builtin `time.thread_time_ns.` This",
    ),
    at_least=True,
    read=graph_breaks.untraceable_builtin,
)

WONT_CONVERT = Rule(
    id="torch/frame-not-converted",
    compiler=NAME,
    anchor=("T CONVERT ",),
    pattern=r"WON'T CONVERT (?P<function>\S+) (?P<file>.+) line (?P<line>\d{1,9})\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.REGION,
    meaning="Dynamo or its back end failed on this frame, the error was swallowed, and the frame runs in eager.",
    help="Unset torch._dynamo.config.suppress_errors to see the error, and mend what the back end can't compile.",
    seen_in="2.0 to 2.14: WARNING for an error; from 2.13 also INFO for a frame given up after a break or a limit",
    matches=(
        "W" + _DYNAMO + "WON'T CONVERT forward /app/moe/decoder.py line 148 ",
        "WON'T CONVERT forward /app/moe/decoder.py line 148 \ndue to: ",
    ),
    ignores=(
        "WON'T CONVERT forward /app/moe/decoder.py line 148 ",
        "W" + _DYNAMO + "due to: ",
        "I1130 14:51:08.873000 9537 torch/_dynamo/convert_frame.py:2427] [!0] WON'T CONVERT <genexpr> /opt/venv/lib/python3.11/site-packages/sympy/core/facts.py line 633 ",
    ),
    read=frames.wont_convert,
)

SKIPPED_IN_LOOP = Rule(
    id="torch/frame-skipped",
    compiler=NAME,
    anchor=("Skipping frame because there is a graph break in a",),
    pattern=r"Skipping frame because there is a graph break in a for/while loop",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="A graph broke inside a loop, so Dynamo gave up the whole frame: it runs in eager.",
    help=graph_breaks.HELP,
    seen_in="2.1 to 2.12, INFO of dynamo",
    matches=("I" + _DYNAMO + "Skipping frame because there is a graph break in a for/while loop",),
    ignores=("Skipping frame because there is a graph break in a for/while loop: see docs",),
    read=frames.skipped_in_loop,
)

RECOMPILE_LIMIT = Rule(
    id="torch/recompile-limit",
    compiler=NAME,
    anchor=("hit config.",),
    pattern=r"(?:torch\._dynamo|torchdynamo) hit config\.(?P<limit>\w*(?:recompile|cache_size)_limit \(\d+\))",
    kind=Kind.RECOMPILE_LIMIT,
    scope=Scope.REGION,
    meaning="The function was recompiled too often; from here on new inputs run in eager, without a further word.",
    help="Mark what changes as dynamic (torch._dynamo.mark_dynamic), or keep Python numbers off the module; "
    "TORCH_LOGS=recompiles names each guard that failed.",
    seen_in="2.0 to 2.14, WARNING (cache_size_limit up to 2.5)",
    matches=(
        "W" + _DYNAMO + "torch._dynamo hit config.recompile_limit (8)",
        "W" + _DYNAMO + "torch._dynamo hit config.accumulated_recompile_limit (256)",
        "W" + _DYNAMO + "torch._dynamo hit config.cache_size_limit (64)",
        "torch._dynamo hit config.recompile_limit (8)\n   function: 'forward' (/app/moe/decoder.py:148)",
    ),
    ignores=(
        "torch._dynamo hit config.recompile_limit (8)",
        "W" + _DYNAMO + "torch._dynamo hit config.verbose",
    ),
    read=frames.recompile_limit,
)

RAISED = Rule(
    id="torch/compile-error",
    compiler=NAME,
    # Behind a tab it is in a structured trace, which tells of it in a record of its own.
    anchor=(
        "torch._dynamo.exc.",
        "torch._inductor.exc.",
        "symbolic_shapes.GuardOnDataDependentSymNode",
        "symbolic_shapes.ConstraintViolationError",
    ),
    pattern=r"^[ |+>]{0,64}(?P<error>(?:torch\._dynamo\.exc|torch\._inductor\.exc|torch\.fx\.experimental\.symbolic_shapes)\.\w+): "
    r"(?P<reason>.*)",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="Compiling raised an error: the program ended, or its author caught it and went on without the compiler.",
    help="Read the traceback above the line; with fullgraph=True this is the graph break that must go.",
    seen_in="2.0 to 2.14, a Python traceback",
    matches=(
        "torch._dynamo.exc.Unsupported: Data-dependent branching",
        "torch._inductor.exc.InductorError: LoweringException: NotImplementedError: no kernel",
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)",
    ),
    ignores=(
        "W" + _DYNAMO + "torch._dynamo.exc.Unsupported: Data-dependent branching",
        "    raise torch._dynamo.exc.Unsupported(msg)",
        "torch._dynamo.exc.Unsupported",
    ),
    read=frames.raised,
)

GUARD_FAILED = Rule(
    id="torch/compile-error",
    compiler=NAME,
    anchor=("Error while creating guard:",),
    pattern=r"Error while creating guard:",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning=RAISED.meaning,
    help="Read the reason: a dimension that was marked dynamic and that the code makes constant, mostly.",
    seen_in="2.7 to 2.14, ERROR",
    matches=("E" + _DYNAMO + "Error while creating guard:",),
    ignores=("Error while creating guard:",),
    read=frames.guard_failed,
)

EAGER_BACKEND = Rule(
    id="torch/eager-backend",
    compiler=NAME,
    anchor=("compiler function",),
    pattern=r"Step 2: calling compiler function (?P<backend>(?:aot_)?eager\w*)\b",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The back end generates no code: each operator of the graph runs as a framework call.",
    help="Use backend='inductor' (the default) for what is released.",
    seen_in="2.1 to 2.14, INFO of dynamo",
    matches=(
        "I" + _DYNAMO + "Step 2: calling compiler function eager",
        "I" + _DYNAMO + "Step 2: calling compiler function aot_eager",
    ),
    ignores=("I" + _DYNAMO + "Step 2: calling compiler function inductor",),
    read=frames.backend,
)

RESUMED = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("torchdynamo start tracing",),
    pattern=r"Step 1: torchdynamo start tracing (?P<function>torch_dynamo_resume_in_\S+_at_\d+) (?P<file>.+):(?P<line>\d{1,9})",
    kind=Kind.GRAPH_BREAK,
    shared_anchor=True,
    scope=Scope.SITE,
    meaning=graph_breaks.MEANING,
    help="Add graph_breaks to TORCH_LOGS for the reason. " + graph_breaks.HELP,
    seen_in="2.4 to 2.14, INFO of dynamo",
    matches=(
        "I"
        + _DYNAMO
        + "Step 1: torchdynamo start tracing torch_dynamo_resume_in_rmsnorm_at_28 /app/tv/breaks.py:28",
    ),
    ignores=("I" + _DYNAMO + "Step 1: torchdynamo start tracing forward /app/moe/decoder.py:148",),
    read=frames.resumed,
)

RULES = (
    trace.GRAPH_BREAK,
    OLD_GRAPH_BREAK,
    GRAPH_BREAK,
    ITEM,
    BUILTIN,
    WONT_CONVERT,
    SKIPPED_IN_LOOP,
    checkpoint.RULE,
    *backend_refused.RULES,
    *cut_short.RULES,
    passed_over.RULE,
    RECOMPILE_LIMIT,
    RAISED,
    GUARD_FAILED,
    compiler_off.NO_FRAMES,
    EAGER_BACKEND,
    compiler_off.NOTHING_TRACED,
    compiler_off.TRACING_DISABLED,
    RESUMED,
)
