"""Room 3: a backward graph whose compile failed, a frame that was refused a recompile, one that was traced anew.

The lines are those of runs with PyTorch 2.11 on a GPU; what truly happened is from its counters there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers.torch.proof import REQUIRED, prove
from fallback_gate.model import Kind, State
from tests.compilers.lines import code, listed, record, traced

FRAME = "loss_of /app/train.py:17"
FORWARD = "primals_1, primals_2, primals_3 = args"
BACKWARD = "primals_2, mm, relu, tangents_1 = args"
ENDED = record("put_code_state: no cache key, skipping", level="I")
ASSERTED = "assert_size_stride(tangents_1, (8, 64), (64, 1))"
LONG = ", ".join(f"primals_{n}" for n in range(1, 2000))


def times(*rows: str) -> list[str]:
    """The table of times at exit, as it is where `tabulate` is installed."""
    head = ("TorchDynamo compilation metrics:", "Function                 Runtimes (s)")
    return record(*head, *(f"{row:48}  0.0698" for row in rows), level="I", cid="")


BACKWARD_TIMED = times("_compile.compile_inner", "backward._backward_impl", "compile_fx.<locals>.bw_compiler")
FORWARD_TIMED = times("_compile.compile_inner", "compile_fx.<locals>.fw_compiler_base")


States = Callable[[list[str]], dict[Kind, State]]


@pytest.fixture
def states(read: Callable[..., Any]) -> States:
    """What is proven of the only process of a log."""

    def of(lines: list[str]) -> dict[Kind, State]:
        (process,) = read(*lines).evidence.processes.values()
        return {kind: proof.state for kind, proof in prove(process["torch.compile"]).items()}

    return of


@pytest.mark.parametrize(
    ("wrappers", "at_exit", "state"),
    [
        ((FORWARD, BACKWARD), BACKWARD_TIMED, State.PROVEN),
        ((FORWARD,), BACKWARD_TIMED, State.UNPROVEN),
        ((FORWARD, LONG + ", tangents_1 = args", ASSERTED), BACKWARD_TIMED, State.PROVEN),
        ((FORWARD,), FORWARD_TIMED, State.PROVEN),  # no backward was asked for
        (("arg0_1, arg1_1 = args",), BACKWARD_TIMED, State.PROVEN),  # an inference graph has none
    ],
)
def test_backward_code_is_looked_for_where_a_backward_was_compiled(
    states: States, wrappers: tuple[str, ...], at_exit: list[str], state: State
) -> None:
    written = [line for wrapper in wrappers for line in code(wrapper)]
    found = states([*traced(FRAME), *written, *ENDED, *listed(FRAME), *at_exit])
    assert found[Kind.COMPILE_ERROR] is found[Kind.OP_FALLBACK] is state
    assert found[Kind.GRAPH_BREAK] is State.PROVEN


@pytest.mark.parametrize(("ended", "state"), [(True, State.PROVEN), (False, State.UNPROVEN)])
def test_a_backward_lowering_that_does_not_end_is_no_proof(states: States, ended: bool, state: State) -> None:
    steps = ["Step 3: torchinductor compiling BACKWARDS graph 0"]
    steps += ["Step 3: torchinductor done compiling BACKWARDS graph 0"] * ended
    lowering = [line for step in steps for line in record(step, level="I")]
    found = states([*traced(FRAME), *code(FORWARD), *ENDED, *lowering, *listed(FRAME), *BACKWARD_TIMED])
    assert found[Kind.COMPILE_ERROR] is state


def test_a_recompile_that_was_refused_is_no_proof(states: States) -> None:
    """torch._dynamo.config.error_on_recompile raises before the frame is traced again."""
    recompiled = record(
        "Recompiling function loss_of in /app/train.py:17",
        "    triggered by the following guard failure(s):",
        "    - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual 16",
        artifact="recompiles",
        cid="0/1",
    )
    refused = states([*traced(FRAME), *code(), *ENDED, *recompiled, *listed(FRAME)])
    assert refused[Kind.COMPILE_ERROR] is refused[Kind.EAGER_FRAME] is State.UNPROVEN
    assert refused[Kind.OP_FALLBACK] is State.PROVEN
    again = [*traced(FRAME, cid="0/1"), *code(cid="0/1"), ENDED[0].replace("[0/0]", "[0/1]")]
    followed = states([*traced(FRAME), *code(), *ENDED, *recompiled, *again, *listed(FRAME)])
    assert {followed[kind] for kind in REQUIRED} == {State.PROVEN}


def test_a_frame_that_is_traced_anew_owes_nothing_for_its_first_attempt(states: States) -> None:
    """A float argument that turns out to be a constant: the back end got the graph, and gave it back unfinished."""
    first = [line for line in traced(FRAME) if "done compiler" not in line]
    restarted = record(
        "Restarting analysis due to fx/passes/_tensorify_python_scalars.py:398 in tensorify_python_scalars",
        level="I",
    )
    second = [*traced(FRAME, cid="0/0_1"), *code(cid="0/0_1"), ENDED[0].replace("[0/0]", "[0/0_1]")]
    found = states([*first, *restarted, *second, *listed(FRAME)])
    assert {found[kind] for kind in (Kind.GRAPH_BREAK, Kind.COMPILE_ERROR, Kind.OP_FALLBACK)} == {
        State.PROVEN
    }
    open_still = states([*first, *listed(FRAME)])
    assert open_still[Kind.OP_FALLBACK] is State.UNPROVEN


def test_a_graph_from_the_cache_that_this_run_filled_was_seen_as_it_was_lowered(states: States) -> None:
    """Two functions that are alike at DEBUG: the second takes the graph of the first."""
    lowered = record("Finished codegen for all nodes. The list of kernel names available: OrderedSet([])")
    debug = record("COMPILING GRAPH due to GraphCompileReason(reason='return_value', graph_break=False)")
    first = [
        *traced(FRAME),
        *debug,
        *record("fx graph cache miss for key fbcrg3", level="I"),
        *lowered,
        *ENDED,
    ]
    other = "side /app/train.py:18"
    second = [*traced(other, cid="1/0"), ENDED[0].replace("[0/0]", "[1/0]")]
    hit = record("fx graph cache hit for key fbcrg3", level="I", cid="1/0")
    strange = record("fx graph cache hit for key fother", level="I", cid="1/0")
    for told, state in ((hit, State.PROVEN), (strange, State.UNPROVEN), ([*hit, *strange], State.UNPROVEN)):
        assert states([*first, *second, *told, *listed(FRAME, other)])[Kind.OP_FALLBACK] is state
    unseen = [line for line in first if line not in lowered]
    assert states([*unseen, *second, *hit, *listed(FRAME, other)])[Kind.OP_FALLBACK] is State.UNPROVEN
