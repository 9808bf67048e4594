r"""onnxruntime: ONNX Runtime with its execution providers (CUDA, TensorRT, OpenVINO, QNN, CoreML, ...).

**What falls back.** A node that its provider lacks runs on the CPU, with copies around it; so does a whole
session whose provider does not load. In the CPU's own kernels, some have a slow form.

**At which setting it speaks.** Each node's place at VERBOSE (`SessionOptions.log_severity_level = 0`), in a
build that is not minimal. At the default (WARNING) one line for a whole session, `Some nodes were not
assigned to the preferred execution providers`, which names none. CoreML and NNAPI warn of how many nodes they
take, where these are not one partition, and CUDA of each convolution in cuDNN's fallback mode. Load failures
and retries: always, with `log_severity_level` up to 2.

**When it is silent.** Whoever names the CPU provider in the list, as nearly everybody does, gets no such
line; a session that lands on the CPU whole gives none either. `session.get_providers()` lists a provider
that runs no node. With Python's warnings off (`PYTHONWARNINGS=ignore`), or taken from the log, a provider that the wheel lacks is not told, and
`get_providers()` then lists the CPU alone, as where nothing else was asked for: leave warnings on.

**What proves the end.** At VERBOSE the placement of each session, and `Session successfully initialized`; also of each
session whose providers the program prints.
`All nodes placed on [CPUExecutionProvider]` proves something only where the log also shows that no other
provider was asked for: print `session.get_providers()`. A profile shows what ran, and proves no absence. A provider may itself use the
CPU (CoreML, OpenVINO's AUTO): its own log must tell.

The Rust crate `ort` writes the same messages by `tracing`, with `ort::logging: ` before each; these are read too, and
the exceptions of the JavaScript, C# and Java bindings.

Wording seen in 1.17, 1.20, 1.23, 1.24, 1.27, 1.30, 1.31 and 1.32 (run), older forms in the source of 1.4 to 1.12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Reader, Sighting
from fallback_gate.compilers.runtimes import (
    onnxruntime_bindings,
    onnxruntime_capability,
    onnxruntime_nodes,
    onnxruntime_placement,
    onnxruntime_profile,
    onnxruntime_providers,
    onnxruntime_qnn,
    onnxruntime_session,
)
from fallback_gate.compilers.runtimes.onnxruntime_placement import CPU, HEAD, NAME
from fallback_gate.model import Kind, Proof, Report, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_LISTED = r"(?<!back to )\[(?P<list>'[^\]]{0,1000}ExecutionProvider'[^\]]{0,1000})\]"
_PROVIDER = Pattern(r"'(?P<name>\w{2,60})'")


def listed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The first provider of a printed list that takes nodes from the CPU, and the two words before the list;
    those that could be had were not asked for."""
    names, rest = [], match["list"]
    while found := _PROVIDER.search(rest):
        names.append(found["name"])
        rest = rest[found.end() :]
    other = next((name for name in names if onnxruntime_placement.behind(CPU, name)), CPU)
    at_hand = other != CPU and _AT_HAND.search(record.text) is not None
    words = " ".join(record.text[: match.start()].split()[-2:])
    yield Sighting(marker.id, record.position, ("at hand" if at_hand else other, words))


_LOST = ("retry", "provider-not-created", "provider-not-available")


def _sessions_listed(evidence: Evidence) -> int:
    """How many sessions the program listed providers of, at least: one for each time that a list came in the
    same words, and one for each provider but for those that a session was told to have lost."""
    name = "onnxruntime/providers-listed"
    asked = {facts: evidence.times(name, facts) for facts in evidence.of(name) if facts[0] != "at hand"}
    words: Counter[str] = Counter()
    for (_, said), count in asked.items():
        words[said] += count
    lost = sum(evidence.rules.get(f"onnxruntime/{rule}", 0) for rule in _LOST)
    return max(len({provider for provider, _ in asked}) - lost, *words.values(), 0)


