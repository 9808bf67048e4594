"""Room 3: what Dynamo prints, read. Expected values are the facts that each record states."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.compilers import READERS
from fallback_gate.model import Decision, Kind, Location, Outcome, Scope, State
from tests.compilers.lines import SITE, graph_break, listed, record, traced

Read = Callable[..., Any]
STACK = (
    "User code traceback:",
    '  File "/app/moe/main.py", line 79, in <module>',
    "    print(step(prompt()))",
    f'  File "{SITE}/_dynamo/eval_frame.py", line 511, in __call__',
    "    return super().__call__(*args)",
    '  File "/app/moe/decoder.py", line 150, in forward',
    "    x = block(x)",
    '  File "/app/moe/breaks.py", line 37, in gate_attn',
    "    if q.max().item() > 0:",
    "",
)
SHORT = (
    "Graph break in user code at /app/moe/breaks.py:37",
    "Graph Break Reason: Unsupported Tensor.item() call with capture_scalar_outputs=False",
    "  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.",
    "  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`",
    "",
    "  Developer debug context: call_method TensorVariable() item () {}",
    "",
    " For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html",
    "",
)
LONG = (
    SHORT[0],
    "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):",
    "",
    "Unsupported Tensor.item() call with capture_scalar_outputs=False",
    *SHORT[2:],
)


def test_the_builtin_that_broke_the_graph_is_named_and_not_the_setting_of_a_hint(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break in user code at /app/seg/blocks.py:15",
            "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):",
            "",
            "Failed to trace builtin operator",
            "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str'] (has_kwargs False)",
            "  Hint: Avoid calling builtin `print` with argument types ['str'].",
            "  Hint: If you are attempting to call a logging function (e.g. `print`), you can try adding it to `torch._dynamo.config.reorderable_logging_functions`.",
            "  Developer debug context: builtin print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False",
            *STACK,
        )
    )
    (report,) = said.reports
    assert report.names == ("gate_attn", "print")


def test_a_break_in_a_context_manager_keeps_the_stack_behind_the_break_that_it_caused(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break in user code at /app/moe/breaks.py:37",
            "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:",
            "",
            "Call to `torch._dynamo.graph_break()`",
            "",
            "*** While handling this graph break, another graph break occurred: ***",
            "",
            "Graph break under GenericContextWrappingVariable",
            "  Explanation: Attempted to graph break in an active context manager(s) that doesn't support graph breaking.",
            *STACK,
            "Graph break in user code at /app/moe/breaks.py:64",
            "Graph Break Reason: Data-dependent branching",
        )
    )
    assert [(r.id, r.op, r.location.line) for r in said.reports] == [
        ("torch/graph-break", "gate_attn", 37),
        ("torch/frame-skipped", "gate_attn", 37),
        ("torch/graph-break", "*", 64),
    ]


def test_a_break_in_a_library_that_was_compiled_itself_is_named_by_the_librarys_function(read: Read) -> None:
    said = read(
        *graph_break(
            f"Graph break in user code at {SITE}/nn/parallel/distributed.py:1758",
            "Graph Break Reason: Unsupported method call",
            "  Explanation: Dynamo does not know how to trace method `set_runtime_stats_and_log` of class `Logger`",
            "User code traceback:",
            '  File "/app/train.py", line 22, in <module>',
            f'  File "{SITE}/nn/modules/module.py", line 1783, in _wrapped_call_impl',
            f'  File "{SITE}/nn/parallel/distributed.py", line 1887, in forward',
            f'  File "{SITE}/nn/parallel/distributed.py", line 1758, in _pre_forward',
        ),
        *record(
            "Step 1: torchdynamo start tracing torch_dynamo_resume_in_forward_at_1887 "
            f"{SITE}/nn/parallel/distributed.py:1887",
            level="I",
            cid="1/0",
        ),
    )
    report, resumed = said.reports
    assert report.location == Location(f"{SITE}/nn/parallel/distributed.py", 1758, "_pre_forward")
    assert report.names == ("_pre_forward", "Logger.set_runtime_stats_and_log", "forward")
    assert (resumed.op, resumed.hint) == ("*", True)  # the break above accounts for it


def test_a_break_in_a_library_that_the_users_function_calls_is_named_by_the_users(read: Read) -> None:
    said = read(
        *graph_break(
            f"Graph break in user code at {SITE}/optim/optimizer.py:78",
            "Graph Break Reason: Call to `torch._dynamo.graph_break()`",
            "User code traceback:",
            '  File "/app/train.py", line 22, in <module>',
            '  File "/app/train.py", line 19, in step',
            f'  File "{SITE}/optim/optimizer.py", line 549, in wrapper',
            f'  File "{SITE}/optim/optimizer.py", line 78, in _use_grad',
        )
    )
    (report,) = said.reports
    assert (report.op, report.stack) == ("step", ("step",))
    assert report.names == ("step", "torch._dynamo.graph_break", "_use_grad", "wrapper")
    assert report.location == Location("/app/train.py", 19, "step")


def test_items_warning_in_a_library_that_was_compiled_itself(read: Read) -> None:
    said = read(
        *record(
            "Graph break from `Tensor.item()`, consider setting:",
            "    torch._dynamo.config.capture_scalar_outputs = True",
            "Graph break: from user code at:",
            f'  File "{SITE}/optim/lbfgs.py", line 343, in step',
            level="W",
        )
    )
    (report,) = said.reports
    assert (report.op, report.location) == ("step", Location(f"{SITE}/optim/lbfgs.py", 343, "step"))


@pytest.mark.parametrize(
    ("pid", "time", "off"),
    [
        (4674, "AotCodeCompiler.compile, 84.9698", False),
        (4674, "GraphLowering.run, 0.0075", False),
        (4675, "GraphLowering.run, 0.0075", True),
        (4674, "gc, 0.0462", True),
    ],
)
def test_an_empty_list_beside_a_graph_that_was_exported_is_no_compiler_that_is_off(
    read: Read, pid: int, time: str, off: bool
) -> None:
    times = ("TorchDynamo compilation metrics:", "Function, Runtimes (s)", time)
    said = read(*listed(), *record(*times, level="I", cid="", at="_dynamo/utils.py:925", pid=pid))
    assert [r.id for r in said.reports] == ["torch/compiler-off"] * off
    (by, *_) = said.evidence.processes.values()
    assert {proof.state for proof in READERS["torch.compile"].prove(by["torch.compile"]).values()} == {
        State.UNPROVEN
    }


def test_the_break_of_a_frame_that_two_point_seven_gives_up_tells_what_was_raised(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break: skip: from user code at:",
            '  File "/app/audio.py", line 24, in denoise',
            '    with timed("denoise"):',
            "Traceback (most recent call last):",
            f'  File "{SITE}/_dynamo/variables/functions.py", line 531, in next_variable',
            "torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped",
            "  Developer debug context: module: time, qualname: perf_counter, skip reason: <missing reason>",
        )
    )
    report, frame = said.reports
    assert report.reason == "Attempted to call function marked as skipped"
    assert report.names == ("denoise", "time.perf_counter")
    assert (frame.kind, frame.op, frame.hint) == (Kind.EAGER_FRAME, "denoise", True)


def test_the_frame_that_is_given_up_is_the_outermost_of_its_stack(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break: skip: from user code at:",
            '  File "/app/hooks.py", line 85, in hook',
            "    if not within(item):",
            '  File "/app/specs.py", line 263, in within',
            "    return (low <= item).all() and item",
            "Traceback (most recent call last):",
            "torch._dynamo.exc.Unsupported: generic_jump TensorVariable()",
        )
    )
    assert [(report.kind, report.op, report.location) for report in said.reports] == [
        (Kind.GRAPH_BREAK, "within", Location("/app/specs.py", 263, "within")),
        (Kind.EAGER_FRAME, "hook", Location("/app/hooks.py", 85, "hook")),
    ]


def test_a_break_in_a_compiled_library_before_two_point_eight(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break: skip: from user code at:",
            f'  File "{SITE}/optim/lbfgs.py", line 330, in step',
            "Traceback (most recent call last):",
            "torch._dynamo.exc.Unsupported: Reconstruction failure",
        )
    )
    (report,) = said.reports
    assert (report.op, report.location) == ("step", Location(f"{SITE}/optim/lbfgs.py", 330, "step"))


FAKE = "call_function serve.rope(*(FakeTensor(..., size=(4,)),), **{}): got RuntimeError('no fake impl')"


@pytest.mark.parametrize(
    "error",
    [
        [
            "torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call",
            f"  Explanation: Dynamo failed to run FX node with fake tensors: {FAKE}",
        ],
        [f"torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: {FAKE}"],
        [f"torch._dynamo.exc.TorchRuntimeError: Failed running {FAKE}"],
    ],
    ids=["2.11", "2.7", "2.4"],
)
def test_an_operator_without_a_fake_kernel_is_named(error: list[str], read: Read) -> None:
    """As the program calls it, whether the error ends the program or is swallowed."""
    place = '  File "/app/nf.py", line 7, in forward'
    (ended,) = read(*error, "from user code:", place, "    return torch.ops.serve.rope(x)").reports
    at = "W1130 15:09:42.456000 18669 torch/_dynamo/convert_frame.py:1280] "
    lines = [
        "WON'T CONVERT forward /app/nf.py line 6 ",
        "due to: ",
        "Traceback (most recent call last):",
        *error,
    ]
    (swallowed,) = read(*(at + line for line in lines)).reports
    for report in (ended, swallowed):
        assert (report.kind, report.op) == (Kind.COMPILE_ERROR, "forward")
        assert report.names == ("forward", "serve::rope", "serve.rope")


def test_a_hint_names_no_offending_call(read: Read) -> None:
    said = read(
        *graph_break(
            SHORT[0],
            "Graph Break Reason: TypeError when making fake tensor call",
            "  Hint: Use `torch.compiler.set_stance` to look for it.",
            " For more details about this graph break, please visit: https://meta-pytorch.github.io/gb0115.html",
            *STACK,
        )
    )
    assert said.reports[0].names == ("gate_attn",)


@pytest.mark.parametrize("form", [SHORT, LONG], ids=["short", "long"])
def test_a_graph_break(read: Read, form: tuple[str, ...]) -> None:
    said = read("noise", *graph_break(*form, *STACK))
    (report,) = said.reports
    assert (report.id, report.kind, report.scope) == ("torch/graph-break", Kind.GRAPH_BREAK, Scope.SITE)
    assert report.op == "gate_attn"
    assert report.names[0] == "gate_attn"
    assert set(report.names[1:]) == {"Tensor.item", "aten::_local_scalar_dense"}
    assert report.stack == ("gate_attn", "forward")
    assert report.files == ("/app/moe/breaks.py", "/app/moe/decoder.py", "/app/moe/main.py")
    assert report.location == Location("/app/moe/breaks.py", 37, "gate_attn")
    assert report.reason == "Unsupported Tensor.item() call with capture_scalar_outputs=False"
    assert (report.position, report.pid, report.at_least, report.hint) == (2, 4674, False, False)
    assert "torch/graph-breaks-on" in said.markers


def test_a_break_that_was_told_before_has_no_stack(read: Read) -> None:
    (report,) = read(
        *graph_break(
            "Graph break (user stack suppressed due to duplicate graph break) in user code at /app/moe/breaks.py:64",
            "Graph Break Reason: Call to `torch._dynamo.graph_break()`",
        )
    ).reports
    assert report.location == Location("/app/moe/breaks.py", 64, None)
    assert (report.op, report.stack, report.files) == ("*", (), ("/app/moe/breaks.py",))
    assert report.names == ("torch._dynamo.graph_break",)


def test_two_breaks_of_one_frame_are_two_records(read: Read) -> None:
    first = graph_break(*SHORT, *STACK)
    second = graph_break(
        "Graph break in user code at /app/moe/breaks.py:44", "Graph Break Reason: Data-dependent branching"
    )
    reports = read(*first, *second).reports
    assert [r.location.line for r in reports] == [37, 44]
    assert reports[1].stack == ()
    assert reports[1].reason == "Data-dependent branching"


def test_a_frame_skipped_for_a_break_in_a_loop(read: Read) -> None:
    lines = graph_break(
        SHORT[0],
        "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:",
        "",
        "Unsupported Tensor.item() call with capture_scalar_outputs=False",
        *SHORT[2:],
        "*** While handling this graph break, another graph break occurred: ***",
        "",
        "graph break in loop",
        "  Explanation: torch.compile detected a graph break in a for/while loop. Skipping the frame and falling back to eager, as graph breaks in loops are not supported.",
        "  Developer debug context: frame skipped: forward (/app/moe/decoder.py line 148)",
        *STACK,
    )
    graph, frame = read(*lines).reports
    assert (graph.kind, graph.op) == (Kind.GRAPH_BREAK, "gate_attn")
    assert (frame.id, frame.kind, frame.scope) == ("torch/frame-skipped", Kind.EAGER_FRAME, Scope.REGION)
    assert (frame.op, frame.stack) == ("forward", ("forward",))
    assert frame.location == Location("/app/moe/decoder.py", 148, "forward")
    assert frame.position == 1 + next(i for i, line in enumerate(lines) if "frame skipped" in line)
    assert "graph break in loop" in frame.reason


def test_a_function_that_runs_eager_and_is_not_named_twice(read: Read) -> None:
    reports = read(
        *graph_break(
            SHORT[0],
            "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:",
            "",
            "Unsupported Tensor.item() call with capture_scalar_outputs=False",
            *STACK,
        )
    ).reports
    assert [(r.kind, r.scope, r.op) for r in reports] == [
        (Kind.GRAPH_BREAK, Scope.SITE, "gate_attn"),
        (Kind.EAGER_FRAME, Scope.REGION, "gate_attn"),
    ]


def test_a_break_that_cannot_be_resumed_from(read: Read) -> None:
    graph, rest = read(
        *graph_break(
            "Graph break in user code at /app/tv/lock.py:12",
            "Graph Break Reason: Encountered graph break that we cannot resume from. Compiling up to the previous resumable state, then skipping the rest of the function. Graph break encountered:",
            "",
            "Unsupported context manager",
            "  Explanation: Dynamo does not know how to enter a `lock` context manager.",
            "User code traceback:",
            '  File "/app/tv/lock.py", line 12, in locked',
        )
    ).reports
    assert (graph.kind, graph.reason) == (Kind.GRAPH_BREAK, "Unsupported context manager")
    assert (rest.kind, rest.scope, rest.op) == (Kind.EAGER_FRAME, Scope.REGION, "locked")


def test_a_disabled_function_is_named_by_its_own_name(read: Read) -> None:
    (report,) = read(
        *graph_break(
            "Graph break in user code at /app/moe/breaks.py:90",
            "Graph Break Reason: Skip calling `torch.compiler.disable()`d function",
            "  Explanation: Skip calling function `<function expert_stats at 0x7f10>` since it was wrapped with `torch.compiler.disable` (reason: None)",
            "User code traceback:",
            '  File "/app/moe/breaks.py", line 90, in moe_topk',
        )
    ).reports
    assert (report.op, report.kind) == ("expert_stats", Kind.GRAPH_BREAK)
    assert report.stack == ("moe_topk",)


def test_a_custom_operator_of_dynamic_shape_is_among_the_names(read: Read) -> None:
    (report,) = read(
        *graph_break(
            "Graph break in user code at /app/moe/breaks.py:50",
            "Graph Break Reason: Dynamic shape operator",
            "  Explanation: Operator `aten.nonzero.default`'s output shape depends on input Tensor data.",
            "User code traceback:",
            '  File "/app/moe/breaks.py", line 50, in route',
        )
    ).reports
    assert report.op == "route"
    assert "aten::nonzero" in report.names


def test_interleaved_records_of_two_processes_stay_apart(read: Read) -> None:
    mine = graph_break(*SHORT, *STACK, pid=1)
    other = graph_break(
        "Graph break in user code at /app/b.py:5",
        "Graph Break Reason: Data-dependent branching",
        "User code traceback:",
        '  File "/app/b.py", line 5, in other',
        pid=2,
    )
    lines = [
        line for pair in zip(mine, other + [""] * (len(mine) - len(other)), strict=True) for line in pair
    ]
    first, second = read(*lines).reports
    assert (first.pid, first.op, first.stack) == (1, "gate_attn", ("gate_attn", "forward"))
    assert (second.pid, second.op, second.stack) == (2, "other", ("other",))


ITEM = (
    "Graph break from `Tensor.item()`, consider setting:",
    "    torch._dynamo.config.capture_scalar_outputs = True",
    "or:",
    "    env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1",
    "to include these operations in the captured graph.",
    "",
)


def test_the_warning_of_item(read: Read) -> None:
    (report,) = read(*record(*ITEM, "Graph break: from user code at:", *STACK[1:], level="W")).reports
    assert (report.id, report.kind, report.op) == ("torch/item-break", Kind.GRAPH_BREAK, "gate_attn")
    assert report.location == Location("/app/moe/breaks.py", 37, "gate_attn")
    assert report.at_least
    assert "Tensor.item" in report.names


def test_the_warning_of_item_without_a_place(read: Read) -> None:
    (report,) = read(*record(*ITEM, level="W")).reports
    assert (report.op, report.location, report.at_least) == ("Tensor.item", None, True)


@pytest.mark.parametrize(
    ("line", "builtin"),
    [
        (f"{SITE}/_dynamo/variables/functions.py:2431: UserWarning: Dynamo does not know how to trace the builtin `time.thread_time_ns.` This function is either a Python builtin (e.g. _warnings.warn) or", "time.thread_time_ns"),
        (f"{SITE}/_dynamo/variables/functions.py:702: UserWarning: Graph break due to unsupported builtin sys.getrefcount. This function is", "sys.getrefcount"),
    ],
)  # fmt: skip
def test_the_warning_of_a_builtin(read: Read, line: str, builtin: str) -> None:
    (report,) = read(line, "  torch._dynamo.utils.warn_once(explanation)").reports
    assert (report.id, report.kind, report.op) == ("torch/untraceable-builtin", Kind.GRAPH_BREAK, builtin)
    assert report.at_least
    assert report.location is None


def test_a_swallowed_error(read: Read) -> None:
    (report,) = read(
        *record(
            "WON'T CONVERT forward /app/moe/decoder.py line 148 ",
            "due to: ",
            "Traceback (most recent call last):",
            f'  File "{SITE}/_dynamo/output_graph.py", line 1, in call_user_compiler',
            "torch._dynamo.exc.BackendCompilerFailed: backend='broken_backend' raised:",
            "RuntimeError: no kernel for this target",
            level="W",
            cid="",
        )
    ).reports
    assert (report.kind, report.scope, report.op) == (Kind.COMPILE_ERROR, Scope.REGION, "forward")
    assert report.location == Location("/app/moe/decoder.py", 148, "forward")
    assert "BackendCompilerFailed: backend='broken_backend'" in report.reason


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("torch._dynamo.exc.Unsupported: graph break in loop", Kind.EAGER_FRAME),
        ("torch._dynamo.exc.RecompileLimitExceeded: Dynamo recompile limit exceeded", Kind.RECOMPILE_LIMIT),
        ("torch._dynamo.exc.Unsupported: cache_size_limit reached", Kind.RECOMPILE_LIMIT),
        (
            "torch._dynamo.exc.RecompileLimitExceeded: accumulated_recompile_limit reached",
            Kind.RECOMPILE_LIMIT,
        ),
    ],
)
def test_a_frame_given_up_at_info(read: Read, cause: str, kind: Kind) -> None:
    lines = ("WON'T CONVERT balance /app/tv/breaks.py line 18 ", "due to: ", cause)
    (report,) = read(*record(*lines, level="I")).reports
    assert (report.kind, report.scope, report.op) == (kind, Scope.REGION, "balance")


def test_a_frame_given_up_in_a_function_that_it_calls_names_both(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break in user code at /app/streams.py:33",
            "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:",
            "",
            "Unsupported method call",
            "User code traceback:",
            '  File "/app/streams.py", line 49, in traced',
            '  File "/app/streams.py", line 33, in __enter__',
        ),
        *record(
            "WON'T CONVERT traced /app/streams.py line 47 ",
            "due to: ",
            "Traceback (most recent call last):",
            "torch._dynamo.exc.Unsupported: Unsupported method call",
            "",
            "from user code:",
            '   File "/app/streams.py", line 49, in traced',
            "    with Span(handle):",
            '  File "/app/streams.py", line 33, in __enter__',
            '    self.handle.write("span")',
            "",
            "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace",
            level="I",
            cid="",
        ),
    )
    broke, skipped, frame = said.reports
    assert (broke.op, skipped.op, skipped.hint) == ("__enter__", "__enter__", True)
    assert (frame.op, frame.names, frame.hint) == ("traced", ("traced", "__enter__"), False)
    assert frame.location == Location("/app/streams.py", 47, "traced")


CAPTURED = "speculate_subgraph: while introspecting {}, we were unable to trace function `expert` into a single graph. This means"


def test_a_checkpointed_function_that_breaks_runs_eager_as_a_whole(read: Read) -> None:
    said = read(
        *record(CAPTURED.format("torch.utils.checkpoint.checkpoint"), level="I"),
        *graph_break(
            "Graph break in user code at /app/moe.py:19",
            "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):",
            "",
            "Failed to trace builtin operator",
            "  Higher Order Operator: torch.utils.checkpoint.checkpoint",
            "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types",
            "User code traceback:",
            '  File "/app/moe.py", line 23, in forward',
            '  File "/app/moe.py", line 19, in expert',
        ),
    )
    hint, broke, whole = said.reports
    assert (hint.kind, hint.op, hint.hint) == (Kind.EAGER_FRAME, "expert", True)
    assert (broke.kind, broke.scope) == (Kind.GRAPH_BREAK, Scope.SITE)
    assert (whole.kind, whole.scope, whole.op) == (Kind.EAGER_FRAME, Scope.REGION, "expert")
    assert whole.stack == ("expert", "forward")
    assert "torch.utils.checkpoint.checkpoint" in whole.names


@pytest.mark.parametrize(
    "operator", ["torch.cond", "torch.ops.higher_order.scan", "cond", "autograd.Function"]
)
def test_what_else_is_captured_whole_is_told_by_its_break_or_its_error(read: Read, operator: str) -> None:
    assert read(*record(CAPTURED.format(operator), level="I")).reports == []


def test_a_checkpointed_function_without_a_name(read: Read) -> None:
    said = CAPTURED.format("torch.utils.checkpoint.checkpoint").replace(
        "expert", "NestedUserFunctionVariable"
    )
    (report,) = read(*record(said, level="I")).reports
    assert (report.op, report.scope, report.hint) == ("*", Scope.REGION, True)


def test_a_compile_that_failed_as_its_guards_were_made(read: Read) -> None:
    (report,) = read(
        *record(
            "Error while creating guard:",
            "Name: ''",
            "    Source: shape_env",
            "Traceback (most recent call last):",
            f'  File "{SITE}/_guards.py", line 374, in create',
            "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])!",
            "",
            "User stack:",
            '  File "/app/rank.py", line 7, in fixed',
            "    return x.reshape(4, -1).sum(0)",
            level="E",
        ),
        *record(
            "Created at:", f'  File "{SITE}/_dynamo/convert_frame.py", line 925, in trace_frame', level="E"
        ),
    ).reports
    assert (report.kind, report.op, report.scope) == (Kind.COMPILE_ERROR, "fixed", Scope.PROGRAM)
    assert report.location == Location("/app/rank.py", 7, "fixed")
    assert "Constraints violated" in report.reason


@pytest.mark.parametrize(
    "time", ["bytecode_tracing", "fullgraph_capture", "GraphLowering.run", "PyCodeCache.load_by_key_path"]
)
def test_an_empty_list_beside_a_trace_is_no_compiler_that_is_off(read: Read, time: str) -> None:
    times = record(
        "TorchDynamo compilation metrics:", "Function, Runtimes (s)", f"{time}, 1.0", level="I", cid=""
    )
    assert read(*listed(), *times).reports == []
    assert [r.id for r in read(*listed(), *times[:2]).reports] == ["torch/compiler-off"]


def trace(*artifacts: str, restarts: list[str]) -> list[str]:
    """The structured trace of one frame, with these artifacts."""
    where = {"frame_id": 2, "frame_compile_id": 0, "attempt": 0}
    metrics = {
        "compile_id": "2/0",
        "co_name": "forward",
        "co_filename": "/app/speech.py",
        "co_firstlineno": 18,
        "graph_op_count": 3,
        "guard_count": 9,
        "inductor_compile_time_s": 1.0,
        "restart_reasons": restarts,
    }
    told = [
        {"dynamo_start": {"stack": []}, **where},
        *({"artifact": {"name": name}, **where} for name in artifacts),
        {"compilation_metrics": metrics, **where},
    ]
    return [line for one in told for line in record(json.dumps(one), cid="")]


@pytest.mark.parametrize(
    ("restarts", "artifact", "ids"),
    [
        (["Unknown fail_and_restart_analysis"], False, ["torch/graph-break", "torch/rest-of-function-eager"]),
        (["Unknown fail_and_restart_analysis"], True, []),  # told by the artifact
        (["TensorifyScalar"], False, []),
    ],
)
def test_a_structured_trace_of_a_frame_that_was_cut_short(
    read: Read, restarts: list[str], artifact: bool, ids: list[str]
) -> None:
    artifacts = (*["dynamo_graph_break_reason"] * artifact, "fx_graph_cache_miss")
    assert [r.id for r in read(*trace(*artifacts, restarts=restarts)).reports] == ids


@pytest.mark.parametrize(
    ("artifact", "tells"),
    [
        ("fx_graph_cache_hash", False),  # 2.5, which writes no artifact of a break
        ("aotautograd_cache_hash", False),
        ("fx_graph_cache_miss", True),
        ("aotautograd_cache_bypass", True),
        ("aot_forward_graph_fw_metadata", True),
    ],
)
def test_a_trace_shows_graph_breaks_where_its_version_writes_them(
    read: Read, artifact: str, tells: bool
) -> None:
    said = read(*trace(artifact, restarts=["call to print"]))
    assert [r.id for r in said.reports] == ([] if tells else ["torch/graph-break"])
    (by,) = said.evidence.processes.values()
    state = READERS["torch.compile"].prove(by["torch.compile"])[Kind.GRAPH_BREAK].state
    assert state is (State.PROVEN if tells else State.UNPROVEN)


def test_a_frame_that_was_never_traced(read: Read) -> None:
    said = read(
        *graph_break(
            "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.",
            "torch.compile will skip tracing the frame row (/app/moe.py line 42) and fall back to eager.",
            "The graph break occurred in the following user code:",
            '  File "/app/moe.py", line 44, in inner',
            "    y = x.sin()",
            "",
            "Traceback (most recent call last):",
            f'  File "{SITE}/_dynamo/convert_frame.py", line 2333, in __call__',
            "torch._dynamo.exc.Unsupported: Unsupported functorch tracing attempt",
        )
    )
    frame, broke = said.reports
    assert (frame.kind, frame.scope, frame.op) == (Kind.EAGER_FRAME, Scope.REGION, "row")
    assert frame.location == Location("/app/moe.py", 42, "row")
    assert frame.reason == "the whole frame runs in eager (Unsupported functorch tracing attempt)"
    assert (broke.kind, broke.op, broke.location.line) == (Kind.GRAPH_BREAK, "inner", 44)


def test_a_graph_that_ends_where_dynamo_cannot_resume_at_debug(read: Read) -> None:
    said = "COMPILING GRAPH due to GraphCompileReason(reason='step_unsupported', user_stack=[<FrameSummary file /app/speech.py, line 17 in forward>], graph_break=True)"
    rest, broke = read(*record(said, level="V")).reports
    assert (rest.kind, rest.scope, rest.op, rest.hint) == (Kind.EAGER_FRAME, Scope.REGION, "forward", True)
    assert (broke.kind, broke.location) == (Kind.GRAPH_BREAK, Location("/app/speech.py", 17, "forward"))
    assert read(*record(said.replace("step_unsupported", "return_value"), level="V")).reports == []


def test_what_compiled_autograd_looks_at_while_it_captures_is_no_frame_of_the_program(read: Read) -> None:
    frame = "WON'T CONVERT <genexpr> /opt/venv/lib/python3.11/site-packages/sympy/core/facts.py line 633 "
    assert read(*record(frame, level="I", cid="!0")).reports == []
    assert [r.op for r in read(*record(frame, level="I", cid="!0/7/0")).reports] == ["<genexpr>"]
    assert [r.op for r in read(*record(frame, level="W", cid="!0")).reports] == ["<genexpr>"]


@pytest.mark.parametrize(
    ("file", "cause", "told"),
    [
        ("/usr/lib/python3.11/typing.py", "Attempt to trace generator", False),
        ("<frozen _collections_abc>", "Attempt to trace generator", False),
        ("/usr/lib/python3.11/inspect.py", "ObservedTypeError: raised exception", False),
        ("/app/inspect.py", "ObservedTypeError: raised exception", True),
        ("/usr/lib/python3.11/typing.py", "Unsupported method call", True),
        ("/app/typing.py", "Attempt to trace generator", True),
        ("/opt/venv/lib/python3.11/site-packages/models/typing.py", "Attempt to trace generator", True),
    ],
)
def test_a_generator_of_the_standard_library_is_no_frame_of_the_program(
    read: Read, file: str, cause: str, told: bool
) -> None:
    lines = (
        f"WON'T CONVERT <genexpr> {file} line 701 ",
        "due to: ",
        f"torch._dynamo.exc.{cause}" if "raised" in cause else f"torch._dynamo.exc.Unsupported: {cause}",
    )
    assert [r.op for r in read(*record(*lines, level="I")).reports] == ["<genexpr>"] * told


BACKWARD = (
    '  File "/app/train.py", line 24, in train',
    "    y.sum().backward()",
    f'  File "{SITE}/autograd/graph.py", line 1072, in _engine_run_backward',
    f'  File "{SITE}/_dynamo/compiled_autograd.py", line 1290, in end_capture',
)
GIVEN_UP = "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:"


@pytest.mark.parametrize(
    ("innermost", "reason", "told"),
    [
        ((f'  File "{SITE}/_higher_order_ops/utils.py", line 60, in inner',), "Unsupported context manager", [("torch/graph-break", "train", 24)]),
        (('  File "/usr/lib/python3.11/inspect.py", line 1772, in _check',), "Observed exception", []),
        (('  File "/app/train.py", line 13, in scale',), "Failed to trace builtin operator", [("torch/graph-break", "scale", 13), ("torch/frame-skipped", "scale", 13)]),
    ],
)  # fmt: skip
def test_what_compiled_autograd_runs_behind_a_function_is_no_frame_of_that_function(
    read: Read, innermost: tuple[str, ...], reason: str, told: list[tuple[str, str, int]]
) -> None:
    file, line = re.findall(r'File "(.+)", line (\d+)', innermost[0])[0]
    header = f"Graph break in user code at {file}:{line}"
    said = read(
        *graph_break(header, GIVEN_UP, "", reason, "User code traceback:", *BACKWARD, *innermost)
    ).reports
    assert [(r.id, r.op, r.location.line) for r in said] == told


def test_a_lowering_that_failed_names_its_operator(read: Read) -> None:
    said = (
        "torch._inductor.exc.InductorError: LoweringException: AssertionError: <class 'torch._inductor.ir.Pointwise'>",
        "  target: aten._weight_int8pack_mm.default",
        "  args[0]: TensorBox(StorageBox(",
    )
    (report,) = read(*said).reports
    assert (report.op, report.kind) == ("aten::_weight_int8pack_mm", Kind.COMPILE_ERROR)
    (report,) = read(*record("WON'T CONVERT k /app/k.py line 3 ", "due to: ", *said, level="W")).reports
    assert (report.op, report.names[1:]) == (
        "k",
        ("aten::_weight_int8pack_mm", "aten._weight_int8pack_mm.default"),
    )


def test_a_frame_that_was_given_up_accounts_for_an_empty_list(tmp_path: Path) -> None:
    """A generator's frame is never traced: the compiler was on."""
    given_up = record(
        "WON'T CONVERT stream /app/tiles.py line 16 ",
        "due to: ",
        "torch._dynamo.exc.Unsupported: Attempt to trace generator",
        level="I",
    )
    log = tmp_path / "compile.log"
    for lines, ids in (
        ([*given_up, *listed()], ["torch/frame-not-converted"]),
        (listed(), ["torch/compiler-off"]),
    ):
        log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        verdict = check([str(log)])
        assert [finding.event.id for finding in verdict.findings] == ids
        assert verdict.outcome is Outcome.BLOCKED


