"""Room 3: the index of the readers is what they say, and a log brings in only those that it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate.compilers import CLOSINGS, MODULES, READERS, index
from fallback_gate.compilers.library import Library, anchors_of, declared, indexed

SAMPLES = Path(__file__).parents[2] / "sample_logs"


def test_the_index_is_what_the_readers_say() -> None:
    assert indexed(MODULES, CLOSINGS) == (index.PLACES, index.ANCHORS), "run `make docs`"


def test_no_two_readers_have_one_name() -> None:
    assert len([reader for module in MODULES for reader in declared(module)]) == len(READERS)


def test_a_reader_is_known_before_it_is_read() -> None:
    library = Library({"torch.device": ("torch.device", None)}, {})
    assert ("torch.device" in library, "tvm.relax" in library, list(library)) == (
        True,
        False,
        ["torch.device"],
    )
    assert library["torch.device"].name == "torch.device"
    assert library["torch.device"] is library["torch.device"]
    with pytest.raises(KeyError):
        library["tvm.relax"]


def test_the_index_finds_the_same_as_the_readers_themselves() -> None:
    assert anchors_of(READERS) == anchors_of(dict(READERS))


@pytest.mark.parametrize(
    ("log", "there", "absent"),
    [
        ("torch/recompile-limit.2.7.1.log", "torch.graph_breaks", "tvm.relax"),
        ("tilelang/cluster-copy.0.1.15.log", "runtimes.tilelang", "runtimes.triton"),
    ],
)
def test_a_log_brings_in_the_readers_that_it_names(log: str, there: str, absent: str) -> None:
    program = (
        "import sys; from fallback_gate import check; check([sys.argv[1]]);"
        "print(*(name.partition('.compilers.')[2] for name in sys.modules if '.compilers.' in name))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, SAMPLES / log], capture_output=True, text=True, check=True
    )
    assert there in told.stdout.split()
    assert absent not in told.stdout.split()
