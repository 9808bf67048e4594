"""Words that some commands take beside those of their help."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from fallback_gate.cli.main import cli


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)


def test_a_policy_is_also_named_as_to_other_commands(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nname: mine\ncold: [{op: x}]\n", encoding="utf-8")
    for command in ("lint", "test", "show"):
        told = [run("policy", command, *words) for words in ([policy], ["-p", policy], ["--policy", policy])]
        assert all("reason" in str(one.exception) for one in told), command
    assert run("policy", "show", "-p", "builtin:strict").output.startswith("# builtin:strict,")
