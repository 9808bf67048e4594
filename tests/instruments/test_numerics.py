"""Tensors against a reference: values by hand, by NumPy's own functions, and files by the formats' libraries."""

from __future__ import annotations

import json
import math
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.cli.main import cli
from fallback_gate.errors import InputError, MissingExtra
from fallback_gate.instruments import numerics, tensors


def _run(*arguments: str, code: int) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["numerics", *arguments, "-f", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == code, result.stdout
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def _npz(folder: Path, name: str, **arrays: Any) -> str:
    np.savez(folder / name, **arrays)
    return str(folder / name)


def test_errors_by_hand() -> None:
    ref = np.array([3.0, 4.0, 0.0], np.float32)
    out = np.array([3.0, 4.5, 0.25], np.float32)
    told = numerics.compare("x", ref, out)
    assert told.max_abs == 0.5
    assert told.worst_index == (1,)
    assert told.max_relative == pytest.approx(0.125)  # next to zero there is no quotient
    assert told.relative_l2 == pytest.approx(math.sqrt(0.25 + 0.0625) / 5)
    assert told.cosine == pytest.approx((9 + 18) / (5 * math.sqrt(9 + 20.25 + 0.0625)))


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        (np.float64, 3),
        (np.float32, 5),
        (np.float16, 7),
        (ml_dtypes.bfloat16, 2),
        (ml_dtypes.float8_e4m3fn, 1),
    ],
)
def test_ulp_counts_representable_numbers(kind: Any, steps: int) -> None:
    ref = np.array([1.0, -1.0, 0.0], kind)
    out = ref.copy()
    for _ in range(steps):
        out = np.nextafter(out, np.array(4.0, kind))
    assert numerics.compare("x", ref, out).max_ulp == steps
    assert numerics.compare("x", out, ref).max_ulp == steps


def test_ulp_across_zero_and_a_wider_reference() -> None:
    tiny = np.nextafter(np.float32(0), np.float32(1))
    pair = np.array([-tiny], np.float32), np.array([tiny], np.float32)
    assert numerics.compare("x", *pair).max_ulp == 2
    assert numerics.compare("x", np.array([-0.0], np.float32), np.array([0.0], np.float32)).max_ulp == 0
    # rounded to bf16, 1.001 is 1: nothing lies between
    assert numerics.compare("x", np.array([1.001]), np.array([1.0], ml_dtypes.bfloat16)).max_ulp == 0


def test_nan_and_infinity() -> None:
    ref = np.array([1.0, np.nan, np.inf, -np.inf, np.inf, 2.0])
    out = np.array([np.nan, np.nan, np.inf, np.inf, 5.0, np.inf])
    told = numerics.compare("x", ref, out)
    assert told.nonfinite == 3  # places 0, 3 and 5
    assert (told.nan, told.inf, told.reference_nan, told.reference_inf) == (2, 3, 1, 3)
    assert told.compared == 0
    assert told.max_abs is None


def test_zeros_empty_scalars_and_whole_numbers() -> None:
    zeros = np.zeros(3)
    assert numerics.compare("x", zeros, zeros).cosine == 1
    assert numerics.compare("x", zeros, zeros + 1).cosine == 0
    assert numerics.compare("x", np.zeros((0, 4)), np.zeros((0, 4))).compared == 0
    assert numerics.compare("x", np.array(2.0), np.array(2.5)).max_abs == 0.5
    big = np.array([2**60], np.int64)
    assert numerics.compare("x", big, big + 1).max_abs == 1
    assert numerics.compare("x", np.array([1 + 2j]), np.array([1 + 3j])).max_abs == 1


@given(st.lists(st.tuples(st.floats(-1e30, 1e30), st.floats(-1e30, 1e30)), min_size=1, max_size=20))
def test_against_numpy(pairs: list[tuple[float, float]]) -> None:
    ref, out = (np.array(side) for side in zip(*pairs, strict=True))
    told = numerics.compare("x", ref, out)
    assert told.max_abs == np.abs(out - ref).max()
    if np.linalg.norm(ref) > 1e-10 * max(np.linalg.norm(out), 1e-90):
        assert told.relative_l2 == pytest.approx(np.linalg.norm(out - ref) / np.linalg.norm(ref), rel=1e-9)
    assert told.cosine is not None
    assert -1 <= told.cosine <= 1


def test_the_largest_numbers_do_not_overflow_into_a_good_cosine() -> None:
    big = np.array([1e300, 1e300, -1e300])
    told = numerics.compare("x", big, -big)
    assert told.cosine == pytest.approx(-1)
    assert told.relative_l2 == pytest.approx(2)
    tiny = np.array([5e-324, 0.0])
    assert numerics.compare("x", tiny, np.array([1.0, 0.0])).max_relative == math.inf


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    ref = random.normal(size=(50, 41)).astype(np.float32)
    out = ref + random.normal(size=ref.shape).astype(np.float32) * 1e-3
    whole = numerics.compare("x", ref, out)
    monkeypatch.setattr(numerics, "_PIECE", 97)
    parts = numerics.compare("x", ref, out)
    assert (parts.max_abs, parts.worst_index, parts.max_ulp) == (
        whole.max_abs,
        whole.worst_index,
        whole.max_ulp,
    )
    assert parts.cosine == pytest.approx(whole.cosine)