def test_a_custom_operator_without_a_fake_is_named(read: Read) -> None:
    (report,) = read(
        "torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call",
        "  Explanation: Dynamo failed to run FX node with fake tensors: call_function serve.sample_row(*(FakeTensor(..., size=(1, 16)),), **{}): got RuntimeError('There was no fake impl registered')",
        "",
        "from user code:",
        '   File "/app/paged.py", line 33, in decode',
        "    token = sample_row(logits)",
        "",
    ).reports
    assert (report.op, report.names) == ("decode", ("decode", "serve::sample_row", "serve.sample_row"))


def test_a_module_of_pytorch_is_no_operator(read: Read) -> None:
    (report,) = read(
        "torch._dynamo.exc.UncapturedHigherOrderOpError: This higher order operator doesn't work unless it is captured completely with torch.compile.",
        "  Hint: ask torch._dynamo.variables.builtin why",
        "  Developer debug context: of torch._dynamo.variables.builtin",
        "",
        "from user code:",
        '   File "/app/cond.py", line 54, in yes',
        '    print("yes")',
        "",
    ).reports
    assert report.names == ("yes",)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (
            "    Y = torch.ops.quantized.linear_dynamic(",
            ("quantized::linear_dynamic", "quantized.linear_dynamic"),
        ),
        ("    return torch.ops.serve.pick.default(x)", ("serve::pick", "serve.pick.default")),
        ("    print(torch.ops.serve.pick(x))", ()),
        ("    y = f(torch.ops.serve.pick(x))", ()),
    ],
)
def test_the_operator_that_the_broken_line_calls(read: Read, code: str, names: tuple[str, ...]) -> None:
    (report,) = read(
        *graph_break(
            "Graph break in user code at /app/q.py:58",
            "Graph Break Reason: Failed to convert args/kwargs to proxy",
            "User code traceback:",
            '  File "/app/q.py", line 58, in forward',
            code,
            "        ^^^^^^^^^",
        )
    ).reports
    assert report.names == ("forward", *names)


