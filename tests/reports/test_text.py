"""The text report: what a release engineer must find on the first screen, and what no log may do to it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate.model import (
    Class,
    Decision,
    Finding,
    Kind,
    Location,
    Outcome,
    PolicySummary,
    ProcessVerdict,
    RuleSource,
    State,
    Verdict,
)
from fallback_gate.reports import layout
from fallback_gate.reports.text import render
from tests.reports import sample
from tests.reports.test_safe import HOSTILE

RUNS = {**sample.RUNS, "many": sample.many_events_run(500)}


def lines(verdict: Verdict, **options: int) -> list[str]:
    return render(verdict, color=False, **options).splitlines()


def test_blocked() -> None:
    assert lines(RUNS["blocked"]) == [
        "BLOCKED (exit 1): gate_attn fell back on the hot path (graph break)",
        "  policy  llm-decode (policies/llm-decode.yaml)",
        "  log     compile.log (36.4 kB, torch.compile 2.11.0)",
        "",
        "Blocked",
        "  gate_attn: graph break, 2 times, rank 0 [torch/graph-break]",
        "    where   model/decoder.py:42 in gate_attn",
        "    called  gate_attn < DecoderLayer.forward",
        "    reason  Unsupported Tensor.item() call with capture_scalar_outputs=False",
        "    log     compile.log:17",
        "            | V1130 00:40:28.873000 1495 torch/_dynamo/symbolic_convert.py:5127] [0/0]",
        "            | [__graph_breaks] Graph break in user code at /app/model/decoder.py:42",
        "    rule    policies/llm-decode.yaml:4 hot: gate_attn (every token, every layer)",
        "    next    Keep the value on the device, or set torch._dynamo.config.capture_scalar_outputs = True.",
        "            https://docs.pytorch.org/docs/stable/torch.compiler_faq.html",
        "",
        "Warned",
        "  aten::topk: no generated kernel, at least 3 times, rank 0 (compile.log:70)",
        "    rule    whatever is not listed warns",
        "",
        "Allowed",
        "  op          kind         count  until       owner         reason                          rule",
        "  aten::sort  op_fallback  3+     2027-03-31  serving-team  sampling warm-up only, INF-123  line 9",
    ]


def test_unproven_says_at_once_what_to_set() -> None:
    page = lines(RUNS["default level"])
    assert page[:3] == [
        "UNPROVEN (exit 3): nothing forbidden was seen, but the evidence could not have shown graph_break,",
        "eager_frame, recompile_limit and op_fallback",
        "  next    compile again with TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code",
    ]
    assert page[page.index("Unproven") + 1 :] == [
        "  graph_break, eager_frame, recompile_limit: not proven by torch.compile in compile.log, rank 0",
        "    why     nothing in the log shows that this level was on",
        "    set     TORCH_LOGS=dynamo,graph_breaks,recompiles",
        "  op_fallback: not shown by torch.compile in compile.log, rank 0",
        "    why     this level prints no fallback kernel",
        "    set     TORCH_LOGS=output_code",
    ]


def test_64_ranks_are_one_sentence() -> None:
    page = lines(RUNS["ranks"], width=200)
    assert "  logs    64: 64 unproven" in page
    assert page[page.index("Unproven") + 1 :] == [
        "  graph_break, eager_frame: not proven by torch.compile in 64 logs "
        "(logs/rank0.log to logs/rank63.log), ranks 0-63",
        "    why     nothing in the log shows that this level was on",
        "    set     TORCH_LOGS=dynamo,graph_breaks,recompiles",
    ]


def test_thousands_of_events_stay_readable() -> None:
    page = lines(sample.many_events_run(5_000))
    assert page[0].startswith(
        "BLOCKED (exit 1): gate_attn fell back on the hot path (graph break); 4,950 other operators"
    )
    assert len(page) < 200
    assert (
        sum(1 for line in page if re.match(r"  \S+: .*\[torch/", line) or line.startswith("  gate_attn:"))
        == 20
    )
    assert "  gate_attn: graph break, at 50 places, 100 times, rank 0 [torch/graph-break]" in page
    assert "            and 45 more places" in page
    assert page[-4:] == [
        "  and 4,931 more operators (see --format json)",
        "    1,644 graph_break: graph break",
        "    1,644 device_fallback: runs on another device",
        "    1,643 op_fallback: no generated kernel",
    ]


def test_the_table_has_no_empty_column() -> None:
    rule = RuleSource({"op": "aten::topk", "reason": "router"}, "builtin:llm-serving:7")
    finding = Finding(sample.sort_event(op="aten::topk"), Class.COLD, Decision.ALLOWED, rule)
    page = lines(sample.verdict(Outcome.PASS, 0, findings=(finding,)))
    assert page[-2:] == [
        "  op          kind         count  reason  rule",
        "  aten::topk  op_fallback  3+     router  builtin:llm-serving:7",
    ]


def test_verbose_leaves_out_nothing() -> None:
    page = "\n".join(lines(sample.many_events_run(500), verbose=1))
    assert all(f"vendor::op_{number}:" in page for number in range(450))
    assert all(f"model/decoder.py:{line} in gate_attn" in page for line in range(1, 51))
    assert "torch.compile op_fallback: proven: Dynamo printed its settings (line 3)" in page


def test_verbose_names_fingerprints() -> None:
    said = render(sample.blocked_run(), color=False, verbose=1, width=100)
    assert "id      fingerprint fp-gate-attn\n" in said
    assert "id      fingerprint fp-topk\n" in said
    assert "id      fingerprint fp-sort\n" in said
    assert "fingerprint" not in render(sample.blocked_run(), color=False, width=100)


def test_an_excused_kind_is_named_in_the_headline() -> None:
    blind = sample.proof(State.UNOBSERVABLE, "this level prints no fallback kernel")
    run = sample.verdict(Outcome.PASS, 0, processes=(sample.process(Outcome.PASS, op_fallback=blind),))
    assert render(run, color=False, quiet=True, width=200) == (
        "PASS (exit 0): torch.compile ran and would have printed a fallback, except op_fallback, "
        "which the policy excuses; none was printed\n"
    )


@pytest.mark.parametrize(
    ("text", "wide"),
    [("abc", 3), ("演算子", 6), ("🚀", 2), ("e\u0301", 1), ("한", 2), ("ｱ", 1), ("❤\ufe0f", 2), ("🇩🇪", 2)],
)
def test_columns_as_a_terminal_counts_them(text: str, wide: int) -> None:
    """By Unicode's East Asian Width and emoji presentation."""
    assert layout.columns(text) == wide
    assert layout.cut(text, wide) == text
    assert layout.columns(layout.cut(text * 40, 20)) <= 20


