"""What instruments measured, in every report that shows it, read as each of its readers does."""

from __future__ import annotations

import json

import html5lib
import pytest
from junitparser import JUnitXml

from fallback_gate.model import Verdict
from fallback_gate.model.measures import Cost, Limit, Measured, Measurement, State
from fallback_gate.reports import github, gitlab, html, junit, markdown, sarif
from tests.reports import consumers, sample
from tests.reports.test_hostile import NASTY
from tests.reports.test_markdown import shown, tables


def measured() -> Verdict:
    """A share over its limit, a count within one of the baseline, and one without a limit."""
    return sample.blocked_run(
        measurements=(
            Measured(Measurement("trace", "steps", 3.0, "d.json"), State.UNLIMITED),
            Measured(
                Measurement("trace", "kernels_per_step", 1526.0, "d.json", baseline=469.0),
                State.MET,
                Limit("<=400% of baseline", "<=", 4.0, True),
                "policies/llm-decode.yaml:12",
            ),
            Measured(
                Measurement("trace", "eager_kernel_share", 0.82, "d.json"),
                State.EXCEEDED,
                Limit("<=30%", "<=", 0.3),
            ),
        )
    )


EXPECTED = [
    ["trace.eager_kernel_share", "82.0%", "", "<=30% by default", "over the limit", "d.json"],
    [
        *("trace.kernels_per_step", "1,526 kernels", "469 kernels"),
        *("<=400% of baseline policies/llm-decode.yaml:12", "within the limit", "d.json"),
    ],
    ["trace.steps", "3 steps", "", "", "", "d.json"],
]


def test_markdown() -> None:
    found = consumers.rendered(markdown.render(measured()))
    (table,) = [rows for rows in tables(found) if rows[0][0] == "quantity"]
    assert table[0] == ["quantity", "value", "baseline", "limit", "state", "file"]
    told = [[cell.strip("❌✅ ") for cell in row] for row in table[1:]]
    assert [row[:3] + row[4:] for row in told] == [row[:3] + row[4:] for row in EXPECTED]
    assert told[1][3] == "<=400% of baselinepolicies/llm-decode.yaml:12"  # a line break stands between them


def test_html() -> None:
    page = html5lib.parse(html.render(measured()), namespaceHTMLElements=False)
    (region,) = [e for e in page.iter("div") if e.get("aria-label") == "Measured"]
    assert region.get("tabindex") == "0"
    heading, *rows = list(region.iter("tr"))
    assert [cell.get("scope") for cell in heading] == ["col"] * 6
    assert [row[0].get("scope") for row in rows] == ["row"] * 3
    empty = {2: "-", 3: "none", 4: "-"}
    assert [[shown(cell) for cell in row] for row in rows] == [
        [cell or empty[at] for at, cell in enumerate(row)] for row in EXPECTED
    ]
    assert [row[1].get("data-value") for row in rows] == ["0.82", "1526.0", "3.0"]
    assert any(e.get("href") == "#measured" for e in page.iter("a"))


def test_junit_has_a_passing_case_for_each_limit_that_holds() -> None:
    cases = {
        case.name: case for suite in JUnitXml.fromstring(junit.render(measured()).encode()) for case in suite
    }
    case = cases["kernels_per_step: within the limit"]
    assert case.is_passed
    assert "1,526 kernels (baseline 469 kernels)" in case.system_out
    assert not any(name.startswith("steps") for name in cases)


@pytest.mark.parametrize("nasty", NASTY)
def test_a_name_out_of_a_file_is_never_live(nasty: str) -> None:
    one = Measured(Measurement("counters", "fingerprints", 1.0, nasty, subject=nasty), State.UNLIMITED)
    verdict = sample.blocked_run(measurements=(one,))
    page = html5lib.parse(html.render(verdict), namespaceHTMLElements=False)
    (region,) = [e for e in page.iter("div") if e.get("aria-label") == "Measured"]
    (table,) = [
        t for t in consumers.rendered(markdown.render(verdict)).iter("table") if "quantity" in shown(t)
    ]
    for part in (region, table):
        assert len(list(part.iter("tr"))) == 2
        assert len(list(list(part.iter("tr"))[1])) == 6
        assert not {e.tag for e in part.iter() if isinstance(e.tag, str)} & {"a", "img", "script", "details"}
        assert not consumers.INVISIBLE.search("".join(part.itertext()))


COST = Cost(1168, 4281, 0.841, "compile 1/0, around its graphs", 32_912)
SAID = "1,168 kernels and 4,281 us in a step, 32,912 us of the host, 84.1% of it (by compile 1/0, around its graphs)"


def test_each_report_says_what_a_fallback_costs() -> None:
    verdict = sample.blocked_run(findings=(sample.blocked(cost=COST),))
    page = html5lib.parse(html.render(verdict), namespaceHTMLElements=False)
    assert SAID in shown(page)
    assert SAID in shown(consumers.rendered(markdown.render(verdict)))
    cases = [case for suite in JUnitXml.fromstring(junit.render(verdict).encode()) for case in suite]
    assert any(f"cost: {SAID}" in (result.text or "") for case in cases for result in case.result)
    assert consumers.obeyed(github.render(verdict))[0].message.split("\n")[2] == f"cost: {SAID}"
    assert f"Costs {SAID}." in json.loads(gitlab.render(verdict))[0]["description"]
    (result,) = json.loads(sarif.render(verdict))["runs"][0]["results"]
    assert result["rank"] == 84.1
    assert f"Costs {SAID}." in result["message"]["text"]
