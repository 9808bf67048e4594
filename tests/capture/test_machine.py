"""What a recording notes of its machine: kernel caches and how old they are, devices, drivers, installation times."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
import yaml

from fallback_gate.capture.caches import caches
from fallback_gate.capture.found import Installed, installed
from fallback_gate.capture.machine import environment as machine
from fallback_gate.sources import seal

from .recording import PRINT_CLEAN, environment, record, run

OLD, NEW = 1_760_000_000, 1_764_000_000  # 2025-10-09 and 2025-11-24


def filled(folder: Path, *times: int) -> Path:
    folder.mkdir(parents=True)
    for number, time in enumerate(times):
        path = folder / f"{number}.cubin"
        path.write_bytes(b"x")
        os.utime(path, (time, time))
    return folder


def test_a_cache_that_a_variable_names(tmp_path: Path) -> None:
    folder = filled(tmp_path / "t", OLD, NEW, NEW + 1)
    (found,) = (
        one
        for one in caches(
            {"TRITON_CACHE_DIR": str(folder), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
            {"triton": Installed("3.6.0", NEW)},
        )
        if one.compiler == "triton"
    )
    assert (found.files, found.older, found.of, found.set_by) == (3, 1, "triton", "TRITON_CACHE_DIR")
    assert (found.oldest, found.newest) == ("2025-10-09T08:53:20+00:00", "2025-11-24T16:00:01+00:00")


@pytest.mark.parametrize(
    ("below", "compiler"),
    [
        (".triton/cache", "triton"),
        (".cache/vllm/torch_compile_cache", "vLLM"),
        (".tilelang/cache", "tilelang"),
        (".cache/tvm-ffi", "tvm"),
        (".nv/ComputeCache", "cuda"),
        (".cache/flashinfer", "flashinfer"),
    ],
)
def test_where_caches_are_by_default(tmp_path: Path, below: str, compiler: str) -> None:
    filled(tmp_path / below, OLD)
    found = caches({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}, {})
    assert [(one.compiler, one.set_by, one.older) for one in found if one.path.startswith(str(tmp_path))] == [
        (compiler, None, 0)
    ]


def test_below_what_a_variable_names(tmp_path: Path) -> None:
    filled(tmp_path / "v" / "torch_compile_cache", OLD)
    (found,) = (
        one for one in caches({"VLLM_CACHE_ROOT": str(tmp_path / "v"), "HOME": "/nowhere"}, {}) if one.set_by
    )
    assert found.compiler == "vLLM"


def test_buckets_and_empty_folders_are_no_cache(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    variables = {
        "NEURON_COMPILE_CACHE_URL": "s3://bucket/cache",
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "empty"),
    }
    found = caches({**variables, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}, {})
    assert not [one for one in found if one.compiler in ("neuron", "jax")]


def test_packages_tell_since_when_they_are_here() -> None:
    python, found = installed([sys.executable], environment(), ["pyyaml", "no-such-package"])
    assert python == ".".join(map(str, sys.version_info[:3]))
    assert list(found) == ["pyyaml"]
    assert found["pyyaml"].version == yaml.__version__
    folder = next(Path(yaml.__file__).parents[1].glob("[pP]y[yY][aA][mM][lL]-*.dist-info"))
    assert found["pyyaml"].since == pytest.approx(folder.stat().st_mtime)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script in the place of a vendor's tool")
def test_devices_and_the_driver_come_from_the_vendor_s_tool(tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\necho 'NVIDIA H200, 580.159.04'\necho 'NVIDIA H200, 580.159.04'\necho 'NVIDIA T4, 580.159.04'\n"
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    told = machine({"PATH": str(tmp_path), "HOME": str(tmp_path)}, "3.12.3", {})
    assert told.devices == ("2 x NVIDIA H200", "NVIDIA T4")
    assert [(one.name, one.version) for one in told.drivers if one.name == "nvidia"] == [
        ("nvidia", "580.159.04")
    ]
    assert "Python 3.12.3" in told.platform
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert machine({"PATH": str(tmp_path)}, None, {}).devices == ()


def test_the_header_holds_it_and_the_verdict_warns(tmp_path: Path) -> None:
    """A cache that is older than any package here."""
    cache = filled(tmp_path / "home" / ".triton" / "cache", 946_684_800)
    variables = {"TRITON_CACHE_DIR": str(cache), "HOME": str(tmp_path / "home")}
    assert record(tmp_path, PRINT_CLEAN, "--log", "c.log", variables=variables).returncode == 0
    header = seal.read((tmp_path / "c.log").read_bytes().split(b"\n")[0], seal.HEADER)
    assert header is not None
    kept = {one["compiler"]: one for one in header["environment"]["caches"]}
    assert kept["triton"]["oldest"] == "2000-01-01T00:00:00+00:00"
    told = json.loads(run(tmp_path, "check", "c.log", "-f", "json").stdout)["environment"]
    assert told["sources"] == ["c.log"]
    assert {one["compiler"]: one for one in told["caches"]}["triton"]["path"] == str(cache)


def test_the_record_of_a_machine_is_what_check_takes(tmp_path: Path) -> None:
    done = run(tmp_path, "record", "--print-environment", "--", sys.executable)
    assert done.returncode == 0, done.stderr
    (tmp_path / "e.json").write_bytes(done.stdout)
    (tmp_path / "c.log").write_text("fallback to eager: op=x\n", encoding="utf-8")
    told = json.loads(run(tmp_path, "check", "c.log", "--environment", "e.json", "-f", "json").stdout)
    assert told["environment"]["platform"] == json.loads(done.stdout)["platform"]
