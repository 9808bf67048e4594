r"""migraphx: AMD's MIGraphX, and the operators that it leaves to the host.

    @11 = hip::copy_from_gpu(@10) -> float_type, {1, 1, 300}, {300, 300, 1}
    @12 = hip::sync_stream(@11) -> float_type, {1, 1, 300}, {300, 300, 1}
    @13 = nonmaxsuppression[center_point_box=0](@12) -> int64_type, {300, 3}, {3, 1}
    @14 = hip::copy_to_gpu(@13,@9) -> int64_type, {300, 3}, {3, 1}

**What falls back.** An operator without a GPU implementation is lowered to a copy to the host, the reference
implementation there, and a copy back: `nonmaxsuppression`, `lrn`, `convolution_backwards` (builds without
MIOpen), custom operators for the CPU. `if`, `loop` and slices at run time move only their index.

**At which setting it speaks.** No message exists: the compiled program shows it. `migraphx-driver compile
--gpu` prints the program after `Compilation time:`, `MIGRAPHX_TRACE_COMPILE=1` after each pass,
`migraphx-driver perf` with a time for each operator. A host operator is what reads the result of a
`hip::sync_stream` and is no `gpu::` or `hip::` instruction. The kernel messages are WARN, the default.

**When it is silent.** At every level, about host operators. In the Python API nothing is printed at all.
Configurations that failed while tuning show with `MIGRAPHX_TRACE_BENCHMARKING=1` only.

**What proves the end.** A program compiled for the GPU that is printed whole after `Compilation time:`, and
the driver's own `Complete(` after it. A copy from the GPU alone is no fallback: outputs are copied too.

Wording seen in the source of 2.13 to 2.16 and in public threads; the program's form since 1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from re import Match

from fallback_gate.compilers.amd import migraphx_kernels, migraphx_models
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Line, Record

NAME = migraphx_kernels.NAME
WAIT = "hip::sync_stream"  # its result is on the host
LONGEST = 50_000  # lines of one printed program
MOST_WAITED = 200  # values of one printed program that were copied to the host
FARTHEST = 400  # lines from a value that was copied to the host to what reads it
NEAREST = 40  # rows of a summary on either side
MOST_BETWEEN = 8  # other such values between the two

_RUN = r"^(?:Run instruction: )?"
_INSTRUCTION = Pattern(_RUN + r"(?P<name>[\w.#:@-]{1,200}) = (?P<op>[@\w:.]{1,200})")
_SHAPE = Pattern(r"\) -> (?P<shape>[^:#]{1,200})")
_DRIVER = r"\[INFO\] \[[\w./-]{1,80}:\d{1,6}\] "
_ROW = r"[\d.e+-]{1,20}ms / \d{1,9} = [\d.e+-]{1,20}ms, \d{1,4}%"
_DEVICE_ROW = Pattern(rf"^{BEFORE}(?:gpu|hip)::[\w:.]{{1,200}}: " + _ROW + BEHIND)
_ANY_ROW = Pattern(rf"^{BEFORE}[@\w:.]{{1,200}}: " + _ROW + BEHIND)
_NUMBERED = Pattern(_RUN + r"(?:[\w.-]{1,100}:)?@(?P<number>\d{1,9}) = ")
_METADATA = ("if", "slice", "scan_slice", "select_module")  # read an index or a condition on the host
_RETURN = Pattern(r"^(?:[\w.-]{1,100}:)?@\d{1,9} = @return\b")


def on_host(op: str) -> bool:
    """Whether an operator that reads a value from the host computes there."""
    return op.startswith("ref::") or not ("::" in op or op.startswith("@") or op in _METADATA)


def reads(text: str, name: str) -> bool:
    """Whether the instruction has the value `name` among its arguments."""
    return any(form in text for form in (f"({name},", f"({name})", f",{name},", f",{name})"))


def readers(name: str, lines: Iterable[Line]) -> Iterator[tuple[str, Line]]:
    """The instructions of the module that read the value `name`: operator and line."""
    others = 0
    for line in lines:
        found = _INSTRUCTION.match(line.text)
        if not line.text.strip() or line.text.startswith(("module: ", "Pass: ")):
            return
        if found:
            others += found["op"] == WAIT
            if found["name"] == name or others > MOST_BETWEEN:
                return
        if found and reads(line.text, name):
            yield found["op"], line


def host_operators(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What reads a value that was copied to the host and waited for."""
    report = by_groups(rule, record, match)
    for said, line in readers(match["value"], record.following(FARTHEST)):
        if on_host(said):
            op = said.removeprefix("ref::")
            shape = _SHAPE.search(line.text)
            yield report._replace(
                op=op,
                names=tuple(dict.fromkeys((op, said))),
                position=record.position_at(line.at),
                text=line.text,
                site=f"{op} {shape['shape'].strip()}" if shape else op,
                reason="it runs as the reference implementation on the host, between a copy from the GPU and back",
            )


_PROGRAM = """@12 = hip::sync_stream(@11,@10) -> float_type, {1, 1, 300}, {300, 300, 1}
@13 = nonmaxsuppression[center_point_box=0,use_dyn_output=0](@12,@11) -> int64_type, {300, 3}, {3, 1}
@14 = hip::copy_to_gpu(@13,@9) -> int64_type, {300, 3}, {3, 1}"""
HOST = Rule(
    id="migraphx/host-operator",
    compiler=NAME,
    anchor=("hip::sync_stream",),
    pattern=_RUN + r"(?P<value>[\w.#:@-]{1,200}) = hip::sync_stream\(",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="MIGraphX has no GPU implementation of the operator: its reference implementation runs on the host.",
    help="Take the operator out of the model (do it before or after), or build MIGraphX with the library that has it.",
    seen_in="2.13 to 2.16 (source), the compiled program",
    matches=(_PROGRAM, _PROGRAM.replace("@1", "main:@1").replace("= non", "= ref::non")),
    ignores=("@12 = hip::sync_stream(@11) -> float_type, {1}, {0}",),
    read=host_operators,
)


