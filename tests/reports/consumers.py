"""What the consumers of reports do with them, by their own code where there is any, else as they document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import cmarkgfm
import html5lib
import jsonschema
from cmarkgfm.cmark import Options

SCHEMA = json.loads(Path(__file__).parents[1].joinpath("data/sarif-schema-2.1.0.json").read_text())
_COMMAND = re.compile(r"::(?P<name>[a-z-]+)(?: (?P<told>.*?))?::(?P<data>.*)")
_UNESCAPED = {"%3A": ":", "%2C": ",", "%0D": "\r", "%0A": "\n", "%25": "%"}
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\ud800-\udfff]"
)


class Command(NamedTuple):
    """A workflow command as GitHub's runner understands it."""

    name: str
    told: dict[str, str]
    message: str


def obeyed(text: str) -> list[Command]:
    """What GitHub's runner obeys in a step's output (`ActionCommand.cs`): the new form at a line's start,
    blanks before it ignored, the old form anywhere."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        match = _COMMAND.fullmatch(line.strip())
        if match:
            pairs = (pair.partition("=") for pair in (match["told"] or "").split(",") if pair)
            told = {key.strip(): _unescaped(value) for key, _, value in pairs}
            found.append(Command(match["name"], told, _unescaped(match["data"])))
        old = re.search(r"##\[(?P<name>[^\] ]+)[^\]]*\](?P<data>.*)", line)
        if old and not old["name"].startswith("\\"):
            found.append(Command(old["name"], {}, old["data"]))
        azure = re.search(r"##(vso|teamcity)\[(?!\\)", line)
        if azure:
            found.append(Command(azure[1], {}, line))
    return found


def _unescaped(text: str) -> str:
    for escape, character in _UNESCAPED.items():
        text = text.replace(escape, character)
    return text


def rendered(markdown: str) -> Any:
    """The page that GitHub's own Markdown library makes of a text, tags and all, as a tree."""
    page = cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    return html5lib.parse(page, namespaceHTMLElements=False)


def validate_sarif(document: Any) -> None:
    """Raise unless the official schema takes it, and the limits and demands of GitHub's pages are kept."""
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(document)
    (run,) = document["runs"]
    assert len(run["results"]) <= 25_000
    for result in run["results"]:
        for location in result["locations"]:
            at = location["physicalLocation"]
            assert not re.match(r"/|[A-Za-z][A-Za-z0-9+.-]*:|.*(^|/)\.\.(/|$)", at["artifactLocation"]["uri"])
            assert at["region"]["startLine"] >= 1
        assert result["locations"]
        assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
        assert "primaryLocationLineHash" not in result["partialFingerprints"]
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["properties"]["tags"]) <= 10


def validate_code_quality(entries: Any) -> None:
    """Raise unless GitLab's rules for a Code Quality report are kept."""
    assert isinstance(entries, list)
    prints = [entry["fingerprint"] for entry in entries]
    assert len(set(prints)) == len(prints)
    for entry in entries:
        assert isinstance(entry["description"], str)
        assert entry["description"]
        assert isinstance(entry["check_name"], str)
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        path = entry["location"]["path"]
        assert path
        assert not path.startswith(("/", "./", "../"))
        assert "\\" not in path
        begin = entry["location"]["lines"]["begin"]
        assert isinstance(begin, int)
        assert begin >= 1


def live(tree: Any) -> list[str]:
    """What a browser would run, load or send in a page, or a person could click that leads elsewhere."""
    found = []
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        name = element.tag.lower()
        if name in (
            "script",
            "style",
            "img",
            "iframe",
            "object",
            "embed",
            "svg",
            "math",
            "link",
            "base",
            "video",
        ):
            found.append(name)
        for key, value in element.attrib.items():
            if str(key).lower().startswith("on") or key in ("style", "srcdoc", "action", "formaction"):
                found.append(f"{name} {key}")
            if key in ("href", "src") and not str(value).startswith("#"):
                found.append(str(value))
    return found
