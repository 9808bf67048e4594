r"""tensorrt: NVIDIA TensorRT, by trtexec, its Python and C++ interface, DeepStream and others.

    [W] [TRT] Layer '/head/Softmax' (SOFTMAX): Unsupported on DLA. Switching this layer's device type to GPU.

**What falls back.** On a machine with a Deep Learning Accelerator (Jetson, DRIVE) a layer that the DLA does not
run is built for the GPU. Tactics that need more memory than there is are left out, so a slower one runs. A
layer does not keep the precision that was asked for. A model that TensorRT can't read or build has no engine.
trtexec goes on without the CUDA graph that it was asked for.

**At which setting it speaks.** WARNING, which is the default everywhere. The list of layers, the timing cache
and the end of the build are INFO: on in trtexec, in Python with `trt.Logger(trt.Logger.INFO)`. Some builds for
DRIVE print the list at VERBOSE only.

**When it is silent.** An engine that is loaded was built elsewhere: its build log is the one that counts. A
tactic in a timing cache of an earlier build is not tried again, so its message is not repeated. Which
precision each layer got is never said, but for the few that are refused.

**What proves the end.** The list of layers, followed by the end of its build in the same log, proves that no
layer was taken from the DLA without a word; with a timing cache of this build alone, also that no tactic was
left out. A node without an implementation ends the build and counts as a failed build.

Wording from public threads on TensorRT 5 to 10, and from the source of trtexec, onnx-tensorrt and Polygraphy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.nvidia import tensorrt_build, tensorrt_dla, tensorrt_parser
from fallback_gate.compilers.nvidia import tensorrt_layers as layers
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Sighting
from fallback_gate.model import Kind, Proof, State
from fallback_gate.scan.record import Record

NAME = "tensorrt"
SETTING = "trtexec, or trt.Logger(trt.Logger.INFO), and the log of the build to its end"


def listed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the list of layers is whole, and has layers on the DLA."""
    said = layers.layers(record)
    yield Sighting(
        marker.id, record.position, ("whole" if said.whole else "cut", "DLA" if said.dla else "GPU")
    )


MARKERS = (
    Marker(
        id="tensorrt/layers-listed",
        compiler=NAME,
        anchor=tensorrt_dla.LISTED.anchor,
        pattern=tensorrt_dla.LISTED.pattern,
        shows="INFO was on, and the builder says where each layer runs; whole, or cut.",
        seen_in="7 to 10",
        matches=("[I] [TRT] ---------- Layers Running on DLA ----------",),
        ignores=("The section Layers Running on DLA is empty.",),
        read=listed,
    ),
    Marker(
        id="tensorrt/engine-generated",
        compiler=NAME,
        anchor=("Engine generation completed in ",),
        pattern=r"\[TRT\].{0,6} Engine generation completed in [\d.]{1,12} seconds",
        shows="The builder made an engine.",
        seen_in="8.5 to 10",
        matches=("[01/01/2026-00:01:34] [TRT] [I] Engine generation completed in 84.1 seconds.",),
    ),
    Marker(
        id="tensorrt/engine-built",
        compiler=NAME,
        anchor=("Engine built in ",),
        pattern=r"\[I\] Engine built in [\d.]{1,12} sec",
        shows="trtexec built its engine.",
        seen_in="8 to 10",
        matches=("[01/01/2026-00:03:05] [I] Engine built in 181.2 sec.",),
        ignores=("Engine built in Stuttgart",),
    ),
    Marker(
        id="tensorrt/engine-loaded",
        compiler=NAME,
        anchor=("Loaded engine size: ",),
        pattern=r"\[TRT\].{0,6} Loaded engine size: \d{1,9} ",
        shows="An engine was loaded.",
        seen_in="8 to 10",
        matches=("[01/01/2026-00:00:00] [I] [TRT] Loaded engine size: 12 MiB",),
    ),
    Marker(
        id="tensorrt/timing-cache",
        compiler=NAME,
        anchor=("timing cache in use.",),
        pattern=r"(?P<which>Local|Global) timing cache in use\.",
        shows="Whether tactics are timed for this build alone (local), or taken from an earlier build (global).",
        seen_in="8.2 to 10",
        matches=(
            "[01/01/2026-00:00:04] [TRT] [I] Local timing cache in use. Profiling results in this builder pass will not be stored.",
        ),
    ),
    Marker(
        id="tensorrt/dla-asked",
        compiler=NAME,
        anchor=("[I] DLACore: ",),
        pattern=r"\[I\] DLACore: (?P<core>\d)",
        shows="trtexec was asked to build for a DLA.",
        seen_in="8 to 10",
        matches=("[01/01/2026-00:00:00] [I] DLACore: 0(With GPU fallback)",),
        ignores=("[01/01/2026-00:00:00] [I] DLACore: ",),
    ),
    Marker(
        id="tensorrt/no-implementation",
        compiler=NAME,
        anchor=("Could not find any implementation for",),
        pattern=r"Could not find any implementation for node",
        shows="A build broke off: no tactic runs a node.",
        seen_in="7 to 10",
        matches=("[E] Error[10]: Could not find any implementation for node {ForeignNode[a...b]}.",),
    ),
    Marker(
        id="tensorrt/trtexec",
        compiler=NAME,
        anchor=("TensorRT.trtexec [",),
        pattern=r"^&&&& (?P<state>RUNNING|PASSED|FAILED) TensorRT\.trtexec \[TensorRT v(?P<version>\d{4,6})\]",
        shows="trtexec ran, which version, and how it ended.",
        seen_in="8 to 10",
        matches=(
            "&&&& RUNNING TensorRT.trtexec [TensorRT v8502] # trtexec --onnx=/app/model/det.onnx --fp16",
            "&&&& PASSED TensorRT.trtexec [TensorRT v100300] # trtexec --onnx=/app/model/det.onnx",
        ),
    ),
)
RULES = (*tensorrt_dla.RULES, *tensorrt_build.RULES, *tensorrt_parser.RULES)
REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.UNTUNED_CONFIG})