def test_wide_names_at_forty_columns() -> None:
    event = sample.event(op="演算子🚀" * 12, reason="原因は" * 60)
    page = render(sample.blocked_run(findings=(sample.blocked(event),)), color=False, width=40)
    assert "演算子" in page
    for line in page.splitlines():
        assert layout.columns(line) <= 40


def test_quiet() -> None:
    assert lines(RUNS["blocked"], quiet=True) == [
        "BLOCKED (exit 1): gate_attn fell back on the hot path (graph break)",
        "gate_attn",
    ]
    given = sample.waived_run().waiver
    assert given is not None
    refused = given._replace(applied=False, problem="it has expired")
    assert lines(replace(RUNS["blocked"], waiver=refused), quiet=True)[1].startswith(
        "  waiver  waiver not applied, it has expired; it is for release r17"
    )


def test_headline_and_list_have_one_order() -> None:
    rare, frequent = (
        replace(sample.blocked(sample.event(op=name, count=count)), event_class=Class.HOT)
        for name, count in (("rare", 1), ("frequent", 9))
    )
    page = lines(sample.blocked_run(findings=(rare, frequent)))
    assert "frequent and rare" in page[0]
    heads = [line.split(":")[0].strip() for line in page if "[torch/graph-break]" in line]
    assert heads == ["frequent", "rare"]
    short = lines(sample.blocked_run(findings=(rare, frequent)), quiet=True)
    assert short[-2:] == ["frequent", "rare"]


