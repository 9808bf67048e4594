"""Room 7: what makes any page of ours safe to open: all is escaped, and nothing loads or runs but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fallback_gate.model import Outcome
from fallback_gate.reports import words

TONES: Final[Mapping[Outcome | None, str]] = {
    Outcome.PASS: "good",
    Outcome.WAIVED: "care",
    Outcome.UNPROVEN: "care",
    Outcome.BLOCKED: "bad",
    None: "bad",
}
"""The colours of the answer, by the names that the style sheets have for them."""


def environment() -> Environment:
    """The templates of `reports/page`; whatever is put into one passes `safe` and jinja's escaping."""
    return Environment(
        loader=PackageLoader("fallback_gate.reports", "page"),
        autoescape=True,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def part(pages: Environment, name: str) -> str:
    """The text of a style sheet or a script that stands in a page."""
    assert pages.loader is not None
    return pages.loader.get_source(pages, name)[0]


def policy(style: str, *scripts: str) -> str:
    """The content security policy of a page with this style and these scripts, and nothing else."""
    allowed = f" script-src {' '.join(_hash(script) for script in scripts)};" if scripts else ""
    return f"default-src 'none'; style-src {_hash(style)};{allowed} base-uri 'none'; form-action 'none'"


def _safe(value: Any) -> Any:
    """What jinja puts into the page: any text of ours or a log's, made visible and redacted."""
    return words.sentence(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