def _missing(evidence: Evidence) -> str | None:
    """What a build log lacks that shows all builds of the process from the list of layers to the end."""
    counts = evidence.counts.get
    lists = counts("tensorrt/layers-listed", 0)
    ended = max(counts("tensorrt/engine-generated", 0), counts("tensorrt/engine-built", 0))
    loaded = counts("tensorrt/engine-loaded", 0)
    if (
        _trtexec(evidence, "FAILED")
        or counts("tensorrt/no-implementation")
        or "tensorrt/build-failed" in evidence.rules
    ):
        return "a build broke off"
    if not lists and loaded:
        return "the engine was loaded, and its build is in another log"
    if not lists:
        return "no list of layers: INFO of TensorRT was off, or nothing was built"
    if "cut" in {state for state, _ in evidence.of("tensorrt/layers-listed")} or ended < lists:
        return "the log does not show the end of each build"
    if loaded > ended:
        return "more engines were loaded than built in this log"
    used = {engine for _, engine in evidence.of("tensorrt/layers-listed")}
    if counts("tensorrt/dla-asked") and used != {"DLA"} and Kind.DEVICE_FALLBACK not in evidence.reported:
        return "the DLA was asked for, and a list has no layer on it"
    return "trtexec did not end" if _trtexec(evidence, "RUNNING") > _trtexec(evidence, "PASSED") else None


def _trtexec(evidence: Evidence, state: str) -> int:
    """How often trtexec said that it is in this state."""
    return sum(
        evidence.times("tensorrt/trtexec", said)
        for said in evidence.of("tensorrt/trtexec")
        if said[0] == state
    )


def _captured(evidence: Evidence) -> Proof:
    """trtexec warns where it can't capture the graph that it was asked for; TensorRT itself captures none."""
    passed = _trtexec(evidence, "PASSED")
    if passed >= max(1, _trtexec(evidence, "RUNNING")) and not _trtexec(evidence, "FAILED"):
        why = "trtexec ended, and warns where it can't capture a CUDA graph"
        return Proof(State.PROVEN, why, evidence.first("tensorrt/trtexec"))
    why = "whether the program launches the engine as a CUDA graph is told by trtexec alone"
    return Proof(State.UNOBSERVABLE, why, None, "trtexec --useCudaGraph")


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each build of the process from its list of layers to its end."""
    missing = _missing(evidence)
    precision = "which precision each layer got is not said, but for the few that are refused"
    verbose = "trtexec --dumpLayerInfo --profilingVerbosity=detailed"
    proof = {
        Kind.SLOWER_KERNEL: Proof(State.UNOBSERVABLE, precision, None, verbose),
        Kind.CUDAGRAPH_SKIP: _captured(evidence),
    }
    built = (Kind.DEVICE_FALLBACK, Kind.UNTUNED_CONFIG, Kind.COMPILE_ERROR)
    if missing:
        return proof | {kind: Proof(State.UNPROVEN, missing, None, SETTING) for kind in built}
    why = "each build lists its layers at INFO, and ended within the log"
    proof |= {kind: Proof(State.PROVEN, why, evidence.first("tensorrt/layers-listed")) for kind in built}
    caches = {which for (which,) in evidence.of("tensorrt/timing-cache")}
    if (
        caches != {"Local"}
        or evidence.counts["tensorrt/timing-cache"] < evidence.counts["tensorrt/layers-listed"]
    ):
        why = "tactics may come from the timing cache of an earlier build, which are not tried again"
        proof[Kind.UNTUNED_CONFIG] = Proof(State.UNPROVEN, why, None, "build without a timing cache")
    return proof


def version(evidence: Evidence) -> str | None:
    """The version that trtexec prints as one number: 8502 is 8.5.2, 100300 is 10.3.0."""
    for _, said in sorted(evidence.of("tensorrt/trtexec")):
        major, rest = divmod(int(said), 10_000 if len(said) > 4 else 1_000)
        return f"{major}.{rest // 100}.{rest % 100}"
    return None


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    version=version,
    manual=__doc__,
    silent="partly: layers off the DLA and tactics left out are warned of, each layer's precision is not told",
    seen_in="5 to 10 (public threads; source of trtexec, onnx-tensorrt and Polygraphy)",
)