def test_what_runs_a_program_as_a_module_is_no_offending_call(read: Read) -> None:
    (report,) = read(
        *graph_break(
            f"Graph break in user code at {SITE}/nn/modules/module.py:1794",
            "Graph Break Reason: Skip calling `torch.compiler.disable()`d function",
            "  Explanation: Skip calling function `<function Norm.forward at 0x7f10>` since it was wrapped",
            "User code traceback:",
            '  File "<frozen runpy>", line 198, in _run_module_as_main',
            '  File "<frozen runpy>", line 88, in _run_code',
            '  File "/app/serve/__main__.py", line 9, in <module>',
            '  File "/app/serve/model.py", line 32, in forward',
            f'  File "{SITE}/nn/modules/module.py", line 1794, in _call_impl',
        )
    ).reports
    assert (report.op, report.names) == ("Norm.forward", ("Norm.forward",))


@pytest.mark.parametrize(
    "frame",
    [
        "<FrameSummary file /app/tv/breaks.py, line 20 in balance>",
        "torch.compile intentionally decided to skip the frame balance (/app/tv/breaks.py line 20) and fall back to eager.",
    ],
)
def test_a_frame_skipped_before_2_13(read: Read, frame: str) -> None:
    lines = ("Skipping frame because there is a graph break in a for/while loop", frame)
    (report,) = read(*record(*lines, level="I")).reports
    assert (report.kind, report.scope, report.op) == (Kind.EAGER_FRAME, Scope.REGION, "balance")
    assert report.location == Location("/app/tv/breaks.py", 20, "balance")


