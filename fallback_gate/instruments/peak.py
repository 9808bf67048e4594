"""The annex: what this machine really reaches: matrix products, attention, and copies, measured with torch.

A data sheet's peak is never reached; a library's large product and a plain copy are as near as programs
come. So they are the roof to hold an end-to-end figure against: an order of magnitude below it is no matter
of tuning. Each is the best of several repetitions after a warm-up, timed to the end of the device's work.

Arithmetic: 2 m n k for a product, 4 b h s^2 d for attention without a mask; a copy reads each byte and
writes it.

What was measured is kept as JSON (`fallback-gate peak -f json`), and read here too.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from fallback_gate.errors import InputError, MissingExtra, Unreadable
from fallback_gate.instruments import text
from fallback_gate.instruments.devices import Roof
from fallback_gate.model.claims import Figure

SCHEMA: Final = "fallback-gate/peak-1"
DTYPES: Final = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_LARGE: Final = {"gemm": 8192, "sequence": 4096, "heads": 32, "bytes": 1 << 30}  # an accelerator
_SMALL: Final = {"gemm": 1024, "sequence": 512, "heads": 8, "bytes": 64 << 20}  # a CPU
_HEAD: Final = 128  # the width of one head


def measure(device: str | None, dtype: str, repeat: int) -> dict[str, Any]:
    """FLOP a second of a product and of attention, bytes a second of a copy.

    `device` is torch's name, such as `cuda` or `cpu`; None takes the accelerator that is there.

    Raises `MissingExtra` without torch, `InputError` where the device or the precision does not work.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("measuring the peak needs torch: pip install 'fallback-gate[peak]'") from None
    if dtype not in DTYPES:
        raise InputError(f"--dtype {dtype!r} is none that is measured: {', '.join(DTYPES)}")
    name = device or _found(torch)
    try:
        place, kind = torch.device(name), getattr(torch, DTYPES[dtype])
        with torch.inference_mode():
            return _measured(torch, place, dtype, kind, repeat)
    except (RuntimeError, AssertionError, NotImplementedError) as wrong:
        first = (str(wrong).splitlines() or [type(wrong).__name__])[0]
        raise InputError(f"{name} can't be measured in {dtype}: {first[:200]}") from None


def _found(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_available() else "cpu"


def _measured(torch: Any, place: Any, dtype: str, kind: Any, repeat: int) -> dict[str, Any]:
    sizes = _SMALL if place.type == "cpu" else _LARGE
    wait: Callable[[], None] = getattr(getattr(torch, place.type, None), "synchronize", lambda: None)

    def best(work: Callable[[], object]) -> float:
        work()
        wait()
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            work()
            wait()
            times.append(time.perf_counter() - begin)
        return max(min(times), 1e-9)

    n, s, h = sizes["gemm"], sizes["sequence"], sizes["heads"]
    left, right = (torch.randn(n, n, device=place, dtype=kind) for _ in range(2))
    product = best(lambda: left @ right)
    query, key, value = (torch.randn(1, h, s, _HEAD, device=place, dtype=kind) for _ in range(3))
    attend = torch.nn.functional.scaled_dot_product_attention
    attention = best(lambda: attend(query, key, value))
    source = torch.zeros(sizes["bytes"], device=place, dtype=torch.uint8)
    target = torch.empty_like(source)
    copy = best(lambda: target.copy_(source))
    gemm, moved = 2.0 * n**3 / product, 2.0 * sizes["bytes"] / copy
    return {
        "schema": SCHEMA,
        "device": torch.cuda.get_device_name(place) if place.type == "cuda" else place.type,
        "dtype": dtype,
        "gemm_flops": gemm,
        "attention_flops": 4.0 * h * s * s * _HEAD / attention,
        "copy_bandwidth": moved,
        "balance": gemm / moved,
        "sizes": dict(sizes),
        "repeat": repeat,
        "torch": str(torch.__version__),
    }


def roof(path: str) -> Roof:
    """The limits in a file of `fallback-gate peak -f json`. Raises `InputError` for one that is none."""
    try:
        told = json.loads(text.document(path))
        found = Roof(
            str(told["device"]), told["dtype"], float(told["gemm_flops"]), float(told["copy_bandwidth"])
        )
        if found.dtype not in DTYPES or not 0 < min(found.peak, found.bandwidth) < math.inf:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError, Unreadable):
        raise InputError(f"{path} is no peak: write it with `fallback-gate peak -f json`") from None
    return found


def figures(path: str, told: Mapping[str, Any]) -> list[Figure]:
    """What such a file measured, each with its conditions, for a claim to be held against."""
    said = told.get("sizes")
    sizes = said if isinstance(said, dict) else {}
    shapes = {
        "gemm_flops": [sizes.get("gemm")] * 3,
        "attention_flops": [1, sizes.get("heads"), sizes.get("sequence"), _HEAD],
        "copy_bandwidth": [sizes.get("bytes")],
    }
    named = {name: str(told[name])[:200] for name in ("device", "dtype") if isinstance(told.get(name), str)}
    found = []
    for metric, shape in shapes.items():
        value = told.get(metric)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        whole = all(isinstance(size, int) for size in shape)
        shaped = {"shape": "x".join(map(str, shape))} if whole else {}
        found.append(Figure(metric, float(value), path, {**named, **shaped}))
    return found