def test_a_waiver_does_not_cover_what_is_unproven() -> None:
    waived = sample.waived_run()
    assert waived.waiver is not None
    open_run = replace(waived, outcome=Outcome.UNPROVEN, exit_code=3, reasons=("the policy expects 2 ranks",))
    page = lines(open_run, width=160)
    assert page[0] == (
        "UNPROVEN (exit 3): gate_attn is waived, but the run is unproven, which a waiver does not cover: "
        "the policy expects 2 ranks"
    )
    assert page[1].startswith(
        "  waiver  the waiver covers what is blocked and does not let the run through; it is for"
    )
    two = replace(open_run, findings=(sample.blocked(), sample.blocked(sample.sort_event())))
    assert "2 operators are waived, but the run is unproven" in lines(two, width=160)[0]
    limit = replace(open_run, findings=(sample.allowed(),))
    assert "the limit that is exceeded is waived, but the run is unproven" in lines(limit, width=160)[0]


def test_waiver_heads_the_report() -> None:
    page = lines(RUNS["waived"], width=140)
    assert page[:2] == [
        "WAIVED (exit 0): a waiver for this release overrides the block: gate_attn fell back on the hot path (graph break)",
        "  waiver  waived for release r17 by Ada Wong until 2026-12-05: customer demo, fix is INF-130 (waivers/r17.yaml)",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exit_code": 0}, "  exit    0: asked for by --exit-zero; the verdict stays blocked"),
        (
            {"exit_code": 2, "errors": ("b.log: no such file",)},
            "  exit    2: an input could not be read; the verdict stays blocked",
        ),
    ],
)
def test_an_exit_code_that_is_not_the_verdicts(changes: dict[str, object], said: str) -> None:
    assert said in lines(replace(sample.blocked_run(), **changes))


def test_no_verdict() -> None:
    assert lines(RUNS["no verdict"])[0] == "NO VERDICT (exit 2): compile.log: no such file"


def test_logs_that_were_not_judged() -> None:
    logs = (
        sample.log(Outcome.PASS, "a.log"),
        sample.log(None, "notes.txt", recognised=False, problem="no known compiler spoke"),
    )
    page = lines(sample.verdict(Outcome.PASS, 0, logs=logs))
    assert "  logs    2: 1 pass, 1 not recognised, not judged" in page
    assert "          notes.txt (36.4 kB, not recognised, not judged): no known compiler spoke" in page


def test_a_process_without_a_compiler() -> None:
    silent = ProcessVerdict(
        "app.log", 3, None, Outcome.UNPROVEN, (), "no known compiler spoke in this process"
    )
    page = lines(sample.verdict(Outcome.UNPROVEN, 3, processes=(silent,)))
    assert page[0] == (
        "UNPROVEN (exit 3): nothing forbidden was seen, but no known compiler spoke in this process"
    )
    assert "  everything: not proven by app.log, rank 3" in page


def test_what_a_passing_process_leaves_open_is_no_gap() -> None:
    excused = sample.proof(State.UNOBSERVABLE, "this level does not show it")
    run = sample.verdict(Outcome.PASS, 0, processes=(sample.process(Outcome.PASS, op_fallback=excused),))
    assert "Unproven" not in lines(run)


def test_unnamed_and_unlisted() -> None:
    finding = Finding(sample.event(op="*", location=None), Class.UNLISTED, Decision.BLOCKED)
    page = lines(sample.blocked_run(findings=(finding,), policy=PolicySummary("strict", None, None)))
    assert page[0] == (
        "BLOCKED (exit 1): unnamed operator fell back and the policy does not allow it (graph break)"
    )
    assert "  policy  strict (no policy file)" in page
    assert "    rule    whatever is not listed blocks" in page


