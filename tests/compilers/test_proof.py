"""Room 3: what a torch.compile log proves. Hand-made logs of a few lines, each with one thing missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.compilers.torch.proof import REQUIRED, prove
from fallback_gate.model import Kind, Outcome, Proof, State
from tests.compilers.lines import clean, code, graph_break, listed, record, traced

Read = Callable[..., Any]
FORWARD = "forward /app/moe/decoder.py:148"
PROVEN, UNOBSERVABLE, UNPROVEN = State.PROVEN, State.UNOBSERVABLE, State.UNPROVEN
DATA = Path(__file__).parent.parent / "data"


@pytest.fixture
def proof(read: Read) -> Callable[[list[str]], Mapping[Kind, Proof]]:
    """The proof of the only process of a log."""

    def of(lines: list[str]) -> Mapping[Kind, Proof]:
        (process,) = read(*lines).evidence.processes.values()
        return prove(process["torch.compile"])

    return of


def info(*said: str, **where: Any) -> list[str]:
    """Records of Dynamo's INFO level, one line each."""
    return [line for text in said for line in record(text, level="I", **where)]


STARTED = info(f"Step 1: torchdynamo start tracing {FORWARD}")
DONE = info("Step 1: torchdynamo done tracing forward (RETURN_VALUE)")
CALLED = info("Step 2: calling compiler function inductor")
RETURNED = info("Step 2: done compiler function inductor")
LISTED = listed(FORWARD)
DEBUG = record(
    "COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack=[], graph_break=False)"
)
LOWERED = record("Finished codegen for all nodes. The list of kernel names available: OrderedSet([])")
HIT = info("fx graph cache hit for key f6zi73")
BREAK = graph_break("Graph break in user code at /app/a.py:3", "Graph Break Reason: Data-dependent branching")
WHOLE = [*STARTED, *DONE, *CALLED, *code("cpp_fused_add_0(buf0)"), *RETURNED, *LISTED]

