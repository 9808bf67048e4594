"""The annex: tensors from files, none of which can run code: npy, npz, safetensors, and torch's pt.

npy, npz      NumPy's own reader, without pickled objects (NumPy enhancement proposal 1).
safetensors   eight bytes with the length of a JSON header, the header (dtype, shape and offsets of
              each tensor), and the data. Mapped from disk; bf16 and fp8 need the package ml_dtypes.
pt, pth       `torch.load(weights_only=True)`, which refuses all but tensors and plain containers; needs
              torch.

A folder holds one file for each tensor, or several of these. A file is known by its first bytes.
"""

from __future__ import annotations

import json
import math
import os
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from fallback_gate.errors import InputError, MissingExtra

MOST_HEADER: Final = 100_000_000  # bytes, as the safetensors library has it
MOST_ARCHIVE: Final = 64 << 30  # bytes of arrays in one npz, once unpacked
SUFFIXES: Final = (".npy", ".npz", ".safetensors", ".pt", ".pth")
_SAFETENSORS: Final = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64",
    "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


def numpy() -> Any:
    """The package numpy. Raises `MissingExtra` that names the install command."""
    try:
        import numpy as there
    except ImportError:
        raise MissingExtra("tensors need numpy: pip install 'fallback-gate[numerics]'") from None
    return there


def dtype(name: str) -> Any:
    """NumPy's dtype of a name, those of ml_dtypes among them."""
    if name.startswith(("bfloat", "float8")):
        try:
            import ml_dtypes
        except ImportError:
            raise MissingExtra(f"{name} needs ml_dtypes: pip install 'fallback-gate[numerics]'") from None
        return numpy().dtype(getattr(ml_dtypes, name))
    return numpy().dtype(name)


def tensors(path: str) -> Mapping[str, Any]:
    """Arrays by name: those of a file, or of all files of a folder (`FILE/NAME`, FILE without its ending).

    Raises `InputError` for what can't be read, `MissingExtra` where a package is missing.
    """
    place = Path(path)
    if not place.is_dir():
        return _file(place)
    files = sorted(file for file in place.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise InputError(f"{path}: no file of tensors in this folder ({', '.join(SUFFIXES)})")
    found: dict[str, Any] = {}
    for file in files:
        stem = file.relative_to(place).with_suffix("").as_posix()
        for name, array in _file(file).items():
            key = f"{stem}/{name}" if name else stem
            if key in found:
                raise InputError(f"{path}: two tensors have the name {key}; give each file a name of its own")
            found[key] = array
    return found


def _file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            head = file.read(9)
        if head.startswith(b"\x93NUMPY"):
            return {"": _plain(path, _read(lambda: numpy().load(path, mmap_mode="r", allow_pickle=False)))}
        if head.startswith(b"PK\x03\x04"):
            return dict(_npz(path)) if _is_npz(path) else _torch(path)
        if len(head) == 9 and head[8:9] == b"{":
            return dict(_safetensors(path))
        if path.suffix.lower() in (".pt", ".pth"):
            return _torch(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror or problem}") from None
    except (ValueError, zipfile.BadZipFile, EOFError, MemoryError, OverflowError) as wrong:
        raise InputError(f"{path}: not a whole file of tensors: {str(wrong)[:200]}") from None
    raise InputError(f"{path}: no npy, npz, safetensors or pt by its first bytes")


def _read(load: Callable[[], Any]) -> Any:
    """What numpy reads. Raises `ValueError` or `OSError` where it can't."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load()
    except (OSError, MemoryError):
        raise
    except Exception as wrong:  # a header goes through Python's own parser, which raises its errors
        raise ValueError(str(wrong) or type(wrong).__name__) from None


def _plain(path: Path, array: Any) -> Any:
    if array.dtype.kind not in "fiubcV" or array.dtype.names:
        raise InputError(f"{path}: an array of {array.dtype}, which has no numbers to compare")
    if array.dtype.kind == "V":
        raise InputError(f"{path}: an array of raw bytes ({array.dtype}): save bf16 and fp8 as safetensors")
    return array


def _is_npz(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return all(name.endswith(".npy") for name in archive.namelist())


def _npz(path: Path) -> Iterator[tuple[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_ARCHIVE:
            raise InputError(f"{path}: more than {MOST_ARCHIVE >> 30} GiB once unpacked")
    with _read(lambda: numpy().load(path, allow_pickle=False)) as arrays:
        for name in arrays.files:
            yield name, _plain(path, _read(partial(arrays.__getitem__, name)))


def _safetensors(path: Path) -> Iterator[tuple[str, Any]]:
    total = os.path.getsize(path)
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > min(MOST_HEADER, total - 8):
            raise ValueError("its header is longer than the file, or than 100 MB")
        try:
            header = json.loads(file.read(length))
        except RecursionError:
            raise ValueError("its header is nested too deep") from None
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    for name, told in header.items():
        if name != "__metadata__":
            yield name, _mapped(path, name, told, 8 + length, total)


def _mapped(path: Path, name: str, told: Any, start: int, total: int) -> Any:
    try:
        kind, shape, (begin, end) = told["dtype"], told["shape"], told["data_offsets"]
        sizes = [*shape, begin, end]
        if not all(isinstance(size, int) and 0 <= size < 1 << 62 for size in sizes):
            raise TypeError
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"the entry of {name[:80]!r} is not whole") from None
    if kind not in _SAFETENSORS:
        raise InputError(f"{path}: {name[:80]!r} is {str(kind)[:20]}, which is not compared")
    element = dtype(_SAFETENSORS[kind])
    if end - begin != math.prod(shape) * element.itemsize or start + end > total:
        raise ValueError(f"the data of {name[:80]!r} are not within the file, or not of its shape")
    if end == begin:
        return numpy().empty(shape, element)
    raw = numpy().memmap(path, mode="r", dtype="uint8", offset=start + begin, shape=(end - begin,))
    return raw.view(element).reshape(shape)


def _torch(path: Path) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            f"{path} is torch's format: pip install torch, or save it as safetensors or npz"
        ) from None
    import pickle

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InputError(
            f"{path}: it holds more than tensors and plain containers, or is no whole file; objects are "
            "never loaded: save the tensors alone, best as safetensors"
        ) from None
    except Exception as wrong:  # torch raises what its reader raises, of any kind
        first = (str(wrong).splitlines() or [type(wrong).__name__])[0]
        raise InputError(f"{path}: torch can't load it: {first[:200]}") from None
    return dict(_flat(torch, path, "", loaded))


def _flat(torch: Any, path: Path, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Tensors of nested containers, named by their path."""
    if isinstance(value, torch.Tensor):
        yield name, _of_torch(torch, path, value.detach())
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(torch, path, f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, (list, tuple)):
        for at, inner in enumerate(value):
            yield from _flat(torch, path, f"{name}.{at}" if name else str(at), inner)


def _of_torch(torch: Any, path: Path, tensor: Any) -> Any:
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_sparse or tensor.is_quantized:
        raise InputError(f"{path}: a sparse or quantised tensor: save it dense")
    tensor = tensor.contiguous()
    if name.startswith(("bfloat", "float8")):
        raw = tensor.view(torch.int16 if name == "bfloat16" else torch.uint8).numpy()
        return raw.view(dtype(name))
    return tensor.numpy()
