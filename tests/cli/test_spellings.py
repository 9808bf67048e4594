"""Words of options that once were others: scripts that say them still work, and the help names those that hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fallback_gate.cli.main import cli

LOG = Path(__file__).parents[2] / "sample_logs" / "moe-decoder-h200" / "fixed.debug.log.gz"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)


@pytest.mark.parametrize("option", ["-o", "--output", "-b", "--baseline"])
def test_a_baseline_is_written_by_either_name(option: str, tmp_path: Path) -> None:
    place = tmp_path / "b.json"
    assert run("baseline", "create", LOG, option, place).exception is None
    assert place.read_text(encoding="utf-8").startswith("{")


def test_the_help_of_a_baseline_names_one() -> None:
    said = CliRunner().invoke(cli, ["baseline", "create", "--help"]).output
    assert "-o, --output FILE" in said
    assert "-b" not in said
    missing = CliRunner().invoke(cli, ["baseline", "create", "x.log"]).output
    assert "'-o' / '--output'" in missing
    assert "-b" not in missing


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_a_comparison_goes_to_files_in_one_word_or_two(option: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\nunlisted: warn\n", encoding="utf-8")
    both = ("policy", "diff", "builtin:strict", tmp_path / "p.yaml")
    one, two, three = (tmp_path / name for name in ("one.json", "two.json", "three.md"))
    assert run(*both, option, f"json={one}").return_value == 1
    assert run(*both, option, "json", two, option, f"markdown={three}").return_value == 1
    assert one.read_bytes() == two.read_bytes()
    assert three.read_text(encoding="utf-8").startswith("#")


@pytest.mark.parametrize("words", [("json",), ("yaml", "x"), ("json",) * 2 + ("-o", "json=json")])
def test_a_comparison_without_a_place_is_a_mistake(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, ["policy", "diff", "builtin:strict", "builtin:strict", "-o", *words])
    assert result.exit_code != 0


def test_a_policy_is_also_named_as_to_other_commands(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nname: mine\ncold: [{op: x}]\n", encoding="utf-8")
    for command in ("lint", "test", "show"):
        told = [run("policy", command, *words) for words in ([policy], ["-p", policy], ["--policy", policy])]
        assert all("reason" in str(one.exception) for one in told), command
    assert run("policy", "show", "-p", "builtin:strict").output.startswith("# builtin:strict,")