_AT_HAND = Pattern(r"[Aa]vailable|AVAILABLE|[Ii]nstalled|[Ss]upported")
_I = "2026-11-30 00:18:28.706414288 [I:onnxruntime:, inference_session.cc:2567 Initialize] "
MARKERS = (
    *onnxruntime_placement.MARKERS,
    *onnxruntime_profile.MARKERS,
    Marker(
        id="onnxruntime/initializing",
        compiler=NAME,
        anchor=("Initializing session.",),
        pattern=HEAD + r"Initializing session\.",
        shows="A session is being made, and INFO is on.",
        seen_in="1.4 to 1.32",
        matches=(_I + "Initializing session.",),
    ),
    Marker(
        id="onnxruntime/initialized",
        compiler=NAME,
        anchor=("Session successfully initialized.",),
        pattern=HEAD + r"Session successfully initialized\.",
        shows="A session was made.",
        seen_in="1.4 to 1.32",
        matches=(_I + "Session successfully initialized.",),
    ),
    Marker(
        id="onnxruntime/providers-listed",
        compiler=NAME,
        anchor=("ExecutionProvider",),
        pattern=_LISTED,
        shows="The program printed a list of providers: session.get_providers(), or what it asks for.",
        seen_in="every version: a Python list",
        matches=("[serve] session providers: ['OpenVINOExecutionProvider', 'CPUExecutionProvider']",),
        ignores=("Falling back to ['CPUExecutionProvider'] and retrying.", "CUDAExecutionProvider"),
        read=listed,
    ),
)

RULES = (
    onnxruntime_placement.NODES,
    *onnxruntime_providers.RULES,
    *onnxruntime_nodes.RULES,
    *onnxruntime_capability.RULES,
    *onnxruntime_qnn.RULES,
    *onnxruntime_session.RULES,
    *onnxruntime_bindings.RULES,
)
REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.COMPILE_ERROR})
SETTING = "SessionOptions.log_severity_level = 0, and session.get_providers() printed"


def conclude(evidence: Evidence) -> Iterable[Report]:
    """What only the whole log tells: sessions on the CPU alone, kernels of the CPU in a profile."""
    yield from onnxruntime_placement.all_on_cpu(evidence)
    yield from onnxruntime_profile.profiled_on_cpu(evidence)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each session must have its placement in the log, and its end."""
    made = evidence.counts.get("onnxruntime/initialized", 0)
    if not made or made < evidence.counts.get("onnxruntime/initializing", 0):
        why = "the log does not show that each session was made"
        error = Proof(State.UNPROVEN, why, None, SETTING)
    else:
        error = Proof(State.PROVEN, "each session was made", evidence.first("onnxruntime/initialized"))
    return {Kind.DEVICE_FALLBACK: _devices(evidence, made), Kind.COMPILE_ERROR: error}


def _devices(evidence: Evidence, made: int) -> Proof:
    states = {state for state, _ in evidence.of("onnxruntime/placed")}
    blocks = evidence.counts.get("onnxruntime/placed", 0)
    listed = {provider for provider, _ in evidence.of("onnxruntime/providers-listed")}
    why = None
    if not blocks:
        if Kind.DEVICE_FALLBACK not in evidence.reported:
            why = "this level does not show where the nodes are placed"
            return Proof(State.UNOBSERVABLE, why, None, SETTING)
        why = "a provider is missing, or nodes left it, and this level does not show which nodes run where"
    elif "cut" in states:
        why = "a placement of nodes is cut: lines of it are missing"
    elif blocks != made or evidence.counts.get("onnxruntime/initializing", 0) > made:
        why = "the log does not show a placement and an end for each session"
    elif _sessions_listed(evidence) > blocks:
        why = "the program lists the providers of more sessions than have their placement in the log"
    elif CPU in states and listed != {CPU} and not _told(evidence):
        why = "a session is on the CPU alone, and the log does not show that no other provider was asked for"
    if why:
        return Proof(State.UNPROVEN, why, None, SETTING)
    why = "each session's nodes are placed in the log, and each session was made"
    return Proof(State.PROVEN, why, evidence.first("onnxruntime/placed"))


def _told(evidence: Evidence) -> bool:
    """Whether each session on the CPU alone was reported as a fallback."""
    alone = sum(state == CPU for state, _ in evidence.of("onnxruntime/placed"))
    return alone == sum(1 for _ in onnxruntime_placement.all_on_cpu(evidence))


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    conclude=conclude,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a load failure and, for a session without the CPU provider in its list, one line that names no node",
    seen_in="1.17 to 1.32 (run), 1.4 to 1.12 (source)",
)