def test_budget_and_notes() -> None:
    page = lines(
        sample.verdict(Outcome.BLOCKED, 1, reasons=("budget graph_break: 3, at most 0",), notes=("a\nb",))
    )
    assert page[0] == "BLOCKED (exit 1): budget graph_break: 3, at most 0"
    assert page[-3:] == ["Notes", "  - a", "  - b"]


def test_a_short_excerpt_stands_beside_its_place() -> None:
    page = lines(sample.blocked_run(findings=(sample.blocked(text="fallback to eager: op=gate_attn"),)))
    assert "    log     compile.log:17 | fallback to eager: op=gate_attn" in page


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [24, 40, 79, 80, 100, 200])
@pytest.mark.parametrize("verbose", [0, 1])
def test_each_line_fits(name: str, width: int, verbose: int) -> None:
    page = lines(RUNS[name], width=width, verbose=verbose)
    assert page
    for line in page:
        assert layout.columns(line) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("name", RUNS)
def test_colour_only_adds_codes(name: str) -> None:
    coloured = render(RUNS[name], color=True)
    assert "\x1b[" in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in bare.splitlines()] == lines(RUNS[name])
    assert "\x1b" not in render(RUNS[name], color=False)


@settings(max_examples=80)
@given(st.data(), st.integers(24, 120))
def test_hostile_text_in_every_field(data: st.DataObject, width: int) -> None:
    """Nothing that a log says is obeyed by a terminal or a CI runner, or breaks a line's width."""

    def hostile() -> str:
        return data.draw(
            st.one_of(HOSTILE, st.sampled_from(["::error::x", "\n::error::x", "##[error]x", "演算子" * 9]))
        )

    event = sample.event(
        **{field: hostile() for field in ("op", "id", "reason", "log", "text", "help", "layer")},
        stack=(hostile(),),
        location=Location(hostile(), 7, hostile()),
        kind=data.draw(st.sampled_from(Kind)),
    )
    rule = RuleSource({"op": hostile(), "reason": hostile(), "owner": hostile()}, hostile())
    missing = sample.proof(State.UNPROVEN, hostile(), setting=hostile())
    run = sample.blocked_run(
        findings=tuple(Finding(event, Class.HOT, decision, rule, hostile()) for decision in Decision),
        processes=(sample.process(Outcome.UNPROVEN, log=hostile(), graph_break=missing),),
        policy=PolicySummary(hostile(), hostile(), None),
        logs=(sample.log(Outcome.BLOCKED, hostile(), problem=hostile()),),
        **{field: (hostile(),) for field in ("reasons", "errors", "notes")},
    )
    for verbose in (0, 1):
        text = render(run, color=False, width=width, verbose=verbose)
        for line in text.split("\n"):
            assert not line.lstrip().startswith("::")
            assert not re.search(r"##\w*\[(?!\\|$)", line)
            assert layout.columns(line) <= width + 1
            assert re.fullmatch(r"[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]*", line)


def test_secrets_stay_out() -> None:
    secret = "ghp_" + "a1B2" * 9
    event = sample.event(
        op=secret, reason=secret, text=secret, help=secret, location=Location(secret, 1, secret)
    )
    run = sample.blocked_run(
        findings=(sample.blocked(event),), notes=(secret,), reasons=(secret,), errors=(secret,)
    )
    assert secret not in render(run, color=False, width=400, verbose=2)


def test_a_long_reason_is_cut_and_help_is_not() -> None:
    event = sample.event(reason="because " * 500, help="step " * 200)
    page = "\n".join(lines(sample.blocked_run(findings=(sample.blocked(event),))))
    assert page.count("because") < 100
    assert page.count("step") == 200


def test_text_needs_no_library_of_another_format() -> None:
    code = "import sys, fallback_gate.reports.text; print({'junit_xml', 'xml.etree.ElementTree', 'json'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