@pytest.mark.parametrize(
    ("limit", "last"),
    [
        ("recompile_limit (8)", "0/7: tensor 'q' size mismatch at index 2. expected 9, actual 10"),
        ("accumulated_recompile_limit (4)", "0/3: self.kv_len == 520"),
        ("cache_size_limit (64)", "tensor 'L['q']' stride mismatch at index 0. expected 32, actual 160"),
    ],
)
def test_a_limit(read: Read, limit: str, last: str) -> None:
    (report,) = read(
        *record(
            f"torch._dynamo hit config.{limit}",
            "   function: 'gate_attn' (/app/moe/recompile.py:17)",
            f"   last reason: {last}",
            'To log all recompilation reasons, use TORCH_LOGS="recompiles".',
            level="W",
        )
    ).reports
    assert (report.kind, report.scope, report.op) == (Kind.RECOMPILE_LIMIT, Scope.REGION, "gate_attn")
    assert report.location == Location("/app/moe/recompile.py", 17, "gate_attn")
    assert limit in report.reason
    assert last in report.reason
    assert not report.at_least


def test_a_function_of_torch_is_named_as_people_call_it(read: Read) -> None:
    said = (
        "Dynamo does not know how to trace the builtin `torch._VariableFunctionsClass.sub.` This function is"
    )
    where = "  Developer debug context: module: torch, qualname: _VariableFunctionsClass.sub, skip reason: <missing reason>"
    warned, broke = read(
        f"{SITE}/_dynamo/variables/functions.py:2431: UserWarning: {said}",
        *graph_break(
            *ON_CALL, "Attempted to call function marked as skipped", f"  Explanation: {said}", where, *STACK
        ),
    ).reports
    assert (warned.op, broke.names) == ("torch.sub", ("gate_attn", "torch.sub"))