def test_a_command_passes_blocks_and_names_the_tensor(tmp_path: Path) -> None:
    good = np.linspace(1, 2, 1000, dtype=np.float32)
    bad = good.copy()
    bad[17] = np.nan
    ref = _npz(tmp_path, "ref.npz", a=good, b=good)
    assert _run(ref, ref, code=0)["verdict"] == "pass"
    told = _run(ref, _npz(tmp_path, "nan.npz", a=good, b=bad), code=1)
    assert any("nonfinite of b" in reason for reason in told["reasons"])
    told = _run(ref, _npz(tmp_path, "off.npz", a=good, b=good * np.float32(1.01)), code=1)
    assert any("relative_l2_fp32 of b is 0.01" in reason for reason in told["reasons"])


def test_a_missing_tensor_and_another_shape_block(tmp_path: Path) -> None:
    ref = _npz(tmp_path, "ref.npz", a=np.ones(3), b=np.ones(3))
    told = _run(ref, _npz(tmp_path, "out.npz", a=np.ones((3, 1)), c=np.ones(3)), code=1)
    assert len(told["mismatched"]) == 2
    assert any("no reference, such as c" in note for note in told["notes"])


def test_what_has_no_finite_place_is_unproven(tmp_path: Path) -> None:
    nan = _npz(tmp_path, "nan.npz", a=np.full(3, np.nan))
    assert _run(nan, nan, code=3)["verdict"] == "unproven"


def test_the_policy_sets_limits_by_type(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(
        'version: 1\ninstruments:\n  numerics: {max_ulp_fp16: "<=2", relative_l2_fp16: "<=0.5"}\n'
    )
    one = np.ones(4, np.float16)
    ref = _npz(tmp_path, "ref.npz", a=one)
    near = _npz(tmp_path, "near.npz", a=np.nextafter(one, np.float16(2)))
    far = _npz(tmp_path, "far.npz", a=one + np.float16(0.01))
    _run(ref, near, "-p", str(policy), code=0)
    _run(ref, far, "-p", str(policy), code=1)


def test_safetensors_as_its_own_library_writes_it(tmp_path: Path) -> None:
    arrays = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "h": np.array([1.5], np.float16),
        "b": np.array([1.0, 2.0], ml_dtypes.bfloat16),
        "i": np.array([[1], [2]], np.int64),
        "empty": np.zeros((0, 3), np.float32),
    }
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file(arrays, path, metadata={"made": "by its library"})
    read = tensors.tensors(str(path))
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
    _run(str(path), str(path), code=0)


def test_another_precision_is_told(tmp_path: Path) -> None:
    ref = _npz(tmp_path, "ref.npz", a=np.ones(3, np.float32))
    told = _run(ref, _npz(tmp_path, "out.npz", a=np.ones(3, np.float16)), code=0)
    assert any("the reference is fp32 and the output fp16" in note for note in told["notes"])


def test_folders_are_matched_by_name(tmp_path: Path) -> None:
    for side, value in (("ref", 1.0), ("out", 1.0)):
        (tmp_path / side / "layer").mkdir(parents=True)
        np.save(tmp_path / side / "layer" / "q.npy", np.full(4, value))
        np.savez(tmp_path / side / "kv.npz", k=np.ones(2), v=np.ones(2))
    said = numerics.read(str(tmp_path / "ref"), str(tmp_path / "out"))
    assert [row["name"] for row in said.details["tensors"]] == ["kv/k", "kv/v", "layer/q"]


class _Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (sys.exit, ("a pickle was run",))


def test_no_pickle_is_run(tmp_path: Path) -> None:
    (tmp_path / "bomb.pt").write_bytes(pickle.dumps(_Bomb()))
    np.save(tmp_path / "objects.npy", np.array([_Bomb()], object), allow_pickle=True)
    for name in ("bomb.pt", "objects.npy"):
        with pytest.raises((InputError, MissingExtra)):
            tensors.tensors(str(tmp_path / name))


def test_torch_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pt files are torch's")
    torch.save(
        {"model": {"w": torch.ones(2, 2, dtype=torch.bfloat16)}, "l": [torch.zeros(3)]}, tmp_path / "x.pt"
    )
    read = tensors.tensors(str(tmp_path / "x.pt"))
    assert {name: array.dtype.name for name, array in read.items()} == {
        "model.w": "bfloat16",
        "l.0": "float32",
    }


def test_without_numpy_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match="pip install 'fallback-gate\\[numerics\\]'"):
        tensors.numpy()


def _header(text: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no npy, npz"),
        (b"hello world", "no npy, npz"),
        (b"\x93NUMPY\x01\x00", "not a whole file"),
        (b"PK\x03\x04 cut", "not a whole file"),
        (struct.pack("<Q", 1 << 60) + b"{}", "longer than the file"),
        (_header(b"{nothing"), "not a whole file"),
        (_header(b'{"x": 3}'), "is not whole"),
        (
            _header(b'{"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}', b"1234"),
            "not of its shape",
        ),
        (
            _header(b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}', b"12"),
            "not within the file",
        ),
        (_header(b'{"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}', b"1234"), "is not whole"),
        (
            _header(b'{"x": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}', b"12345678"),
            "not compared",
        ),
        (_header(b'{"x":' * 50_000), "not a whole file|nested"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(InputError, match=says):
        tensors.tensors(str(tmp_path / "x.bin"))


@given(
    st.binary(max_size=200),
    st.sampled_from([b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x20\0\0\0\0\0\0\0{", b""]),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory: Any, rest: bytes, magic: bytes) -> None:
    place = tmp_path_factory.mktemp("any") / "x.npy"
    place.write_bytes(magic + rest)
    try:
        tensors.tensors(str(place))
    except (InputError, MissingExtra):
        return
