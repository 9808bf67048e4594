"""The side door: where compilers keep compiled kernels, and how old these are as a recording begins.

A kernel that another version compiled is worth knowing of: most caches name the version in their keys, and
not all do. Each folder is walked to a bound; nothing in it is opened.

Sources: torch._inductor.runtime.cache_dir_utils, triton.knobs (TRITON_CACHE_DIR, TRITON_HOME), vllm.envs
(VLLM_CACHE_ROOT), TileLang's environment variables, tvm_ffi's cpp extension loader (TVM_FFI_CACHE_DIR), ONNX
Runtime's TensorRT provider (ORT_TENSORRT_CACHE_PATH, set together with ..._ENGINE_CACHE_ENABLE), the Neuron
SDK's caching page, JAX's persistent compilation cache, torch_xla (XLA_PERSISTENT_CACHE_PATH), the CUDA
environment variables, MIOpen's cache page, CANN's environment variables, FlashInfer and DeepGEMM.
"""

from __future__ import annotations

import getpass
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fallback_gate.capture.found import Installed
from fallback_gate.model.environment import Cache, moment

MOST_FILES: Final = 20_000  # of one folder


@dataclass(frozen=True, slots=True)
class Place:
    """The cache of one compiler: its reader's name, the packages that fill it, the variable that names it.

    `default` is where it is without that: `~` is the home, `{tmp}` the folder for temporary files, `{user}`
    who runs. `below`: the folder under what the variable names.
    """

    compiler: str
    packages: tuple[str, ...]
    variable: str
    default: str | None = None
    below: str = ""


PLACES: Final = (
    Place("torch.compile", ("torch",), "TORCHINDUCTOR_CACHE_DIR", "{tmp}/torchinductor_{user}"),
    Place("triton", ("triton", "pytorch-triton"), "TRITON_CACHE_DIR", "~/.triton/cache"),
    Place("vLLM", ("vllm",), "VLLM_CACHE_ROOT", "~/.cache/vllm/torch_compile_cache", "torch_compile_cache"),
    Place("tilelang", ("tilelang",), "TILELANG_CACHE_DIR", "~/.tilelang/cache"),
    Place("tvm", ("apache-tvm-ffi", "apache-tvm"), "TVM_FFI_CACHE_DIR", "~/.cache/tvm-ffi"),
    Place("onnxruntime", ("onnxruntime-gpu", "onnxruntime"), "ORT_TENSORRT_CACHE_PATH"),
    Place("neuron", ("neuronx-cc", "neuron-cc"), "NEURON_COMPILE_CACHE_URL", "/var/tmp/neuron-compile-cache"),
    Place("jax", ("jaxlib", "jax"), "JAX_COMPILATION_CACHE_DIR"),
    Place("torch.xla", ("torch_xla", "torch-xla"), "XLA_PERSISTENT_CACHE_PATH"),
    Place("cuda", (), "CUDA_CACHE_PATH", "~/.nv/ComputeCache"),
    Place("miopen", (), "MIOPEN_CUSTOM_CACHE_DIR", "~/.cache/miopen"),
    Place("cann", ("torch-npu",), "ASCEND_CACHE_PATH"),
    Place("flashinfer", ("flashinfer-python",), "FLASHINFER_WORKSPACE_BASE", "~/.cache/flashinfer",
          ".cache/flashinfer"),
    Place("deep_gemm", ("deep-gemm",), "DG_JIT_CACHE_DIR", "~/.deep_gemm"),
)  # fmt: skip


def packages() -> list[str]:
    """The packages whose versions and ages the caches are held against."""
    return [package for place in PLACES for package in place.packages]


def caches(environ: Mapping[str, str], installed: Mapping[str, Installed]) -> list[Cache]:
    """Each cache that is there and holds a file, as it is now."""
    found = []
    for place in PLACES:
        folder, by = _folder(place, environ)
        package = next((name for name in place.packages if name in installed), None)
        if folder is not None and (told := _read(place, folder, by, package, installed)):
            found.append(told)
    return found


def _folder(place: Place, environ: Mapping[str, str]) -> tuple[Path | None, str | None]:
    """Where the cache is, and the variable that says so."""
    own = environ.get(place.variable, "")
    if own:
        if re.match(r"\w+://", own) and not own.startswith("file://"):
            return None, None  # a bucket
        named = Path(os.path.expanduser(own.removeprefix("file://")))
        return (named / place.below if place.below else named), place.variable
    if place.default is None:
        return None, None
    home = environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~")
    folders = {"{tmp}": environ.get("TMPDIR") or tempfile.gettempdir(), "{user}": _user()}
    text = place.default
    for mark, value in folders.items():
        text = text.replace(mark, value)
    if text.startswith("~/.cache/") and environ.get("XDG_CACHE_HOME") and place.compiler == "vLLM":
        text = text.replace("~/.cache", environ["XDG_CACHE_HOME"], 1)
    return Path(text.replace("~", home, 1) if text.startswith("~") else text), None


def _user() -> str:
    """The name that Inductor puts into its folder."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):
        name = str(os.getuid()) if hasattr(os, "getuid") else "user"
    return re.sub(r'[\\/:*?"<>|]', "_", name)


def _read(
    place: Place, folder: Path, by: str | None, package: str | None, installed: Mapping[str, Installed]
) -> Cache | None:
    times = list(_times(folder))
    if not times:
        return None
    since = installed[package].since if package else None
    return Cache(
        compiler=place.compiler,
        path=str(folder),
        set_by=by,
        files=len(times),
        oldest=moment(min(times)),
        newest=moment(max(times)),
        older=sum(time < since for time in times) if since is not None else 0,
        of=package,
    )


def _times(folder: Path) -> Iterator[float]:
    """When each plain file under the folder was written; links are not followed."""
    count = 0
    for around, _, names in os.walk(folder):
        for name in names:
            try:
                told = os.lstat(os.path.join(around, name))
            except OSError:
                continue
            if stat.S_ISREG(told.st_mode):
                yield told.st_mtime
                count += 1
                if count >= MOST_FILES:
                    return
