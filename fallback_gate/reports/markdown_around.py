"""Room 7: of the Markdown report, what is around a run: what is ruled out, claims, the rollback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fallback_gate.model import Verdict
from fallback_gate.reports import around, safe, words

MOST_CLAIMS = 30
LONGEST = 600  # characters of a sentence


def sections(verdict: Verdict) -> Iterator[str]:
    """The lines; none where nothing was given."""
    given = verdict.exclusions
    if given:
        yield from ("#### Exclusions", "", f"**{_words(given.conclusion)}**", "")
        yield from ("| cause | state | why |", "| --- | --- | --- |")
        yield from (_row(row) for row in around.exclusion_rows(given))
        yield from _bullets(given.facts)
    claims = around.claim_rows(verdict)
    if claims:
        yield from ("", "#### Claims", "", "| claim | state | measured |", "| --- | --- | --- |")
        yield from (_row(row) for row in claims[:MOST_CLAIMS])
        if len(claims) > MOST_CLAIMS:
            yield from (
                "",
                f"And {words.number(len(claims) - MOST_CLAIMS, 'more claim')}, in the JSON report.",
            )
    told = around.rollback(verdict)
    if told:
        yield from _bullets([f"rollback: {told}"])


def _words(text: str) -> str:
    return safe.markdown(safe.shorten(words.sentence(text), LONGEST))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_words, cells))} |"


def _bullets(sentences: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(sentences):
        yield from ([] if number else [""])
        yield f"- {_words(text)}"