def test_an_old_break_at_a_disabled_module_may_be_any(read: Read) -> None:
    (report,) = read(
        *graph_break(
            "Graph break: call torch._dynamo.disable() wrapped function <function Module._wrapped_call_impl at 0x7f1d4a4fd580> "
            "from user code at:",
            '  File "/app/tv/breaks.py", line 28, in forward',
        )
    ).reports
    assert (report.op, report.scope) == ("forward", Scope.REGION)


def test_an_old_limit(read: Read) -> None:
    opening = "[2026-11-30 01:18:36,471] torch._dynamo.convert_frame: [WARNING] "
    (report,) = read(
        opening + "torch._dynamo hit config.cache_size_limit (64)",
        opening + "   function: 'gate_attn' (/app/tv/breaks.py:13)",
    ).reports
    assert (report.kind, report.op, report.pid) == (Kind.RECOMPILE_LIMIT, "gate_attn", None)


def test_a_recompile_below_its_limit_is_no_fallback(read: Read) -> None:
    lines = (
        "Recompiling function forward in /app/moe/decoder.py:131",
        "    triggered by the following guard failure(s):",
        "    - 0/0: tensor 'q' size mismatch at index 2. expected 9, actual 10",
    )
    assert read(*record(*lines, artifact="recompiles")).reports == []