def timed_on_host(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A row of the summary, where other rows of it were computed on the GPU."""
    for lines in (record.preceding(NEAREST), record.following(NEAREST)):
        for line in lines:
            if _DEVICE_ROW.match(line.text):
                yield by_groups(rule, record, match)
                return
            if not _ANY_ROW.match(line.text):
                break


_HOST_ROW = "nonmaxsuppression: 69473.1ms / 1 = 69473.1ms, 74%"
SUMMARY = Rule(
    id="migraphx/host-time",
    compiler=NAME,
    anchor=("nonmaxsuppression: ", "convolution_backwards: ", "lrn: "),
    pattern=rf"^{BEFORE}(?:ref::)?(?P<op>nonmaxsuppression|convolution_backwards|lrn): (?P<reason>"
    + _ROW
    + ")"
    + BEHIND,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=HOST.meaning,
    help=HOST.help,
    seen_in="1.0 to 2.16, migraphx-driver perf",
    matches=(f"{_HOST_ROW}\ngpu::topk: 24443.2ms / 5 = 4888.64ms, 26%",),
    ignores=(_HOST_ROW, "nonmaxsuppression: not used"),
    read=timed_on_host,
)


def printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the compiled program stands after it: `whole`, `cut`, or `none` for the GPU.

    An instruction's number tells how many stand before it in its module.
    """
    device = returned = ended = started = far = False
    before, lost = 0, False
    waited: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(record.following(LONGEST)):
        if line.text.startswith("module: "):
            started, returned = True, returned or not started
            if not returned:
                break
            returned, before = False, 0
            continue
        if numbered := _NUMBERED.match(line.text):
            lost = lost or int(numbered["number"]) != before
        before += _INSTRUCTION.match(line.text) is not None
        if started and _RETURN.match(line.text):
            returned = True
        elif started and (found := _INSTRUCTION.match(line.text)):
            device = device or found["op"].startswith(("gpu::", "hip::"))
            if found["op"] == WAIT:
                waited[found["name"]] = number, len(waited)
            elif on_host(found["op"]) and len(waited) < MOST_WAITED:
                far = far or any(
                    (number - at > FARTHEST or len(waited) - nth > MOST_BETWEEN) and reads(line.text, name)
                    for name, (at, nth) in waited.items()
                )
        elif line.text.strip():
            ended = started
            break
    far = far or len(waited) >= MOST_WAITED
    whole = device and returned and ended and not far and not lost
    state = "whole" if whole else "cut" if started else "none"
    yield Sighting(marker.id, record.position, ("none" if started and ended and not device else state,))


COMPILED = Marker(
    id="migraphx/compiled",
    compiler=NAME,
    anchor=("Compilation time: ",),
    pattern=_DRIVER + r"Compilation time: [\d.]{1,20}ms",
    shows="A program was compiled; and whether it is printed whole.",
    seen_in="2.14 to 2.16, INFO of migraphx-driver",
    matches=("2026-01-01 00:00:00.000000 [INFO] [main.cpp:767] Compilation time: 812.3ms",),
    ignores=("Compilation time: 812.3ms",),
    read=printed,
)
COMPLETE = Marker(
    id="migraphx/complete",
    compiler=NAME,
    anchor=("] Complete(",),
    pattern=_DRIVER + r"\[ MIGraphX Version: \S{1,60} \] Complete\(",
    shows="The driver ran to its end.",
    seen_in="2.14 to 2.16, INFO of migraphx-driver",
    matches=(
        "2026-01-01 00:00:02.000000 [INFO] [main.cpp:1159] [ MIGraphX Version: 2.16.0.f729a52 ] Complete(2.1s): migraphx-driver compile m.onnx --gpu",
    ),
    ignores=("[job] Complete(3)",),
)
RULES = (HOST, SUMMARY, *migraphx_kernels.RULES, *migraphx_models.RULES)
SETTING = "migraphx-driver compile MODEL --gpu, which prints the compiled program"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The compiled program stands in the log whole, and the driver came to its end after it."""
    said = {state for (state,) in evidence.of(COMPILED.id)}
    compiled = evidence.first(COMPILED.id)
    last = evidence.last.get(COMPLETE.id, -1)
    begun = evidence.last.get(COMPILED.id, 0)
    if compiled is None or "none" in said:
        host = Proof(State.UNPROVEN, "no program compiled for the GPU is printed", None, SETTING)
    elif "cut" in said:
        host = Proof(State.UNPROVEN, "the printed program is cut", None, SETTING)
    elif last < begun:
        host = Proof(State.UNPROVEN, "the driver did not come to its end in this log", None, SETTING)
    else:
        why = "the compiled program is printed whole: an operator on the host would stand in it"
        host = Proof(State.PROVEN, why, compiled)
    why = "these warnings come when a kernel runs, and nothing shows that all of them ran"
    return {
        Kind.DEVICE_FALLBACK: host,
        Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why),
        Kind.UNTUNED_CONFIG: Proof(
            State.UNOBSERVABLE,
            "a configuration that fails while tuning is silent by default",
            None,
            "MIGRAPHX_TRACE_BENCHMARKING=1",
        ),
    }


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(COMPILED, COMPLETE),
    required=frozenset({Kind.DEVICE_FALLBACK}),
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes: an operator on the host has no message, only the compiled program shows it",
    seen_in="2.13 to 2.16 (source and public threads)",
)