TABLE = {
    "all there": (WHOLE, dict.fromkeys(REQUIRED, PROVEN)),
    "metrics at the end, as before 2.7": (
        [*WHOLE[: -len(LISTED)], *info("TorchDynamo compilation metrics:", cid="")],
        dict.fromkeys(REQUIRED, PROVEN),
    ),
    "no end": (WHOLE[: -len(LISTED)], dict.fromkeys(REQUIRED - {Kind.GRAPH_BREAK}, UNPROVEN)),
    "no end, graph_breaks on": ([*BREAK, *WHOLE[: -len(LISTED)]], dict.fromkeys(REQUIRED, UNPROVEN)),
    "cut inside the list": (WHOLE[:-1], dict.fromkeys(REQUIRED, UNPROVEN)),
    "cut at the first frame of the list": (WHOLE[:-2], dict.fromkeys(REQUIRED, UNPROVEN)),
    "only the list": (LISTED, dict.fromkeys(REQUIRED, UNPROVEN)),
    "a frame of the list without its trace": (
        [*WHOLE[: -len(LISTED)], *listed(FORWARD, "decode /app/moe/decode.py:9")],
        dict.fromkeys(REQUIRED, UNPROVEN),
    ),
    "a back end that did not return": (
        [*STARTED, *DONE, *CALLED, *code(), *LISTED],
        dict.fromkeys(REQUIRED, UNPROVEN),
    ),
    "an empty list": (
        listed(),
        dict.fromkeys(REQUIRED, UNPROVEN),
    ),
    "a frame that starts after the end": ([*WHOLE, *STARTED], dict.fromkeys(REQUIRED, UNPROVEN)),
    "a second process that did not end": ([*STARTED, *WHOLE], dict.fromkeys(REQUIRED, UNPROVEN)),
    "a second process that ended": ([*WHOLE, *WHOLE], dict.fromkeys(REQUIRED, UNPROVEN)),
    "the second attempt of a frame": (
        [*STARTED, *info(f"Step 1: torchdynamo start tracing {FORWARD}", cid="0/0_1"), *WHOLE[1:]],
        dict.fromkeys(REQUIRED, PROVEN),
    ),
    "no code": (
        [*STARTED, *DONE, *CALLED, *RETURNED, *LISTED],
        {Kind.GRAPH_BREAK: PROVEN, Kind.EAGER_FRAME: PROVEN, Kind.OP_FALLBACK: UNOBSERVABLE},
    ),
    "code that does not end": (
        [*STARTED, *DONE, *CALLED, *code(ended=False), *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN, Kind.GRAPH_BREAK: PROVEN},
    ),
    "code of one graph of two": (
        [*WHOLE[: -len(LISTED)], *traced("norm /app/n.py:3", cid="1/0"), *listed(FORWARD, "norm /app/n.py:3")],
        {Kind.OP_FALLBACK: UNPROVEN, Kind.GRAPH_BREAK: PROVEN},
    ),
    "lowered at DEBUG": (
        [*STARTED, *DONE, *CALLED, *LOWERED, *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: PROVEN, Kind.CUDAGRAPH_SKIP: PROVEN},
    ),
    "lowered at DEBUG, but from the cache": (
        [*STARTED, *DONE, *CALLED, *HIT, *LOWERED, *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN},
    ),
    "from the cache": (
        [*STARTED, *DONE, *CALLED, *HIT, *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN, Kind.GRAPH_BREAK: PROVEN},
    ),
    "from the cache, code printed again": (
        [*STARTED, *DONE, *CALLED, *HIT, *code(), *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: PROVEN},
    ),
    "perf_hints shows a part": (
        [*STARTED, *DONE, *CALLED, *info("Skip comprehensive padding on CPU", artifact="perf_hints"), *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: UNOBSERVABLE},
    ),
    "a trace without its end, graph_breaks off": (
        [*STARTED, *CALLED, *code(), *RETURNED, *LISTED],
        {Kind.GRAPH_BREAK: UNOBSERVABLE, Kind.EAGER_FRAME: UNPROVEN, Kind.OP_FALLBACK: PROVEN},
    ),
    "a trace that goes on in another frame, graph_breaks off": (
        [
            *STARTED,
            *CALLED,
            *code(),
            *RETURNED,
            *traced("torch_dynamo_resume_in_forward_at_150 /app/moe/decoder.py:150", cid="1/0"),
            *code(cid="1/0"),
            *LISTED,
        ],
        {Kind.GRAPH_BREAK: UNOBSERVABLE, Kind.EAGER_FRAME: PROVEN, Kind.OP_FALLBACK: PROVEN},
    ),
    "a trace without its end, graph_breaks on": (
        [*STARTED, *BREAK, *CALLED, *code(), *RETURNED, *LISTED],
        {Kind.GRAPH_BREAK: PROVEN},
    ),
    "a trace without its end, at DEBUG": (
        [*STARTED, *DEBUG, *CALLED, *code(), *RETURNED, *LISTED],
        {Kind.GRAPH_BREAK: PROVEN},
    ),
    "an eager back end": (
        [*traced(backend="aot_eager"), *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN, Kind.GRAPH_BREAK: PROVEN},
    ),
    "control flow in the program's eager code, which PyTorch gives to the back end eager": (
        [
            *traced("_cond_op_wrapper /opt/torch/_higher_order_ops/cond.py:217", backend="eager", cid="1/0"),
            *WHOLE[: -len(LISTED)],
            *listed(FORWARD, "_cond_op_wrapper /opt/torch/_higher_order_ops/cond.py:217"),
        ],
        dict.fromkeys(REQUIRED, PROVEN),
    ),
    "nothing but such control flow": (
        [
            *traced("_cond_op_wrapper /opt/torch/_higher_order_ops/cond.py:217", backend="eager"),
            *listed("_cond_op_wrapper /opt/torch/_higher_order_ops/cond.py:217"),
        ],
        {Kind.OP_FALLBACK: UNPROVEN},
    ),
    "a back end of somebody else": (
        [*traced(backend="acme"), *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN},
    ),
    "no graph at all": (
        [*STARTED, *DONE, *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN},
    ),
    "the default level": (
        record("torch._dynamo hit config.recompile_limit (8)", "   function: 'f' (/app/a.py:1)", level="W"),
        {Kind.GRAPH_BREAK: UNOBSERVABLE, Kind.OP_FALLBACK: UNOBSERVABLE, Kind.RECOMPILE_LIMIT: UNPROVEN},
    ),
    "graph_breaks alone": (BREAK, {Kind.GRAPH_BREAK: UNPROVEN, Kind.OP_FALLBACK: UNOBSERVABLE}),
    "output_code alone": (code(), {Kind.GRAPH_BREAK: UNOBSERVABLE, Kind.OP_FALLBACK: UNPROVEN}),
    "a wrapper in C++, ahead of time": (
        [*STARTED, *DONE, *CALLED, *code("#include <torch/csrc/inductor/aoti_runtime/interface.h>"), *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN},
    ),
    "a wrapper in C++ (TORCHINDUCTOR_CPP_WRAPPER=1)": (
        [*STARTED, *DONE, *CALLED, *code("cpp_wrapper_src = (", "r'''", "#include <torch/csrc/inductor/cpp_wrapper/cpu.h>"), *RETURNED, *LISTED],
        {Kind.OP_FALLBACK: UNPROVEN},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "states"), TABLE.values(), ids=TABLE)
