"""The front door, called from Python as the tests of several commands do."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from fallback_gate.cli.main import cli


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)
