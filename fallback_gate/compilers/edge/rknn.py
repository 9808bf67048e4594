r"""rknn: Rockchip's RKNN Toolkit 2 and runtime: operators on the CPU, and models that do not load.

    W RKNN: [13:52:53.504] Transpose will fallback to CPU, because input shape has exceeded the max limit, ...
    D RKNN: [09:38:25.031] 56   Resize   INT8   CPU   (1,16,64,128) ...

**What falls back.** An operator that the NPU lacks, or whose shape is beyond its limits, is computed on the CPU.

**At which setting it speaks.** A WARNING where a limit is passed, from 2.5 with `RKNN(verbose=True)` only. That and
`eval_perf` print the table of layers, whose column Target tells for each; the operators of input and output are
always on the CPU.

**When it is silent.** On operators that are on the CPU for other reasons, unless the table is printed.

**What proves the end.** A table of layers that is whole for each build that began (`rknn building ...`) and ended
(`rknn building done.`).

Wording seen in 2.5 (run) and in public logs of 1.3 to 2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

NAME = "rknn"
SEEN = "rknn-toolkit2 2.5 (run), 1.3 to 2.3 (public logs)"
SETTING = "RKNN(verbose=True)"
LONGEST = 20_000  # lines of one table
_OF_A_FAILURE = 100  # lines of one traceback

_PREFIX = Pattern(r"^\s*(?:[DIWE] RKNN: )?(?:\[[\d:.]{5,20}\] ?)?")
_ROW = Pattern(r"^\s*(?P<id>\d{1,6})\s+(?P<op>\w{1,80})\s+\S{1,40}\s+(?P<target>NPU|CPU|GPU)\s")
_ALWAYS = ("InputOperator", "OutputOperator")


def layers(record: Record) -> Iterator[tuple[Line, Match[str] | None]]:
    """The rows of the table; at its end the line that closes it, behind which there is no row, with no match."""
    rows, closing = 0, None
    for line in record.following(LONGEST):
        text = _PREFIX.sub("", line.text, count=1)
        row = _ROW.match(text + " ")
        if row:
            rows, closing = rows + 1, None
            yield line, row
        elif rows and text.startswith(("---", "Total")):
            closing = closing or line
        elif text.strip() and not text.startswith(("---", "ID ")):
            break
    if closing:
        yield closing, None


def on_cpu(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The layers whose target is the CPU."""
    report = by_groups(rule, record, match)
    for line, row in layers(record):
        if row and row["target"] != "NPU" and row["op"] not in _ALWAYS:
            last = line.text.split()[-1]
            layer = last if ":" in last else None
            yield report._replace(
                op=row["op"],
                names=(row["op"], *filter(None, (layer,))),
                layer=layer,
                site=layer,
                position=record.position_at(line.at),
                text=line.text,
                reason=f"target {row['target']} in the table of layers",
            )


TABLE = r"(?:^|\s)Network Layer Information Table\s*$"
TABLE_LINES = """D RKNN: [09:38:25.031]    Network Layer Information Table
D RKNN: [09:38:25.031] -----------------
D RKNN: [09:38:25.031] ID   OpType             DataType Target InputShape     OutputShape            Cycles(DDR/NPU/Total)    FullName
D RKNN: [09:38:25.031] -----------------
D RKNN: [09:38:25.031] 0    InputOperator      INT8     CPU    \\              (1,3,128,256)          0/0/0                    InputOperator:input
D RKNN: [09:38:25.031] 1    Resize             INT8     CPU    (1,16,64,128)  (1,16,128,256)         0/0/0                    Resize:up1
D RKNN: [09:38:25.031] -----------------"""