def test_fullgraph_ends_in_an_error(read: Read) -> None:
    (report,) = read(
        "Traceback (most recent call last):",
        f'  File "{SITE}/_dynamo/eval_frame.py", line 841, in compile_wrapper',
        "torch._dynamo.exc.Unsupported: Data-dependent branching",
        "  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).",
        "",
        "from user code:",
        '   File "/app/moe/decoder.py", line 150, in forward',
        "    x = block(x)",
        '  File "/app/moe/breaks.py", line 37, in gate_attn',
        "    if x.sum() > 0:",
        "",
    ).reports
    assert (report.kind, report.scope, report.op) == (Kind.COMPILE_ERROR, Scope.PROGRAM, "gate_attn")
    assert report.stack == ("gate_attn", "forward")
    assert report.location == Location("/app/moe/breaks.py", 37, "gate_attn")
    assert report.reason == "Unsupported: Data-dependent branching"
    assert report.position == 3


def test_export_that_met_a_data_dependent_guard(read: Read) -> None:
    error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)"
    (report,) = read(error).reports
    assert (report.kind, report.op) == (Kind.COMPILE_ERROR, "*")
    call = (
        "The following call raised this error:",
        '  File "/app/moe/full.py", line 29, in moe_branch',
        "    if probs.max() > 0.9:",
    )
    for shown in (("", *call), ("", "User Stack (most recent call last):", *call[1:], "", *call)):
        (report,) = read(error, *shown).reports
        assert (report.kind, report.op) == (Kind.COMPILE_ERROR, "moe_branch")
        assert report.location == Location("/app/moe/full.py", 29, "moe_branch")


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp_partition"])
def test_a_back_end_that_generates_nothing(read: Read, backend: str) -> None:
    (report,) = read(*traced(backend=backend)).reports
    assert (report.kind, report.scope, report.op) == (Kind.EAGER_FRAME, Scope.PROGRAM, "*")
    assert backend in report.reason


@pytest.mark.parametrize(
    "frame",
    [
        f"_cond_op_wrapper {SITE}/_higher_order_ops/cond.py:217",
        f"run_flattened_scan {SITE}/_higher_order_ops/scan.py:209",
        f"run_flattened_map {SITE}/_higher_order_ops/map.py:110",
    ],
)
def test_control_flow_outside_of_compiled_code_was_never_to_be_compiled(read: Read, frame: str) -> None:
    """PyTorch traces it for the back end eager: `torch.cond`, `scan` and `map` in the program's eager code."""
    assert read(*traced(frame, backend="eager")).reports == []
    (report,) = read(*traced(frame, backend="aot_eager")).reports  # that is the program's wish
    assert report.op == "*"
    (report,) = read(*traced(frame), *traced(backend="eager", cid="1/0")).reports
    assert (report.op, report.compile_id) == ("*", "1/0")


def test_at_debug_the_reason_of_the_compile_tells_whose_graph_it_is(read: Read) -> None:
    far = [line for n in range(500) for line in record(f"TRACE LOAD_FAST args {n}")]
    why = f"COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack=[<FrameSummary file {SITE}/_higher_order_ops/cond.py, line 220 in _cond_op_wrapper>], graph_break=False)"
    start, *_ = traced(f"_cond_op_wrapper {SITE}/_higher_order_ops/cond.py:217")
    called = record("Step 2: calling compiler function eager", level="I")
    assert read(start, *far, *record(why), *called).reports == []
    (report,) = read(start, *far, *called).reports
    assert report.op == "*"


def test_attention_that_pytorch_runs_unfused_is_told_where_its_warning_is_hushed(read: Read) -> None:
    frame = f"_flex_attention_hop_wrapper {SITE}/nn/attention/flex_attention.py:1720"
    (report,) = read(*traced(frame, backend="eager")).reports
    assert (report.id, report.kind, report.op) == (
        "torch/unfused-attention",
        Kind.REFERENCE_KERNEL,
        "flex_attention",
    )


def test_a_list_at_exit_that_is_empty(read: Read) -> None:
    (report,) = read(*listed()).reports
    assert (report.id, report.kind, report.scope) == ("torch/compiler-off", Kind.EAGER_FRAME, Scope.PROGRAM)
    assert read(*listed("forward /app/moe/decoder.py:148")).reports == []
    assert read(*listed()[:1]).reports == []


def test_an_empty_list_behind_an_exception_tells_of_no_compiler_that_is_off(tmp_path: Path) -> None:
    """The program may have died before it compiled: nothing is proven, and nothing fell back."""
    log = tmp_path / "compile.log"
    raised = ("Traceback (most recent call last):", '  File "/app/train.py", line 9, in <module>', "    opt = make()", "ValueError: no such optimiser")  # fmt: skip
    log.write_text("".join(f"{line}\n" for line in (*raised, *listed())), encoding="utf-8")
    verdict = check([str(log)])
    assert (verdict.outcome, verdict.findings) == (Outcome.UNPROVEN, ())


def test_tracing_disabled_as_a_whole(read: Read) -> None:
    off = "skipping: forward (reason: Dynamo tracing is disabled, file: /app/moe/decoder.py)"
    (report,) = read(*record(off)).reports
    assert (report.id, report.kind, report.scope) == ("torch/compiler-off", Kind.EAGER_FRAME, Scope.PROGRAM)


def test_a_resumed_frame_hints_at_a_break(read: Read) -> None:
    (report,) = read(
        *record(
            "Step 1: torchdynamo start tracing torch_dynamo_resume_in_gate_attn_at_37 /app/tv/breaks.py:37",
            level="I",
        )
    ).reports
    assert (report.kind, report.op, report.hint) == (Kind.GRAPH_BREAK, "gate_attn", True)
    assert report.location == Location("/app/tv/breaks.py", 37, "gate_attn")


@pytest.mark.parametrize(
    ("frame", "file"),
    [("inner_at_240", f"{SITE}/_dynamo/external_utils.py"), ("forward_at_50", "<eval_with_key>.7")],
)
def test_a_librarys_frame_that_goes_on_names_nothing_and_joins_what_broke(
    read: Read, tmp_path: Path, frame: str, file: str
) -> None:
    resumed = record(
        f"Step 1: torchdynamo start tracing torch_dynamo_resume_in_{frame} {file}:{frame.rpartition('_')[2]}",
        level="I",
        cid="1/0",
    )
    (report,) = read(*resumed).reports
    assert (report.op, report.scope, report.location, report.hint) == ("*", Scope.UNKNOWN, None, True)
    log = tmp_path / "compile.log"
    log.write_text("\n".join((*graph_break(*LONG, *STACK), *resumed, "")))
    assert [finding.event.op for finding in check([str(log)]).findings] == ["gate_attn"]


