"""The HTML report in a real Chromium: what a person sees, by mouse, by keyboard, on paper, without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from fallback_gate import Verdict, check
from fallback_gate.model import Outcome, State
from fallback_gate.reports import html
from tests.browser.conftest import Open
from tests.reports import sample
from tests.reports.test_hostile import hostile_log
from tests.reports.test_measured import measured

ROOT = Path(__file__).parents[2]
DECODER = ROOT / "sample_logs/moe-decoder-h200"


def real(name: str) -> Verdict:
    return check([DECODER / name], "builtin:moe-serving", excerpts=True)


def many_ranks() -> Verdict:
    processes = [sample.process(Outcome.BLOCKED, rank=rank) for rank in range(8)]
    findings = [
        sample.blocked(
            op=f"op_{number}",
            line=100 - number,
            ranks=(number % 8,),
            processes=(processes[number % 8].key,),
            count=number + 1,
        )
        for number in range(40)
    ]
    return sample.blocked_run(
        findings=(*findings, sample.allowed(), sample.warned()), processes=tuple(processes)
    )


def unproven() -> Verdict:
    missing = sample.proof(State.UNPROVEN, "x" * 400, setting="TORCH_LOGS=" + "abc," * 80)
    return sample.verdict(
        Outcome.UNPROVEN, 3, processes=(sample.process(Outcome.UNPROVEN, graph_break=missing),)
    )


RUNS = {
    "blocked": real("disabled.debug.log.gz"),
    "passed": real("fixed.debug.log.gz"),
    "default level": real("disabled.default.log"),
    "ranks": many_ranks(),
    "unproven": unproven(),
    "waived": sample.waived_run(),
    "no verdict": sample.verdict(None, 2, logs=(), errors=("compile.log: no such file",)),
    "measured": measured(),
}


def matching(page: Page) -> str:
    return page.locator("output").inner_text()


def names(page: Page) -> list[str]:
    return page.locator("#all-events tbody tr:visible summary code").all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("name", RUNS)
def test_readable_everywhere(show: Open, name: str, width: int, scheme: str) -> None:
    """Nothing sticks out at the side, and axe finds nothing: contrast, names, order, roles."""
    page = show(html.render(RUNS[name]), width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_screen_of_a_phone(show: Open) -> None:
    page = show(html.render(RUNS["blocked"]), width=390)
    page.set_viewport_size({"width": 390, "height": 844})
    for text in ("BLOCKED", "2 operators fell back on the hot path: gate_attn_disable and decode_step"):
        box = page.get_by_text(text, exact=True).first.bounding_box()
        assert box
        assert box["y"] + box["height"] < 844
    box = page.get_by_text("/app/model/moe_decoder.py:97").first.bounding_box()
    assert box
    assert box["y"] < 844


def test_the_proving_line_stands_out(show: Open) -> None:
    page = show(html.render(RUNS["blocked"]))
    line = page.locator(".card .proves").first
    expect(line).to_contain_text("Graph break in user code at /app/model/moe_decoder.py:97")
    expect(line.locator(".no")).to_have_text("543")
    around = page.locator(".card").first.locator(".log li .no").all_inner_texts()
    assert around == ["540", "541", "542", "543", "544", "545", "546"]
    plain = page.locator(".card .log li:not(.proves)").first
    background = "element => getComputedStyle(element).backgroundColor"
    assert line.evaluate(background) != plain.evaluate(background)


def test_filters(show: Open) -> None:
    page = show(html.render(RUNS["ranks"]))
    assert matching(page) == "42 of 42 match"
    page.get_by_label("Search").fill("op_3 decoder.py")
    assert matching(page) == "11 of 42 match"
    page.locator("select[name=rank]").select_option("3")
    assert names(page) == ["op_35", "op_3"]  # of 3 and 30 to 39, those that leave 3 when divided by 8
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("output")).to_have_text("42 of 42 match")
    page.get_by_label("Decision").select_option("allowed")
    assert names(page) == ["aten::sort"]
    page.get_by_role("button", name="Show all").click()
    page.get_by_label("Kind").select_option("op_fallback")
    assert names(page) == ["aten::topk", "aten::sort"]


def test_sorting(show: Open) -> None:
    page = show(html.render(RUNS["ranks"]))
    head = page.locator("#all-events thead th", has_text="Reports")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert names(page)[:4] == ["op_0", "op_1", "op_2", "aten::topk"]  # 1, 2, 3 and 3 reports
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert names(page)[:2] == ["op_39", "op_38"]
    page.locator("#all-events thead th", has_text="Operator").get_by_role("button").click()
    assert names(page)[2:6] == ["op_0", "op_1", "op_2", "op_3"]  # by number, not by letter
    assert head.get_attribute("aria-sort") == "none"


def test_sorting_on_a_phone(show: Open) -> None:
    page = show(html.render(RUNS["ranks"]), width=390)
    button = page.locator("#all-events thead th", has_text="Reports").get_by_role("button")
    button.click()
    button.click()
    assert names(page)[:2] == ["op_39", "op_38"]
    assert not page.locator("section:has(#logs) thead").is_visible()


def test_from_an_operator_to_its_events(show: Open) -> None:
    page = show(html.render(RUNS["ranks"]))
    page.get_by_role("button", name="op_17", exact=True).click()
    assert names(page) == ["op_17"]
    expect(page.get_by_label("Search")).to_be_focused()


def test_by_keyboard_alone(show: Open) -> None:
    page = show(html.render(RUNS["ranks"]))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("op_12")
    assert matching(page) == "1 of 42 match"
    for _ in range(6):  # decision, kind, rank, show all, the table, its first heading
        page.keyboard.press("Tab")
    heading = page.locator("#all-events thead button").first
    expect(heading).to_be_focused()
    outline = heading.evaluate("element => getComputedStyle(element).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    assert page.locator("#all-events thead th").first.get_attribute("aria-sort") == "ascending"
    for _ in range(7):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#all-events .more:visible")).to_contain_text("fingerprint")


def test_everything_is_there_without_scripts(show: Open) -> None:
    page = show(html.render(sample.many_events_run(450)), scripts=False)
    assert page.locator("#all-events tbody tr:visible").count() == 450
    assert not page.locator(".filter").is_visible()
    assert page.locator(".pick").first.is_disabled()


def test_thousands_of_events(show: Open) -> None:
    page = show(html.render(sample.many_events_run()))
    rows = page.locator("#all-events tbody tr:visible")
    assert rows.count() == 200
    page.locator("input[name=text]").fill("vendor::op_4949")
    assert matching(page) == "1 of 5,000 match"
    assert names(page) == ["vendor::op_4949"]
    page.locator("input[name=text]").fill("")
    page.locator("#events ~ .further").click()
    assert rows.count() == 1_200
    page.locator("#all-events thead th", has_text="Log line").get_by_role("button").click()
    assert (
        page.locator("#all-events tbody tr:visible td[data-value]").first.get_attribute("data-value") == "1"
    )


def test_on_paper(show: Open) -> None:
    page = show(html.render(RUNS["blocked"]), scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not page.locator("nav").is_visible()
    assert not page.locator(".filter").is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("section > details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("section > details:not([open])").count() == 1
    assert page.pdf().startswith(b"%PDF")


def test_a_hostile_log_shows_and_does_nothing(show: Open, tmp_path: Path) -> None:
    log = tmp_path / "hostile.log"
    log.write_bytes(hostile_log().encode("utf-8", "surrogateescape"))
    verdict = check([log], "builtin:strict", excerpts=True, hash_logs=True)
    page = show(html.render(verdict), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    assert page.locator("img").count() == 0
