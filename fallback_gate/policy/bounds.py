"""Room 5: the limits of what instruments measure, read from a page of YAML; `instruments.py` holds them."""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.model import measures
from fallback_gate.model.measures import QUANTITIES, SETTINGS, Limit
from fallback_gate.policy import checks
from fallback_gate.policy.instruments import Bound
from fallback_gate.policy.page import Key, Page, shown


def bounds(page: Page, top: Mapping[str, object]) -> tuple[Bound, ...]:
    """The limits under `instruments` of a page."""
    found = []
    said = checks.mapping(page, ("instruments",), top.get("instruments", {}), tuple(QUANTITIES))
    for instrument, limits in said.items():
        known, settable = QUANTITIES[instrument], SETTINGS.get(instrument, {})
        place = ("instruments", instrument)
        for name, value in checks.mapping(page, place, limits, (*known, *settable)).items():
            text = checks.text(page, (*place, name), value)
            if text is None:
                continue
            if name in settable:
                setting, advice = measures.fraction(text), 'write one, "70%"'
                read = "is no percentage" if setting is None else Limit(text, "=", setting)
            else:
                read = measures.limit(text, known[name].unit)
                advice = f'write a limit, "{"<=30%" if known[name].unit == "share" else "<=600"}"'
            if isinstance(read, str):
                page.complain((*place, name), f"{shown(text)} {read}", advice)
            else:
                found.append(Bound(instrument, name, read, page.source((*place, name))))
    return tuple(found)


def share_limit(page: Page, key: Key, value: object) -> Limit | None:
    """A limit of a share of the step: `">2%"`."""
    text = checks.text(page, key, value)
    read = None if text is None else measures.limit(text, "share")
    if isinstance(read, Limit) and not read.of_baseline:
        return read
    if text is not None:
        page.complain(key, f"{shown(text)} is no limit of a share", 'write one such as ">2%"')
    return None


def share(page: Page, key: Key, value: object) -> float | None:
    """A share of the step: `"2%"`."""
    text = checks.text(page, key, value)
    read = None if text is None else measures.limit(f"<={text}", "share")
    if isinstance(read, Limit) and not read.of_baseline:
        return read.number
    if text is not None:
        page.complain(key, f"{shown(text)} is no share", 'write one such as "2%"')
    return None
