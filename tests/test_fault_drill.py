"""The fault drill, short: `make fault-drill` is the long one."""

from __future__ import annotations

import os

import pytest

from tests.fault_drill import drill


@pytest.mark.skipif(os.name == "nt", reason="there a process that is killed has its files open a while")
def test_a_killed_gate_tears_no_file_and_loses_none() -> None:
    became = drill(20)
    assert sum(sum(ends.values()) for ends in became.values()) == 20
    assert any(end.startswith("killed") for ends in became.values() for end in ends)
