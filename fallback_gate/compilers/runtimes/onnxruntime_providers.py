r"""Room 3: ONNX Runtime's providers that do not load: the session goes on with those behind them.

    EP Error ... Please install TensorRT libraries ...
     when using ['TensorrtExecutionProvider', 'CUDAExecutionProvider', 'CPUExecutionProvider']
    Falling back to ['CUDAExecutionProvider', 'CPUExecutionProvider'] and retrying.

The Python layer prints this block with `print`, whatever the log level, when a session is made and, since it
retries there too, inside `run`. A missing library is an ERROR line of C++ before it, a provider that the
wheel lacks a Python warning.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.onnxruntime_placement import NAME, provider_named
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, Pattern
from fallback_gate.scan.record import Record

_QUOTED = Pattern(r"'(?P<name>\w{2,60})'")
_USING = Pattern(r"(?:^\s*when using|\busing) \[(?P<list>.*)\]\s*$")
_ERROR = Pattern(r"^EP Error:? (?P<reason>.*)$")


def _names(text: str) -> list[str]:
    """The providers of a printed list; options between them are left out."""
    found: list[str] = []
    rest = text
    while name := _QUOTED.search(rest):
        if name["name"].endswith("ExecutionProvider") or "{" not in text:
            found.append(name["name"])
        rest = rest[name.end() :]
    return found


def retried(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The providers that the first try had and the second has not; the lines before tell the first."""
    left = _names(match["left"])
    asked: list[str] = []
    reason = None
    for line in record.preceding(12):
        if not asked and (using := _USING.search(line.text)):
            asked = _names(using["list"])
        if error := _ERROR.search(line.text):
            reason = error["reason"]
            break
    report = by_groups(rule, record, match)._replace(reason=reason)
    lost = [name for name in asked if name not in left]
    if not lost:
        yield report._replace(names=tuple(left))
    for name in lost:
        yield report._replace(op=name, names=(name, *left))


RETRIED = Rule(
    id="onnxruntime/retry",
    compiler=NAME,
    anchor=("] and retrying.",),
    pattern=rf"^{BEFORE}Falling back to \[(?P<left>[^\]]{{0,2000}})\] and retrying\.",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The session could not be made, or run, with the provider: the Python layer made it anew without it.",
    help="Repair what the line EP Error says; session.disable_fallback() makes the run fail instead of retrying.",
    seen_in="1.24 to 1.32 (run), printed at every log level",
    matches=(
        "EP Error x.cc:729 Please install TensorRT libraries\n when using ['TensorrtExecutionProvider', 'CPUExecutionProvider']\nFalling back to ['CPUExecutionProvider'] and retrying.",
        "EP Error: [ONNXRuntimeError] : 11 : EP_FAIL : Non-zero status code using ['QNNExecutionProvider', 'CPUExecutionProvider']\nFalling back to ['CPUExecutionProvider'] and retrying.",
    ),
    ignores=("connection lost [a] and retrying.",),
    read=retried,
)