ON_CPU = Rule(
    id="rknn/layer-on-cpu",
    compiler=NAME,
    anchor=("Network Layer Information Table",),
    pattern=TABLE,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The layer is computed on the CPU.",
    help="Look for the WARNING that names the limit; split or pad the layer, or set op_target for it.",
    seen_in=f"{SEEN}, verbose",
    matches=(TABLE_LINES,),
    ignores=("You see it in the Network Layer Information Table below",),
    read=on_cpu,
)
LIMIT = Rule(
    id="rknn/limit-exceeded",
    compiler=NAME,
    anchor=("will fallback to CPU, because ",),
    pattern=r"\bRKNN: (?:\[[\d:.]{1,20}\] ?)?(?P<op>[A-Za-z]\w{0,80}) will fallback to CPU, because (?P<reason>\S.{0,400})",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator's shape is beyond what the NPU can do: it is computed on the CPU.",
    help="The line gives the limit and the value; reshape or split the operator in the model.",
    seen_in=f"{SEEN}, WARNING",
    matches=(
        "W RKNN: [13:52:53.504] Transpose will fallback to CPU, because input shape has exceeded the max limit, height(256) * width(2560) = 655360, required product no larger than 8192!",
    ),
    ignores=("worker 3: tokenizer will fallback to CPU, because the device is busy",),
)
NOT_LOADED = Rule(
    id="rknn/unsupported-on-cpu",
    compiler=NAME,
    anchor=("unsupport cpu ",),
    pattern=r"(?P<reason>unsupport cpu) (?P<op>\w{1,80}) op, op name: (?P<layer>\S{1,300}) in current",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The model has the operator on the CPU, and this runtime has no CPU code for it: the model does not load.",
    help="Small chips have no CPU operators: change the model until its table of layers shows none.",
    seen_in=SEEN,
    matches=(
        "E RKNN: unsupport cpu Min op, op name: Min:functional_1/Minimum in current, please try updating to the latest version of the toolkit2 and runtime from: https://console.zbox.filez.com/l/I00fc3 (PWD: rknn)",
    ),
)
NOT_IN_RUNTIME = Rule(
    id="rknn/not-in-runtime",
    compiler=NAME,
    anchor=("Unsupport CPU op: ", "Unsupport NPU op: "),
    pattern=r"\bRKNN: (?:\[[\d:.]{1,20}\] ?)?(?P<reason>Unsupport [CN]PU op): (?P<op>\w{1,80})(?: in this librknn\w{1,12}\.so)?, please try",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The toolkit left the operator to the runtime's CPU code, and this runtime has none: the model does not load.",
    help="Register a custom operator before the model is loaded, or replace the operator before the conversion.",
    seen_in="librknnrt 2.0 to 2.3 (public threads), ERROR",
    matches=(
        "E RKNN: [07:45:06.493] Unsupport CPU op: CumSum in this librknnrt.so, please try to register custom op by callingrknn_register_custom_ops or please try updating to the latest version of the toolkit2 and runtime from: https://console.zbox.filez.com/l/I00fc3 (PWD: rknn)",
        "E RKNN: [22:42:27.153] Unsupport NPU op: GridSample in this librknnrt.so, please try to register custom op by callingrknn_register_custom_ops or If using rknn, update to the latest toolkit2 and runtime",
    ),
    ignores=("the runtime then reports `Unsupport CPU op: GridSample` and ends",),
)
NO_OPERATOR = Rule(
    id="rknn/unsupported-operator",
    compiler=NAME,
    anchor=("Meet unsupported operator: ",),
    pattern=r"Fatal: (?P<reason>Meet unsupported operator): (?P<op>\w{1,80})\(name=\"(?P<layer>[^\"]{1,300})\"",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The toolkit does not know the operator: the model is not built.",
    help="Replace the operator, or cut the model before it.",
    seen_in="rknn-toolkit2 1.3 (public logs)",
    matches=('Fatal: Meet unsupported operator: Sqrt(name="Sqrt_51").',),
)


_QUOTED = Pattern(r"\b(?P<op>[A-Z]\w{0,80})\('(?P<layer>[^']{1,300})'\)")
_SAYS = Pattern(r"^E (?:build|load_\w{1,20}): ")


def failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The first line of a failure; those below it are the exception that the toolkit caught."""
    if any(_SAYS.match(line.text) for line in record.preceding(_OF_A_FAILURE)):
        return
    report = by_groups(rule, record, match)
    if told := _QUOTED.search(match["reason"]):
        report = report._replace(
            scope=Scope.OPERATOR, op=told["op"], names=(told["op"], told["layer"]), layer=told["layer"]
        )
    yield report


NOT_BUILT = Rule(
    id="rknn/not-built",
    compiler=NAME,
    anchor=("E build: ", "E load_"),
    pattern=r"^E (?:build|load_\w{1,20}): (?P<reason>\S.{0,600})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    shared_anchor=True,
    meaning="The toolkit can't read the model or build it: no .rknn file is made.",
    help="Read the error and the end of the traceback below it: an operator set that is too new, an operator that needs a constant, or another package's version.",
    seen_in="rknn-toolkit2 1.3 to 2.3 (public threads), ERROR",
    matches=(
        "E build: The input 0 of TopK('/gate/TopK') need to be constant! It will cause the graph to be a dynamic graph!",
        "E load_onnx: Unsupport onnx opset 19, need <= 12!",
        "E build: Traceback (most recent call last):",
    ),
    ignores=("CMAKE build: Traceback (most recent call last):", "E load_firmware: "),
    read=failed,
)
NOT_BUILT_1 = Rule(
    id="rknn/toolkit-1-failed",
    compiler=NAME,
    anchor=("E Catch exception when ",),
    pattern=r"^E (?P<reason>Catch exception when (?:loading \w{1,20} model|building RKNN model)\b.{0,300})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning=NOT_BUILT.meaning,
    help="The lines above it and the traceback below tell what the toolkit lacks.",
    seen_in="rknn-toolkit 1.3 to 1.7 (public threads), ERROR",
    matches=("E Catch exception when loading onnx model: ./model.onnx!",),
    ignores=("E Catch exception when saving",),
)


def whole(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the table is whole: the numbers of its rows leave none out, and the line that closes it is there."""
    rows = [row for _, row in layers(record)]
    numbers = [int(row["id"]) for row in rows if row]
    counted = numbers == list(range(len(numbers)))
    yield Sighting(marker.id, record.position, ("whole" if counted and None in rows else "cut",))


LAYERS = Marker(
    id="rknn/layers",
    compiler=NAME,
    anchor=ON_CPU.anchor,
    pattern=TABLE,
    shows="The table of layers is printed: whole, or cut.",
    seen_in=SEEN,
    matches=(TABLE_LINES,),
    read=whole,
)

BUILD = Marker(
    id="rknn/build",
    compiler=NAME,
    anchor=("rknn building ",),
    pattern=r"^\s*(?:[IDWE] |--> )?rknn building (?P<how>done\.|\.\.\.)\s*$",
    shows="A build of a model began, or ended.",
    seen_in=SEEN,
    matches=("I rknn building ...", "I rknn building done."),
    ignores=("rknn building is slow",),
    read=lambda marker, record, match: (
        Sighting(marker.id, record.position, (match["how"], str(record.position))),
    ),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A whole table of layers, for each build that began and ended, tells each layer's target."""
    said = evidence.of(LAYERS.id)
    builds = [how for how, _ in evidence.of(BUILD.id)]
    began, done = builds.count("..."), builds.count("done.")
    if said == {("whole",)} and began == done and 0 < done <= evidence.counts[LAYERS.id]:
        why = "each build ended, and its table of layers is whole and tells the target of each"
        shown = Proof(State.PROVEN, why, evidence.first(LAYERS.id))
    elif said:
        why = "a table of layers is cut, or no line shows that each build ended"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    else:
        shown = Proof(State.UNOBSERVABLE, "no table of layers is printed", None, SETTING)
    error = Proof(State.UNPROVEN, "no line shows that the model was built and loaded", None, SETTING)
    return {Kind.DEVICE_FALLBACK: shown, Kind.COMPILE_ERROR: error}


READER = Reader(
    name=NAME,
    rules=(ON_CPU, LIMIT, NOT_LOADED, NOT_IN_RUNTIME, NO_OPERATOR, NOT_BUILT, NOT_BUILT_1),
    markers=(LAYERS, BUILD),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes in 2.5; before, passed limits were warned of",
    seen_in=SEEN,
)