def test_the_state_of_a_kind(
    lines: list[str], states: dict[Kind, State], proof: Callable[[list[str]], Mapping[Kind, Proof]]
) -> None:
    said = proof(lines)
    assert {kind: said[kind].state for kind in states} == states
    for one in said.values():
        assert one.why
        assert one.state is PROVEN or one.setting or "back end" in one.why or "C++" in one.why


def test_the_proof_says_where(proof: Callable[[list[str]], Mapping[Kind, Proof]]) -> None:
    assert proof(["noise", *WHOLE])[Kind.GRAPH_BREAK].line == 2
    assert "TORCH_LOGS" in (proof(BREAK)[Kind.OP_FALLBACK].setting or "")


def outcome(folder: Path, lines: list[str], policy: str | None = None) -> Outcome | None:
    """The verdict of a log of these lines."""
    path = folder / "compile.log"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return check([path], policy, cwd=folder, environ={"PATH": ""}).outcome


def test_a_small_clean_log_passes_and_no_shorter_one_does(tmp_path: Path) -> None:
    lines = (DATA / "clean.2.9.1.log").read_text(encoding="utf-8").splitlines()
    assert outcome(tmp_path, lines) is Outcome.PASS
    end = next(at for at, line in enumerate(lines) if line.endswith("] ]")) + 1
    assert 60 < end < len(lines)
    passed = {cut for cut in range(len(lines)) if outcome(tmp_path, lines[:cut]) is Outcome.PASS}
    assert passed == set(range(end, len(lines)))
    halves = {
        at
        for at in range(end)
        if outcome(tmp_path, [*lines[:at], lines[at][: len(lines[at]) // 2]]) is Outcome.PASS
    }
    assert halves == set()


@pytest.mark.parametrize(
    "missing",
    [
        "Step 1: torchdynamo start tracing forward",
        "Step 1: torchdynamo done tracing forward",
        "Step 2: calling compiler function inductor",
        "Step 2: done compiler function inductor",
        "Output code: ",
        "Output code written to:",
        "_dynamo/eval_frame.py:563] T",
        "  * forward ",
        "563] ]",
    ],
)
def test_a_clean_log_that_lacks_one_line(missing: str, tmp_path: Path) -> None:
    lines = (DATA / "clean.2.9.1.log").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if missing not in line and "compilation metrics" not in line]
    assert len(kept) < len(lines) - 1
    assert outcome(tmp_path, kept) in (Outcome.UNPROVEN, Outcome.BLOCKED)


@pytest.mark.parametrize("prefix", ["", "[rank0]:", "2026-11-29T12:00:00.0005305Z "])
def test_two_processes_of_which_one_lacks_proof(prefix: str, tmp_path: Path) -> None:
    one, other = clean(pid=1), clean(pid=2)
    both = [prefix + line for line in one + other]
    assert outcome(tmp_path, both) is Outcome.PASS
    assert outcome(tmp_path, [prefix + line for line in one + other[:-1]]) is Outcome.UNPROVEN
    assert outcome(tmp_path, [prefix + line for line in one + other[:3]]) is Outcome.UNPROVEN


def ranked(rank: int, lines: list[str]) -> list[str]:
    """The lines as torch.distributed prints them on a rank."""
    return [f"[rank{rank}]:{line}" for line in lines]


def test_a_rank_that_said_nothing_of_a_compiler(tmp_path: Path) -> None:
    ranks = [line for rank in range(4) for line in ranked(rank, clean(pid=100 + rank))]
    assert outcome(tmp_path, ranks) is Outcome.PASS
    without = [line for line in ranks if not line.startswith("[rank3]")]
    assert outcome(tmp_path, without) is Outcome.PASS
    assert outcome(tmp_path, [*without, "[rank3]: hello"]) is Outcome.UNPROVEN
    assert outcome(tmp_path, ["[rank3]: hello", *without]) is Outcome.UNPROVEN


def test_a_rank_that_says_hello_after_a_long_start(tmp_path: Path) -> None:
    start = ["Collecting torch (downloading a wheel, and another line of an installer)"] * 20_000
    ranks = [line for rank in range(2) for line in ranked(rank, clean(pid=100 + rank))]
    assert outcome(tmp_path, [*start, *ranks]) is Outcome.PASS
    assert outcome(tmp_path, [*start, *ranks, "[rank2]: hello"]) is Outcome.UNPROVEN


def test_the_list_at_exit_has_no_rank_and_belongs_to_its_process(tmp_path: Path) -> None:
    body = [ranked(rank, clean(pid=100 + rank)[: -len(LISTED)]) for rank in range(2)]
    exits = [listed(FORWARD, pid=100 + rank) for rank in range(2)]
    assert outcome(tmp_path, [*body[0], *body[1], *exits[0], *exits[1]]) is Outcome.PASS
    assert outcome(tmp_path, [*body[0], *body[1], *exits[0]]) is Outcome.UNPROVEN
    assert outcome(tmp_path, [*body[0], *body[1], *exits[0], *exits[0]]) is Outcome.UNPROVEN


def test_a_fallback_among_the_proof_blocks(tmp_path: Path) -> None:
    assert outcome(tmp_path, clean("buf1 = torch.ops.aten.topk.default(buf0, 2)")) is Outcome.BLOCKED


OLD = "[2026-11-30 01:18:36,471] [{}] torch.{}: [{}] {}"


def test_breaks_in_the_words_of_older_versions_never_pass(tmp_path: Path) -> None:
    """2.1 at +dynamo,output_code: the break is told in another form, the resumed frame by another name."""
    dynamo, lines = "_dynamo.symbolic_convert", []
    for cid, frame in (
        ("0/0", "gate_attn /app/tv/breaks.py:34"),
        ("1/0", "<resume in gate_attn> /app/tv/breaks.py:37"),
    ):
        lines += [
            OLD.format(cid, dynamo, "INFO", f"Step 1: torchdynamo start tracing {frame}"),
            OLD.format(cid, dynamo + ".__graph_breaks", "DEBUG", "Graph break: Tensor.item from user code at:"),
            OLD.format(cid, "_dynamo.output_graph", "DEBUG", "COMPILING GRAPH due to GraphCompileReason(reason='Tensor.item', user_stack=[], graph_break=True)"),
            OLD.format(cid, "_dynamo.output_graph", "INFO", "Step 2: calling compiler function inductor"),
            OLD.format(cid, "_inductor.graph.__output_code", "DEBUG", "Output code: "),
            OLD.format(cid, "_inductor.graph.__output_code", "DEBUG", "def call(args):"),
            OLD.format(cid, "_inductor.graph.__output_code", "INFO", "Output code written to: /tmp/x.py"),
            OLD.format(cid, "_dynamo.output_graph", "INFO", "Step 2: done compiler function inductor"),
        ]  # fmt: skip
    lines.append("[2026-11-30 01:18:40,471] torch._dynamo.utils: [INFO] TorchDynamo compilation metrics:")
    assert outcome(tmp_path, lines) in (Outcome.UNPROVEN, Outcome.BLOCKED)


def test_breaks_in_the_words_of_2_4_never_pass(tmp_path: Path) -> None:
    """2.4 at +dynamo,output_code: a break that is allowed must not hide one whose words are not read."""
    item = record("Graph break from `Tensor.item()`, consider setting:", "    x", level="W")
    frames = []
    for cid, frame in (("0/0", "norm /app/n.py:3"), ("1/0", "torch_dynamo_resume_in_norm_at_5 /app/n.py:5")):
        frames += info(f"Step 1: torchdynamo start tracing {frame}", cid=cid)
        frames += graph_break(
            "Graph break: from user code at:", '  File "/app/n.py", line 5, in norm', cid=cid
        )
        frames += record(
            "COMPILING GRAPH due to GraphCompileReason(reason='generic_jump', user_stack=[], graph_break=True)",
            cid=cid,
        )
        frames += info("Step 2: calling compiler function inductor", cid=cid)
        frames += code(cid=cid)
        frames += info("Step 2: done compiler function inductor", cid=cid)
    end = info("TorchDynamo compilation metrics:", cid="")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nhot: [{op: norm}]\ncold:\n"
        "  - {op: Tensor.item, reason: warm-up only, owner: me, expires: 9999-12-31}\n",
        encoding="utf-8",
    )
    assert outcome(tmp_path, [*item, *frames, *end], str(policy)) in (Outcome.UNPROVEN, Outcome.BLOCKED)