NODE = (
    "    While executing %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%t, %i))",
    "    Original traceback:",
    '      File "/app/serve/table.py", line 12, in lookup',
    "        return x * table[i].to(x.device)",
    "",
)
CALLER = (
    "User code traceback:",
    '  File "/app/serve/main.py", line 30, in <module>',
    '  File "/app/serve/main.py", line 6, in serve',
    "    y = f(x)",
)


@pytest.mark.parametrize(
    ("node", "function"),
    [
        (NODE, "lookup"),
        (("", "no node is told"), "serve"),
        ((NODE[1], '  File "/app/other.py", line 1, in f'), "serve"),
    ],
)
def test_a_graph_that_the_back_end_refused_is_named_by_its_own_function(
    read: Read, node: tuple[str, ...], function: str
) -> None:
    broke, frame = read(
        *graph_break(
            "Graph break in user code at /app/serve/table.py:11",
            "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:",
            "",
            "Backend compiler exception",
            "  Explanation: Backend compiler `inductor` failed with aten._local_scalar_dense.default",
            "",
            *node,
            *CALLER,
        )
    ).reports
    assert (broke.op, broke.location) == (function, Location("/app/serve/table.py", 11, function))
    assert broke.stack[-1] == "serve"
    assert (frame.op, frame.kind, frame.hint) == (function, Kind.EAGER_FRAME, True)


ON_CALL = (
    "Graph break in user code at /app/moe/breaks.py:37",
    "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):",
    "",
)
WRAPPED = "with `torch.compiler.disable` (reason: None)"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("L['self']._modules['router']", ("router",)),
        ("L['self']._modules['layers']._modules['3']._modules['router']", ("router", "layers.3.router")),
        ("L['self'].layers[0].router", ("router", "layers.0.router")),
        ("L['router']", ("router",)),
    ],
)
def test_a_disabled_module_is_named_by_where_it_stands(
    read: Read, source: str, names: tuple[str, ...]
) -> None:
    (report,) = read(
        *graph_break(
            *ON_CALL,
            "Unsupported function call (delayed)",
            f"  Explanation: Dynamo determined that a graph break should occur when calling `{source}`. Reason: Optimized "
            f"`nn.Module` is wrapped {WRAPPED}",
            *STACK,
        )
    ).reports
    assert (report.op, report.names, report.scope) == ("router", names, Scope.SITE)
    assert report.stack[0] == "gate_attn"


@pytest.mark.parametrize(
    "said",
    [
        (
            "Skip inlining `torch.compiler.disable()`d function",
            f"  Explanation: Skip inlining function <function Module._wrapped_call_impl at 0x7f1d4a4fd580> since it was wrapped {WRAPPED}",
        ),
        (  # 2.7
            "Unsupported function call",
            "  Explanation: Dynamo does not know how to trace the function `DelayGraphBreakVariable()`",
        ),
    ],
)
def test_a_disabled_module_that_is_not_named_may_be_any(
    read: Read, tmp_path: Path, said: tuple[str, ...]
) -> None:
    lines = graph_break(*ON_CALL, *said, *STACK)
    (report,) = read(*lines).reports
    assert (report.op, report.names, report.scope) == ("gate_attn", ("gate_attn",), Scope.REGION)
    log, policy = tmp_path / "compile.log", tmp_path / "policy.yaml"
    log.write_text("\n".join((*lines, "")))
    policy.write_text("version: 1\nname: p\nunlisted: warn\nhot: [{op: router, why: each token}]\n")
    assert check([str(log)], policy).exit_code == 1


MODULES = f"{SITE}/nn/modules"
PASSED_OVER = [
    *record(f"skipping: _call_impl (reason: in skipfiles, file: {MODULES}/module.py)", cid=""),
    *record(f"skipping: forward (reason: in skipfiles, file: {MODULES}/container.py)", cid=""),
    *record(f"skipping: forward (reason: in skipfiles, file: {MODULES}/linear.py)", cid=""),
    *record(f"skipping: forward (reason: frame is in the Dynamo skipfiles list, file: {MODULES}/linear.py)", cid=""),
]  # fmt: skip


def test_a_library_module_that_is_compiled_by_itself_runs_in_eager(read: Read) -> None:
    said = read(*PASSED_OVER, *traced(), *listed("forward /app/moe/decoder.py:148"))
    (report,) = said.reports
    assert (report.kind, report.scope) == (Kind.EAGER_FRAME, Scope.REGION)
    assert report.op == "torch.nn.modules.linear.forward"
    assert report.location == Location(f"{MODULES}/linear.py", None, "forward")
    assert report.position == 3


def test_a_library_module_that_another_module_may_call_proves_no_frame(read: Read) -> None:
    called = record(f"skipping: _wrapped_call_impl (reason: in skipfiles, file: {MODULES}/module.py)", cid="")
    lines = (
        *traced(),
        *record("put_code_state: no cache key, skipping", level="I"),
        *listed("forward /app/moe/decoder.py:148"),
    )

    def proven(*first: str) -> Any:
        said = read(*first, *lines)
        assert said.reports == []
        (by,) = said.evidence.processes.values()
        return READERS["torch.compile"].prove(by["torch.compile"])[Kind.EAGER_FRAME]

    assert proven(*called, *PASSED_OVER[:2]).state is State.PROVEN  # a container alone computes nothing
    perhaps = proven(*called, *PASSED_OVER)  # as in the first call under the stance eager_then_compile
    assert perhaps.state is State.UNPROVEN
    assert "(linear)" in perhaps.why


@pytest.mark.parametrize(
    "told",
    [
        graph_break(*LONG, *STACK),
        record("WON'T CONVERT forward /app/moe/decoder.py line 148 ", level="W"),
        record("torch._dynamo hit config.recompile_limit (8)", level="W"),
    ],
)
def test_a_library_module_behind_what_is_told_is_no_fallback_of_its_own(read: Read, told: list[str]) -> None:
    said = read(*PASSED_OVER, *traced(), *told, *listed("forward /app/moe/decoder.py:148"))
    assert not [one for one in said.reports if one.op.startswith("torch.nn")]


TRAPS = [
    *record("skipping: deepcopy (reason: frame is in the Dynamo skipfiles list, file: /x/copy.py)"),
    *record("empty checkpoint - cannot resume from graph break"),
    *record("Restarting analysis due to _dynamo/symbolic_convert.py:149 in fail_and_restart_analysis"),
    *record(
        "COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack=[], graph_break=False)"
    ),
    *record("Graph break: from user code at:", level="W"),
    *record("TRACE LOAD_CONST 'Graph break in user code at /app/a.py:3' []", artifact="trace_bytecode"),
    *record("# Graph break in user code at /app/a.py:3", artifact="graph_code"),
    *record("  %s = 'torch._dynamo hit config.recompile_limit (8)'", artifact="trace_source"),
    "Graph break in user code at /app/a.py:3",
    "INFO: the model said: torch._dynamo hit config.recompile_limit (8)",
    "user: why does WON'T CONVERT forward /app/a.py line 3 appear?",
    "    raise torch._dynamo.exc.Unsupported('x')",
    "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'",
    "Exception No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: 262144 Hardware limit:232448",
]


@pytest.mark.parametrize("line", TRAPS)
def test_a_line_that_looks_like_a_fallback_and_is_none(read: Read, line: str) -> None:
    assert read(line).reports == []


