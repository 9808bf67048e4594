"""Room 7: the verdict as JUnit XML, for the test page of a CI server.

One suite for each log. One case for each event (blocked fails, allowed is skipped with its reason,
warned passes and says so), one error for each kind that a process leaves without proof, and one
passing case for each hot entry and proven kind, so that an all-green page shows what was checked.

What the servers read decides the rest. Jenkins, GitLab, dorny/test-reporter, mikepenz/action-junit-report
and EnricoMi/publish-unit-test-result agree on suite, classname, name, one failure, error or skipped
element and its text; GitLab keeps only the first of two cases of one name and refuses files over 30 MB;
Buildkite refuses files with more than 5,000 cases; some of the actions read `file` and `line`. No time
stamp: one verdict, one text.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from junit_xml import TestCase, TestSuite

from fallback_gate.model import LogReport, ProcessVerdict, Verdict
from fallback_gate.reports import safe, words
from fallback_gate.reports.groups import by_log
from fallback_gate.reports.junit_cases import RUN, Case, Result, cases

MOST_CASES = 5_000  # that Buildkite takes
FILE_BYTES = 25_000_000  # GitLab takes 30 MB; the rest is for indents and suites
BODY_BYTES = 8 * 1024
TEXT_CHARACTERS = 600  # of a name, a message, a property
_CUT = "\n... cut here, --format json has more"
_CASE_BYTES = 400  # tags and attribute names of one case


def render(verdict: Verdict) -> str:
    """The report as XML text whose declaration says UTF-8: write it in that encoding."""
    suites: dict[str, list[Case]] = {log.path: [] for log in verdict.logs}
    for case in _unique(_within_limit(cases(verdict))):
        suites.setdefault(case.suite, []).append(case)
    root = ElementTree.Element("testsuites", {"name": "fallback-gate"})
    logs = {log.path: log for log in verdict.logs}
    processes = by_log(verdict.processes)
    for name, members in suites.items():
        properties = _suite_properties(verdict, logs.get(name), processes.get(name, ()))
        root.append(_suite(name, members, properties))
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("time", "0")
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _suite(name: str, members: Sequence[Case], properties: Mapping[str, str]) -> ElementTree.Element:
    suite = TestSuite(
        _attribute(name) or RUN,
        [_test_case(case) for case in members],
        properties=properties,
    )
    element: ElementTree.Element = suite.build_xml_doc()
    del element.attrib["disabled"]  # refused by Jenkins' xUnit plugin
    for case, child in zip(members, element.findall("testcase"), strict=True):
        child.set("time", "0")
        if case.properties:
            holder = ElementTree.Element("properties")
            child.insert(0, holder)
            for key, value in case.properties.items():
                ElementTree.SubElement(holder, "property", {"name": key, "value": value})
    return element


def _test_case(case: Case) -> TestCase:
    built = TestCase(case.name, case.classname, stdout=case.output or None, file=case.file, line=case.line)
    if case.result is Result.FAILED:
        built.add_failure_info(case.message, case.body, case.type)
    elif case.result is Result.ERROR:
        built.add_error_info(case.message, case.body, case.type)
    elif case.result is Result.SKIPPED:
        built.add_skipped_info(case.message, case.body)
    return built


def _suite_properties(
    verdict: Verdict, log: LogReport | None, processes: Iterable[ProcessVerdict]
) -> dict[str, str]:
    seen = [compiler for process in processes for compiler in process.compilers]
    values = {
        "policy": verdict.policy.name,
        "policy.sha256": verdict.policy.sha256,
        "tool.version": verdict.tool_version,
        "log.sha256": log.sha256 if log else None,
        "log.bytes": str(log.bytes) if log and log.bytes is not None else None,
        "log.lines": str(log.lines) if log and log.lines is not None else None,
        "rules": ", ".join(file.path for file in verdict.rules_files),
        "compiler": ", ".join(dict.fromkeys(compiler.name for compiler in seen)),
        "compiler.version": ", ".join(
            dict.fromkeys(compiler.version for compiler in seen if compiler.version)
        ),
        "clock": verdict.today.isoformat(),
        "verdict": verdict.outcome.value if verdict.outcome else None,
    }
    return {key: _attribute(value) for key, value in values.items() if value}


def _within_limit(found: Sequence[Case]) -> Iterator[Case]:
    """The cases, safe to write, as long as the file stays small enough; then one that counts the rest."""
    room = FILE_BYTES
    for at, case in enumerate(found):
        written = _safe(case)
        room -= _bytes(written)
        if room <= 0 or (at == MOST_CASES - 1 and at < len(found) - 1):
            yield _left_out(found[at:])
            return
        yield written


def _left_out(rest: Sequence[Case]) -> Case:
    """One case for those that did not fit, as bad as the worst of them."""
    counts = Counter(case.result for case in rest)
    worst = next((result for result in (Result.FAILED, Result.ERROR) if counts[result]), Result.SKIPPED)
    of_these = ", ".join(f"{counts[result]:,} {result.value}" for result in Result if counts[result])
    text = (
        f"{words.number(len(rest), 'case')} left out to keep this file small ({of_these}); --format json has "
        "them all"
    )
    return Case(RUN, f"{RUN}.size", text, worst, "left-out", text, text)


def _unique(found: Iterable[Case]) -> Iterator[Case]:
    """The cases with names that no two share: the place added where that tells them apart, else a number."""
    taken: dict[str, int] = {}
    for case in found:
        name = case.name
        for apart in filter(None, case.apart):
            if name in taken:
                name = f"{name}, {apart}"
        base = name
        while name in taken:
            taken[base] += 1
            name = f"{base} #{taken[base]}"
        taken[name] = 1
        yield replace(case, name=name)


def _safe(case: Case) -> Case:
    file = _attribute(case.file).removeprefix("./") if case.file else None
    return replace(
        case,
        name=_attribute(case.name),
        classname=_attribute(case.classname),
        type=_attribute(case.type),
        message=_attribute(case.message),
        body=_body(case.body),
        output=_body(case.output),
        apart=tuple(_attribute(words) for words in case.apart),
        file=file,
        properties={key: _attribute(value) for key, value in case.properties.items()},
    )


def _attribute(text: str) -> str:
    return safe.shorten(safe.xml(safe.inline(text)), TEXT_CHARACTERS)


def _body(text: str) -> str:
    """Text of an element, cut at `BODY_BYTES` in UTF-8."""
    text = safe.xml(text)
    if len(text.encode()) <= BODY_BYTES:
        return text
    return text.encode()[: BODY_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


def _bytes(case: Case) -> int:
    """How many bytes a case takes in the file, at most: escapes grow a character to six bytes."""
    texts = (case.name, case.classname, case.type, case.message, case.body, case.output, case.file or "")
    marks = sum(text.count(mark) for text in (*texts, *case.properties.values()) for mark in '&<>"\n\t')
    written = sum(len(text.encode()) for text in (*texts, *case.properties.values()))
    return (
        _CASE_BYTES + written + 5 * marks + 40 * len(case.properties) + sum(len(text) for text in case.apart)
    )
