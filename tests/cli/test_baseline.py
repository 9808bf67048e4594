"""`fallback-gate baseline` and `check --baseline`, as a team would use them over some builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.running import run

ROOT = Path(__file__).parents[2]
TORCH = ROOT / "sample_logs" / "torch"
DECODER = ROOT / "sample_logs" / "moe-decoder-h200"
END = "acme: finished, report on\n"
POLICY = """version: 1
hot: [{op: gate_attn}]
cold: [{op: "aten::topk", reason: sampling, owner: serving, expires: 2027-03-31}]
rules:
  - id: acme-end
    compiler: generic
    anchor: "acme: finished"
    pattern: "acme: finished, report on"
    proves: [op_fallback]
    ends: true
    matches: ["acme: finished, report on"]
"""


def code(result: Result) -> int:
    assert result.exception is None, result.output + repr(result.exception)
    return int(result.return_value)


class Team:
    """A folder with a policy, a log and a baseline."""

    def __init__(self, folder: Path) -> None:
        self.log, self.policy, self.file = folder / "c.log", folder / "p.yaml", folder / "b.json"
        self.policy.write_text(POLICY, encoding="utf-8")

    def builds(self, *ops: str, end: str = END) -> None:
        text = "".join(f"fallback to eager: op={op}\n" for op in ops)
        self.log.write_text(f"acme: start\n{text}{end}", encoding="utf-8")

    def baseline(self, command: str, *options: str) -> Result:
        file = "-o" if command == "create" else "-b"
        return run("baseline", command, self.log, file, self.file, "-p", self.policy,
                   "--today", "2026-12-01", *options)  # fmt: skip

    def check(self, today: str = "2026-12-01") -> int:
        return code(run("check", self.log, "-b", self.file, "-p", self.policy, "--today", today))


@pytest.fixture
def team(tmp_path: Path) -> Team:
    made = Team(tmp_path)
    made.builds("aten::sort", "aten::topk")
    assert code(made.baseline("create")) == 0
    return made


def test_the_build_that_made_it_passes(team: Team) -> None:
    assert team.check() == 0
    entries = json.loads(team.file.read_text(encoding="utf-8"))["entries"]
    assert [(e["op"], e["class"], e["sites"]) for e in entries] == [
        ("aten::sort", "unlisted", 1),
        ("aten::topk", "cold", 1),
    ]


@pytest.mark.parametrize("ops", [("aten::sort", "aten::histc"), ("aten::sort", "gate_attn")])
def test_what_is_added_blocks(team: Team, ops: tuple[str, ...]) -> None:
    team.builds(*ops)
    assert team.check() == 1


def test_the_expiry_of_a_cold_entry_still_counts(team: Team) -> None:
    assert team.check("2027-03-31") == 0
    assert team.check("2027-04-01") == 1


def test_an_update_only_tightens(team: Team) -> None:
    team.builds("aten::topk")
    assert team.check() == 0
    before = team.file.read_text(encoding="utf-8")
    assert code(team.baseline("update", "--check")) == 1
    assert team.file.read_text(encoding="utf-8") == before
    assert code(team.baseline("update")) == 0
    assert "aten::sort" not in team.file.read_text(encoding="utf-8")
    team.builds("aten::sort", "aten::topk")
    assert team.check() == 1


@pytest.mark.parametrize(
    ("ops", "end", "exit_code"),
    [(("aten::histc",), END, 1), ((), "", 3), (("gate_attn",), END, 1), (("aten::histc",), "", 1)],
)
def test_it_is_frozen_while_the_gate_is_red(
    team: Team, ops: tuple[str, ...], end: str, exit_code: int
) -> None:
    before = team.file.read_bytes()
    team.builds(*ops, end=end)
    refused = team.baseline("update")
    assert code(refused) == exit_code
    assert "was not written" in refused.output
    assert team.file.read_bytes() == before


def test_new_ones_are_added_on_request_alone_and_never_hot_ones(team: Team) -> None:
    team.builds("aten::sort", "aten::histc")
    assert code(team.baseline("update", "--add")) == 0
    assert team.check() == 0
    before = team.file.read_bytes()
    team.builds("aten::sort", "gate_attn")
    assert code(team.baseline("update", "--add")) == 1
    assert team.file.read_bytes() == before


def test_an_update_of_the_same_build_changes_nothing(team: Team) -> None:
    before = team.file.read_bytes()
    updated = team.baseline("update")
    assert code(updated) == 0
    assert "up to date" in updated.output
    assert team.file.read_bytes() == before


def test_create_takes_no_file_s_place_unasked(team: Team) -> None:
    result = team.baseline("create")
    assert "--force" in str(result.exception)
    assert code(team.baseline("create", "--force")) == 0


def test_create_needs_a_log_that_proves_something(tmp_path: Path) -> None:
    team = Team(tmp_path)
    team.builds("aten::sort", end="")
    refused = team.baseline("create")
    assert code(refused) == 3
    assert not team.file.exists()


def test_create_leaves_out_what_is_hot_and_says_so(tmp_path: Path) -> None:
    team = Team(tmp_path)
    team.builds("aten::sort", "gate_attn")
    created = team.baseline("create")
    assert code(created) == 1
    assert "not excused: gate_attn" in created.output
    assert team.check() == 1
    team.builds("aten::sort")
    assert team.check() == 0


def test_it_survives_an_upgrade_of_the_compiler(tmp_path: Path) -> None:
    """The same program, compiled by PyTorch 2.7.1 at one level and by 2.14.1 at another."""
    file = tmp_path / "b.json"
    old, new = TORCH / "backward-operator-debug.2.7.1.log.gz", TORCH / "backward-operator.2.14.1.log"
    assert code(run("baseline", "create", old, "-o", file, "-p", "builtin:strict")) == 0
    assert code(run("check", new, "-p", "builtin:strict")) == 1
    assert code(run("check", new, "-b", file, "-p", "builtin:strict")) == 0
    assert "up to date" in run("baseline", "update", new, "-b", file, "-p", "builtin:strict").output


def test_a_hot_operator_of_a_real_log_is_not_excused(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    log = DECODER / "custom-op.debug.log.gz"
    assert code(run("baseline", "create", log, "-o", file, "-p", "builtin:moe-serving")) == 1
    assert code(run("check", log, "-b", file, "-p", "builtin:moe-serving")) == 1


def test_show(team: Team) -> None:
    shown = run("baseline", "show", team.file)
    assert "aten::sort" in shown.output
    assert len(json.loads(run("baseline", "show", team.file, "-f", "json").output)["entries"]) == 2


def test_the_json_report_tells_of_it(team: Team) -> None:
    team.builds("aten::topk")
    said = json.loads(run("check", team.log, "-b", team.file, "-p", team.policy, "-f", "json").output)
    assert (said["baseline"]["entries"], said["baseline"]["gone"], said["proven"]) == (2, 1, True)
    assert any("could be tighter" in note for note in said["notes"])


def test_a_log_is_never_overwritten(team: Team) -> None:
    before = team.log.read_bytes()
    result = run("baseline", "create", team.log, "-o", team.log, "-p", team.policy, "--force")
    assert "overwrite an input" in str(result.exception)
    assert team.log.read_bytes() == before


def test_a_run_without_that_compiler_takes_nothing_out(team: Team, tmp_path: Path) -> None:
    """An entry is gone where its compiler ran and did not report it, not where it did not run."""
    clean = TORCH / "clean.2.14.1.log"
    result = run("baseline", "update", clean, "-b", team.file, "-p", "builtin:strict")
    assert code(result) == 0
    assert "kept 2 entries of generic" in result.output
    assert len(json.loads(team.file.read_text(encoding="utf-8"))["entries"]) == 2


def test_other_reports_show_what_the_baseline_excuses(team: Team) -> None:
    for form, word in (("junit", "it was there when the baseline was made"), ("text", "baseline")):
        said = run("check", team.log, "-b", team.file, "-p", team.policy, "--today", "2026-12-01", "-f", form)
        assert word in said.output


def test_a_blocked_report_says_that_it_is_not_in_the_baseline(team: Team) -> None:
    team.builds("aten::histc")
    told = run("check", team.log, "-b", team.file, "-p", team.policy, "--today", "2026-12-01").output
    said = " ".join(told.split())  # however wide the terminal is
    assert "BLOCKED (exit 1): aten::histc fell back and neither the policy nor the baseline allows" in said
    assert "new: it is not in the baseline" in said


def test_another_version_of_the_tool_alone_is_no_change_to_check(team: Team) -> None:
    text = team.file.read_text(encoding="utf-8")
    older = text.replace('"version": "', '"version": "0.0.')
    team.file.write_text(older, encoding="utf-8")
    assert code(team.baseline("update", "--check")) == 0
    assert code(team.baseline("update")) == 0
    assert team.file.read_text(encoding="utf-8") == text


def test_hostile_names_stay_one_entry_each_and_harmless(tmp_path: Path) -> None:
    team = Team(tmp_path)
    secret = "ghp_0123456789abcdef0123456789abcdef0123"
    ops = (b"a\xffb", b"x\xed\xa0\x80y", secret.encode(), b"q##[group]z", "\u7b97\u5b50".encode())
    log = b"".join(b"fallback to eager: op=" + op + b"\n" for op in ops)
    team.log.write_bytes(log + END.encode())
    assert code(team.baseline("create")) == 0
    text = team.file.read_text(encoding="utf-8")
    assert text.isascii()
    assert secret not in text
    assert "##[" not in text
    assert len(json.loads(text)["entries"]) == len(ops)
    assert team.check() == 0
    assert "up to date" in team.baseline("update").output