def test_an_item_in_a_librarys_code_is_told_once(tmp_path: Path) -> None:
    """The warning has the library's frames alone, the record of the break the user's as well."""
    library = f"{SITE}/optim/lbfgs.py"
    warning = record(
        "Graph break from `Tensor.item()`, consider setting:",
        "    torch._dynamo.config.capture_scalar_outputs = True",
        "Graph break: from user code at:",
        f'  File "{library}", line 365, in torch_dynamo_resume_in_step_at_364',
        "    loss = float(orig_loss)",
        level="W",
    )
    broke = graph_break(
        f"Graph break in user code at {library}:365",
        "Graph Break Reason: Unsupported Tensor.item() call with capture_scalar_outputs=False",
        "User code traceback:",
        '  File "/app/train.py", line 13, in update',
        "    opt.step(closure)",
        f'  File "{library}", line 365, in step',
        "    loss = float(orig_loss)",
    )
    log = tmp_path / "compile.log"
    for lines, op in ((warning, "step"), ([*warning, *broke], "update")):
        log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (finding,) = check([str(log)]).findings
        assert (finding.event.kind, finding.event.op) == (Kind.GRAPH_BREAK, op)


AGAIN = "Graph break (user stack suppressed due to duplicate graph break) in user code at /usr/lib/python3.12/contextlib.py:105"


def test_a_break_of_a_library_that_comes_again_is_the_one_that_was_told(tmp_path: Path, read: Read) -> None:
    """DistributedDataParallel breaks in `contextlib`: at the user's line first, then in that function's own frame."""
    reason = "Graph Break Reason: Attempted to call function marked as skipped"
    first = graph_break("Graph break in user code at /usr/lib/python3.12/contextlib.py:105", reason, *STACK)
    log = tmp_path / "compile.log"
    log.write_text("\n".join([*first, *graph_break(AGAIN, reason, "", cid="2/0")]) + "\n", encoding="utf-8")
    (finding,) = check([log]).findings
    assert (finding.event.op, finding.event.count) == ("gate_attn", 1)
    (alone,) = read(*graph_break(AGAIN, reason, "")).reports  # the first one is not in the log
    assert (alone.kind, alone.op, alone.hint) == (Kind.GRAPH_BREAK, "*", True)


REST = (
    "Graph break in user code at /app/moe/breaks.py:37",
    "Graph Break Reason: Encountered graph break that we cannot resume from. Compiling up to the previous resumable state, then skipping the rest of the function. Graph break encountered:",
    "",
    "Attempted to call function marked as skipped",
    "  Developer debug context: module: time, qualname: perf_counter, skip reason: <missing reason>",
    *STACK,
)
BEGUN = record("Step 1: torchdynamo start tracing forward /app/moe/decoder.py:148", level="I")


def left(said: Any) -> list[tuple[str, int | None]]:
    """The functions that are left to eager, by the records and by the whole log."""
    return [(r.op, r.location.line) for r in said.reports if r.kind is Kind.EAGER_FRAME]


def test_the_rest_is_lost_of_the_frame_that_dynamo_began_with(read: Read) -> None:
    """`with timed():` in forward, whose generator calls a clock: a profile shows the operators behind it run in eager."""
    assert left(read(*BEGUN, *graph_break(*REST))) == [("gate_attn", 37), ("forward", 148)]
    own = record("Step 1: torchdynamo start tracing gate_attn /app/moe/breaks.py:30", level="I")
    assert left(read(*own, *graph_break(*REST))) == [("gate_attn", 37)]
    assert left(read(*graph_break(*REST))) == [("gate_attn", 37)]


def test_a_structured_trace_tells_the_frame_whose_rest_is_lost(read: Read) -> None:
    ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    metrics = {"compile_id": "0/0", "co_name": "forward", "co_filename": "/app/moe/decoder.py", "co_firstlineno": 148, "graph_op_count": 2, "guard_count": 3}  # fmt: skip
    told = [
        *record(json.dumps({"artifact": {"name": "dynamo_graph_break_reason"}, **ids}), cid=""),
        *(f"\t{line}" for line in REST),
        *record(json.dumps({"compilation_metrics": metrics, **ids}), cid=""),
    ]
    assert left(read(*told)) == [("gate_attn", 37), ("forward", 148)]


def test_a_cold_entry_for_the_helper_that_broke_does_not_excuse_its_caller(tmp_path: Path) -> None:
    log, policy = tmp_path / "compile.log", tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nname: p\ncold:\n  - {function: gate_attn, reason: r, owner: o, expires: 2099-01-01}\n"
    )
    log.write_text("\n".join([*BEGUN, *graph_break(*REST)]) + "\n", encoding="utf-8")
    findings = check([log], policy=policy).findings
    assert [f.event.op for f in findings if f.decision is Decision.BLOCKED] == ["forward"]


def test_a_warning_of_a_builtin_adds_nothing_to_the_breaks_that_name_it(tmp_path: Path) -> None:
    """`time.time()` at two lines of a function: two breaks, and the one warning that the process gives."""
    log = tmp_path / "compile.log"
    warning = f"{SITE}/_dynamo/variables/functions.py:2082: UserWarning: Dynamo does not know how to trace the builtin `time.time.` This function is either a Python builtin"
    breaks = [
        line
        for at in (23, 25)
        for line in graph_break(
            f"Graph break in user code at /app/serve.py:{at}",
            "Graph Break Reason: Attempted to call function marked as skipped",
            "  Explanation: Dynamo does not know how to trace the builtin `time.time.` This function is either a Python builtin",
            "  Developer debug context: module: time, qualname: time, skip reason: <missing reason>",
            "User code traceback:",
            f'  File "/app/serve.py", line {at}, in forward',
            "    started = time.time()",
        )
    ]
    log.write_text("\n".join([warning, *breaks]) + "\n", encoding="utf-8")
    events = [finding.event for finding in check([log]).findings]
    assert [(e.op, e.location and e.location.line, e.count) for e in events] == [
        ("forward", 23, 1),
        ("forward", 25, 1),
    ]
    log.write_text(f"{warning}\n", encoding="utf-8")
    (finding,) = check([log]).findings
    assert (finding.event.op, finding.event.count_is_lower_bound) == ("time.time", True)


JIT = "/opt/venv/lib/python3.11/site-packages/numba/core/dispatcher.py"


def test_frames_of_a_kernel_compiler_are_told_by_the_code_that_calls_it(read: Read) -> None:
    """Numba compiles a function that a frame in eager calls: Dynamo looks at some hundred frames of Numba's, none of
    which computes anything."""
    why = (
        "due to: ",
        "Traceback (most recent call last):",
        "torch._dynamo.exc.Unsupported: Attempt to trace generator",
    )
    assert read(*record(f"WON'T CONVERT <genexpr> {JIT} line 216 ", *why, level="I")).reports == []
    (own,) = read(*record("WON'T CONVERT rows /app/data.py line 16 ", *why, level="I")).reports
    assert (own.kind, own.op) == (Kind.EAGER_FRAME, "rows")
    (failed,) = read(*record(f"WON'T CONVERT <lambda> {JIT} line 216 ", *why, level="W")).reports
    assert failed.kind is Kind.COMPILE_ERROR
    broke = (
        f"Graph break in user code at {JIT}:350",
        "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:",
        "",
        "Attempted to call function marked as skipped",
        f"  Developer debug context: frame skipped: _compile_for_args ({JIT} line 350)",
        "User code traceback:",
        '  File "/app/serve.py", line 26, in forward',
        "    k = total(x)",
        f'  File "{JIT}", line 350, in _compile_for_args',
        "    return self.compile(args)",
    )
    assert [(r.kind, r.op, r.location.line) for r in read(*graph_break(*broke)).reports] == [
        (Kind.GRAPH_BREAK, "forward", 26)
    ]
