"""The knowledge laid open: `rules list|show|test|anchors` and `explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fallback_gate import check
from fallback_gate.cli.main import cli
from fallback_gate.compilers import READERS
from fallback_gate.errors import InputError, PolicyError
from fallback_gate.model import Kind, Outcome

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "your-compiler.md"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def taught(tmp_path: Path, old: str = "", new: str = "") -> Path:
    """The rules file that the docs page shows."""
    text = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    assert old in text
    file = tmp_path / "compiler-rules.yaml"
    file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return file


def test_list_has_each_id_once() -> None:
    ids = [line.split()[0] for line in run("rules", "list").splitlines()]
    declared = {entry.id for reader in READERS.values() for entry in reader.entries}
    assert len(ids) == len(set(ids))
    assert set(ids) == declared


def test_list_of_one_compiler() -> None:
    assert run("rules", "list", "--compiler", "generic").split()[:3] == [
        "generic/fallback-to-eager", "op_fallback", "generic",
    ]  # fmt: skip


def test_list_for_machines() -> None:
    listed = {one["id"]: one for one in json.loads(run("rules", "list", "--format", "json"))}
    said = listed["generic/fallback-to-eager"]
    assert (said["kind"], said["scope"]) == ("op_fallback", "operator")
    assert said["anchor"] == ["fallback to eager: op=", "Fallback to eager: op="]


def test_show_has_anchor_pattern_and_lines() -> None:
    shown = run("rules", "show", "generic/fallback-to-eager")
    assert "  - fallback to eager: op=" in shown
    assert "(?P<op>" in shown
    assert "  - no fallback to eager" in shown


def test_anchors_are_literals_one_a_line() -> None:
    anchors = run("rules", "anchors").splitlines()
    assert len(anchors) == len(set(anchors)) > 90
    assert "fallback to eager: op=" in anchors
    for reader in READERS.values():
        for entry in reader.entries:
            for line in entry.matches:
                assert any(anchor in line for anchor in anchors), line


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("torch/graph-break", ["eager interpreter", "torch.compile", "graph_break"]),
        ("graph_break", ["torch/graph-break"]),
        ("torch.compile", ["# torch.compile", "TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code"]),
    ],
)
def test_explain(id: str, words: list[str]) -> None:
    explained = run("explain", id)
    for word in words:
        assert word in explained


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("vllm", "vLLM"),
        ("TensorRT-LLM", "tensorrt_llm"),
        ("tensorrt", "tensorrt"),
        ("pytorch", "torch.compile"),
        ("onnx", "onnxruntime"),
        ("sglang", "SGLang"),
        ("trt", "tensorrt"),
        ("ort", "onnxruntime"),
        ("hpu", "gaudi"),
        ("torch_compile", "torch.compile"),
    ],
)
def test_explain_knows_the_names_that_people_use(id: str, name: str) -> None:
    assert run("explain", id).startswith(f"# {name}\n")


def test_explain_lists_a_family() -> None:
    result = CliRunner().invoke(cli, ["explain", "tvm"])
    assert result.exit_code == 2
    assert "tvm.build, tvm.byoc, tvm.relax" in result.output


def test_a_list_of_what_people_call_a_compiler() -> None:
    assert run("rules", "list", "-c", "trt") == run("rules", "list", "-c", "tensorrt")
    listed = run("rules", "list", "-c", "TVM")
    assert {line.split()[0][:4] for line in listed.splitlines()} == {"tvm-"}


def test_explain_a_marker() -> None:
    marker = READERS["torch.compile"].markers[0]
    assert marker.shows in run("explain", marker.id)


def test_each_kind_has_its_cost() -> None:
    for kind in Kind:
        assert len(run("explain", kind.value)) > 60


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("explain", "torch/graph-brake"), "torch/graph-break"),
        (("rules", "show", "generic/fallback-eager"), "generic/fallback-to-eager"),
        (("rules", "list", "--compiler", "torch.compil"), "torch.compile"),
    ],
)
def test_an_unknown_name_says_the_nearest(arguments: tuple[str, ...], nearest: str) -> None:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 2
    assert nearest in result.output


def test_the_page_teaches_a_compiler(tmp_path: Path) -> None:
    said = run("rules", "test", str(taught(tmp_path)))
    assert said in PAGE.read_text(encoding="utf-8")


def test_rules_are_tried_on_a_log(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("start\n[rank0]: housec: gate_attn lowered to a loop\nhousec: finished, report level 2\n")
    said = run("rules", "test", str(taught(tmp_path)), str(log))
    assert "build.log: 1 reports, 1 markers" in said
    assert "  2: house/loop gate_attn" in said


def test_taught_rules_judge(tmp_path: Path) -> None:
    rules = str(taught(tmp_path))
    end = "housec: finished, report level 2\n"
    for text, code in (("", 3), (end, 0), ("housec: gate_attn lowered to a loop\n" + end, 1)):
        log = tmp_path / "build.log"
        log.write_text("housec: start\n" + text)
        result = CliRunner().invoke(
            cli, ["check", str(log), "--rules", rules, "--policy", "builtin:strict"], standalone_mode=False
        )
        assert result.return_value == code, result.output


def test_an_anchor_without_a_match_is_told(tmp_path: Path) -> None:
    """A rule that is too narrow would miss its message in silence."""
    rules = taught(tmp_path, r"(?P<op>\S+) lowered", r"(?P<op>\w+) lowered")
    log = tmp_path / "build.log"
    log.write_text("housec: my::topk lowered to a loop\nhousec: 7 operators were lowered to a loop\n")
    told = "build.log:1: has the anchor of house/loop, but its pattern does not match".partition(":")[2]
    said = run("rules", "test", str(rules), str(log))
    assert told in said
    assert "7 operators" not in said
    log.write_text(log.read_text() + "housec: finished, report level 2\n")
    for strict, outcome in ((False, Outcome.PASS), (True, Outcome.UNPROVEN)):
        verdict = check([log], "builtin:strict", rules=[rules], strict=strict)
        assert verdict.outcome is outcome
        assert [one for one in (*verdict.notes, *verdict.reasons) if "anchor of house/loop" in one]


def test_strict_judges_each_file_that_was_found(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    rules = taught(tmp_path)
    (tmp_path / "logs" / "rank0.log").write_text("housec: finished, report level 2\n")
    (tmp_path / "logs" / "rank1.log").write_text("starting\n")
    assert check([tmp_path / "logs"], "builtin:strict", rules=[rules]).outcome is Outcome.PASS
    assert (
        check([tmp_path / "logs"], "builtin:strict", rules=[rules], strict=True).outcome is Outcome.UNPROVEN
    )


def test_a_rule_that_is_wrong_about_its_own_line(tmp_path: Path) -> None:
    file = taught(tmp_path, "housec: grouped_gemm lowered to a loop", "housec: grouped_gemm in a loop")
    with pytest.raises(PolicyError, match=re.escape("compiler-rules.yaml:")):
        CliRunner().invoke(cli, ["rules", "test", str(file)], catch_exceptions=False, standalone_mode=False)


def test_a_file_without_rules(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("version: 1\n")
    with pytest.raises(InputError, match="no `rules`"):
        check([PAGE], "builtin:strict", rules=[file])
    with pytest.raises(InputError, match="no `rules`"):
        CliRunner().invoke(cli, ["rules", "test", str(file)], catch_exceptions=False, standalone_mode=False)


def own(tmp_path: Path) -> str:
    """The rules that the page teaches, with what they mean, what to do, and a line that says only who ran."""
    return str(
        taught(
            tmp_path,
            "  - id: house/done\n",
            "    meaning: the expert runs as a loop\n    next: Ask for a grouped kernel.\n"
            "  - id: house/start\n    compiler: housec\n    anchor: 'housec: version'\n"
            "    pattern: 'housec: version \\d+'\n    starts: true\n    meaning: housec is at work\n"
            "    matches: ['housec: version 3']\n  - id: house/done\n",
        )
    )


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("hot: [{op: gate_attn, why: every token}]", "hot"),
        ("budgets: {graph_break: 0}", "budgets"),
        ("expect: {compilers: [acme]}", "expect.compilers"),
        ("proof: {required: [graph_break]}", "proof.required"),
        ("unlisted: warn", "unlisted"),
        ("extends: ['builtin:llm-decode']", "hot"),
    ],
)
def test_what_would_judge_nothing_is_a_mistake(tmp_path: Path, more: str, key: str) -> None:
    rules = Path(own(tmp_path))
    rules.write_text(f"{rules.read_text()}{more}\n")
    with pytest.raises(InputError, match=f"messages alone, and its `{key}` would judge nothing"):
        check([PAGE], "builtin:strict", rules=[rules])


@pytest.mark.parametrize("option", ["--rules", "--policy"])
def test_own_messages_are_listed_and_explained(tmp_path: Path, option: str) -> None:
    file = own(tmp_path)
    listed = run("rules", "list", option, file)
    assert "house/loop" in listed
    assert "torch/graph-break" in listed
    assert [line.split()[0] for line in run("rules", "list", "-c", "housec", option, file).splitlines()] == [
        "house/loop", "house/start", "house/done",
    ]  # fmt: skip
    explained = run("explain", "house/loop", option, file)
    assert "the expert runs as a loop" in explained
    assert "Ask for a grouped kernel." in explained
    assert "housec is at work" in run("explain", "house/start", option, file)
    assert "house/loop" in run("explain", "housec", option, file)
    assert "lowered to a loop" in run("rules", "show", "house/loop", option, file)
    assert CliRunner().invoke(cli, ["explain", "house/loop"]).exit_code == 2


def test_a_report_shows_what_it_means_and_what_to_do(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("housec: gate_attn lowered to a loop\n")
    (found,) = check([log], "builtin:strict", rules=[own(tmp_path)]).findings
    assert found.event.help == "the expert runs as a loop. Ask for a grouped kernel."


def test_a_line_that_says_only_who_ran_makes_that_process_owe_a_proof(tmp_path: Path) -> None:
    log, other = tmp_path / "a.log", tmp_path / "b.log"
    log.write_text("housec: version 3\nhousec: finished, report level 2\n")
    rules = own(tmp_path)
    assert check([log], "builtin:strict", rules=[rules]).outcome is Outcome.PASS
    other.write_text("housec: version 3\n")
    verdict = check([log, other], "builtin:strict", rules=[rules])
    assert verdict.outcome is Outcome.UNPROVEN
    (compiler,) = verdict.processes[1].compilers
    assert "house/start" in compiler.proof[Kind.REFERENCE_KERNEL].why


def test_words_of_others_are_not_obeyed(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "version: 1\nrules:\n"
        '  - {id: "::error::x", compiler: c, anchor: house, pattern: "house (?P<op>.*)", kind: op_fallback,\n'
        '     scope: operator, matches: ["house x"], meaning: "##[error]a \\u202e\\e[2J"}\n',
        encoding="utf-8",
    )
    log = tmp_path / "a.log"
    log.write_text("house ##[error]y\n", encoding="utf-8")
    for said in (
        run("rules", "test", str(file), str(log)),
        run("rules", "list", "--rules", str(file)),
        run("rules", "list", "-f", "json", "--rules", str(file)),
        run("rules", "show", "::error::x", "--rules", str(file)),
        run("explain", "::error::x", "--rules", str(file)),
    ):
        assert "::error::x" in said
        assert not any(line.lstrip().startswith("::") for line in said.splitlines())
        assert not [word for word in ("##[error]", "\u202e", "\x1b") if word in said]