def of_library(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The provider by the name of its library."""
    name = provider_named(match["library"])
    yield by_groups(rule, record, match)._replace(
        op=name, names=(name,), reason=match["reason"].strip() or match.groupdict().get("what")
    )


NOT_LOADED = Rule(
    id="onnxruntime/provider-not-loaded",
    compiler=NAME,
    anchor=("onnxruntime_providers_",),
    pattern=r"(?P<what>Failed to load library|Error loading|LoadLibrary failed with error) .{0,1000}?onnxruntime_providers_(?P<library>\w{2,40}?)\.(?:so|dll|dylib)\b[\"']?(?: with error:)?(?P<reason>.*)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The library of the provider, or one that it needs, is missing: the session runs on the providers behind it.",
    help="Install the versions of CUDA, cuDNN, TensorRT or ROCm that this ONNX Runtime was built for, and let the loader find them.",
    seen_in="1.24 to 1.32 (run), ERROR",
    matches=(
        "2026-11-30 00:19:02.592904603 [E:onnxruntime:Default, provider_bridge_ort.cc:2458 operator()] /onnxruntime_src/onnxruntime/core/session/provider_bridge_ort.cc:2043 onnxruntime::Provider& onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library /opt/venv/onnxruntime/capi/libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared object file: No such file or directory",
        '[E:onnxruntime:Default, provider_bridge_ort.cc:1548 TryGetProviderInfo_CUDA] [ONNXRuntimeError] : 1 : FAIL : LoadLibrary failed with error 126 "" when trying to load "C:\\py\\capi\\onnxruntime_providers_cuda.dll"',
    ),
    ignores=(
        "Loading library libonnxruntime_providers_cuda.so",
        "cp libonnxruntime_providers_cuda.so /usr/lib",
    ),
    read=of_library,
)

NOT_CREATED = Rule(
    id="onnxruntime/provider-not-created",
    compiler=NAME,
    anchor=("Failed to create ",),
    pattern=r"Failed to create (?P<op>\w{2,40}ExecutionProvider)\b\.? ?(?P<reason>.*)",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The provider could not be created: the session runs on the providers behind it.",
    help=NOT_LOADED.help,
    seen_in="1.24 to 1.32 (run), WARNING",
    matches=(
        "2026-11-30 00:19:02.592968489 [W:onnxruntime:Default, onnxruntime_pybind_state.cc:1295 CreateExecutionProviderFactoryInstance] Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 13.*. Please install all dependencies",
    ),
    ignores=("Failed to create session",),
)

NOT_FOUND = Rule(
    id="onnxruntime/provider-not-found",
    compiler=NAME,
    anchor=(" able to be loaded. ",),
    pattern=r"\b[A-Z]{2,12}_(?:PATH|HOME) is set but (?P<library>[A-Za-z]{2,12}) wasn'?t able to be loaded\. (?P<reason>Please install .{0,400})",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The provider's library did not load: the session is not made, or the Python layer makes it anew without the provider.",
    help=NOT_LOADED.help,
    seen_in="1.10 to 1.22 (source and public threads), an exception",
    matches=(
        "RuntimeError: /onnxruntime_src/onnxruntime/python/onnxruntime_pybind_state.cc:1087 onnxruntime::python::CreateExecutionProviderInstance(...) ROCM_PATH is set but ROCM wasn't able to be loaded. Please install the correct version of ROCM and MIOpen as mentioned in the GPU requirements page",
    ),
    ignores=("CUDA_PATH is set but the module was not able to be loaded. ",),
    read=lambda rule, record, match: (next(iter(of_library(rule, record, match)))._replace(hint=True),),
)

NO_CODE = Rule(
    id="onnxruntime/provider-without-code",
    compiler=NAME,
    anchor=("execution provider can only be used to generate ORT format model",),
    pattern=r"\] (?P<library>\w{2,20}) execution provider (?P<reason>can only be used to generate ORT format model in this build)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="This build takes nodes for the provider and can't run them: a session with such nodes fails when it runs.",
    help="Run the model on the device; off it, ask for another provider.",
    seen_in="1.7 to 1.22 (source and public threads), WARNING",
    matches=(
        "2021-09-09 17:55:25.6 [W:onnxruntime:Default, onnxruntime_pybind_state.cc:661 onnxruntime::python::CreateExecutionProviderInstance] NNAPI execution provider can only be used to generate ORT format model in this build.",
    ),
    ignores=("- Note: NnapiExecutionProvider can only be used to generate ORT format model in this build",),
    read=of_library,
)

NOT_AVAILABLE = Rule(
    id="onnxruntime/provider-not-available",
    compiler=NAME,
    anchor=("is not in available provider names",),
    pattern=r"Specified provider '(?P<op>\w{2,60})' is not in available provider names\. ?(?P<reason>.*)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="This build of ONNX Runtime lacks the provider: the session runs on the others of the list.",
    help="Install the package that holds the provider (onnxruntime-gpu, onnxruntime-openvino, ...), without the plain one beside it.",
    seen_in="1.24 to 1.32 (run), a Python warning",
    matches=(
        "/opt/venv/onnxruntime/capi/onnxruntime_inference_collection.py:197: UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names.Available providers: 'AzureExecutionProvider, CPUExecutionProvider'",
    ),
)

NONE_OF_TENSORRT = Rule(
    id="onnxruntime/tensorrt-takes-nothing",
    compiler=NAME,
    anchor=("No graph will run on ",),
    pattern=r"\] \[\w{2,30} EP\] (?P<reason>No graph will run on (?P<what>TensorRT|NvTensorRT\w*|NV TensorRT RTX) execution provider)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="TensorRT takes no part of the graph: all of it runs on the providers behind it.",
    help="Run at INFO to see which operators its parser refuses; run shape inference on the model first.",
    seen_in="1.31 (its binary and source), WARNING",
    matches=(
        "2026-11-30 00:19:02.592968489 [W:onnxruntime:Default, tensorrt_execution_provider.cc:2400 GetCapability] [TensorRT EP] No graph will run on TensorRT execution provider",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="TensorrtExecutionProvider", names=("TensorrtExecutionProvider", match["what"])
        ),
    ),
)

NO_PLUGIN = Rule(
    id="onnxruntime/tensorrt-plugin-missing",
    compiler=NAME,
    anchor=("getPluginCreator could not find plugin",),
    pattern=r"\btensorrt_execution_provider\w*\.\w{1,3}:\d{1,6} log\] .{0,100}(?P<reason>getPluginCreator could not find plugin):? (?P<op>\w{1,80})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="TensorRT has neither an importer nor a plugin for the operator: the next provider takes it, and the graph is cut.",
    help="Run shape inference, simplify the model, take a newer TensorRT, or register the plugin (trt_extra_plugin_lib_paths).",
    seen_in="1.8 to 1.16 (public threads), TensorRT's ERROR in ONNX Runtime's log",
    matches=(
        "2026-01-01 00:00:00.000001 [E:onnxruntime:Default, tensorrt_execution_provider.h:51 log] [2026-01-01 00:00:00   ERROR] INVALID_ARGUMENT: getPluginCreator could not find plugin OneHot version 1",
        "[E:onnxruntime:Default, tensorrt_execution_provider.h:84 log] [2026-01-01 00:00:00   ERROR] 3: getPluginCreator could not find plugin: NonZero version: 1",
    ),
    ignores=("[E] [TRT] 3: getPluginCreator could not find plugin: SplitToSequence version: 1",),
)

RULES = (RETRIED, NOT_LOADED, NOT_CREATED, NOT_FOUND, NO_CODE, NOT_AVAILABLE, NONE_OF_TENSORRT, NO_PLUGIN)
