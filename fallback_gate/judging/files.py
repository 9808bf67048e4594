"""The files by which a run is judged: policy, own messages, baseline and waiver, from here or from a commit.

Whoever opens a pull request writes the working tree. So the same files can be taken as a commit holds them
(`--policy-ref`), and what the working tree makes of them is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fallback_gate import policy as policies
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.errors import InputError
from fallback_gate.model.history import Baseline
from fallback_gate.model.inputs import PolicyChange, Revision, RulesFile
from fallback_gate.policy import HERE, Policy, Shelf
from fallback_gate.policy.find import named, overlooked

if TYPE_CHECKING:
    from fallback_gate.verdict.waiver import Waiver


class Names(NamedTuple):
    """The files as the user names them, or a baseline in hand; without a policy the nearest is looked up."""

    policy: str | None = None
    rules: tuple[str, ...] = ()
    baseline: str | Baseline | None = None
    waiver: str | None = None


class JudgingFiles(NamedTuple):
    """What stands in them, read and found valid.

    `absent` are files that the commit does not have, `overlooked` is one that looks like a policy and is none
    by its ending.
    """

    policy: Policy
    rules: tuple[Rule | Marker, ...] = ()
    rules_files: tuple[RulesFile, ...] = ()
    baseline: Baseline | None = None
    waiver: Waiver | None = None
    absent: tuple[str, ...] = ()
    overlooked: str | None = None


def read(names: Names, environ: Mapping[str, str], cwd: Path, today: date) -> JudgingFiles:
    """The files as they stand here. Raises PolicyError or InputError."""
    found = _read(names, policies.find(names.policy, environ, cwd), HERE, today)
    return found._replace(overlooked=overlooked(names.policy, environ, cwd))


def read_at(
    ref: str, names: Names, environ: Mapping[str, str], cwd: Path, today: date
) -> tuple[JudgingFiles, JudgingFiles]:
    """The files as a commit holds them, with what the working tree makes of them; then those of here.

    What is not in the commit is not there: no policy is the strict rule, a baseline holds nothing, and a
    waiver or messages are not given. Raises PolicyError or InputError, also for what is invalid in the
    working tree alone.
    """
    from fallback_gate.policy.revision import AtCommit

    shelf = AtCommit(ref, cwd)
    here = read(names, environ, cwd, today)
    reference = named(names.policy, environ) or shelf.find()
    absent = [
        path
        for path in (reference, *names.rules, names.baseline, names.waiver)
        if isinstance(path, str) and not path.startswith("builtin:") and not shelf.has(path)
    ]
    there = names._replace(
        rules=tuple(path for path in names.rules if path not in absent),
        baseline=None if names.baseline in absent else names.baseline,
        waiver=None if names.waiver in absent else names.waiver,
    )
    found = _read(there, None if reference in absent else reference, shelf, today)
    if isinstance(names.baseline, str) and names.baseline in absent:
        found = found._replace(baseline=Baseline(shelf.named(names.baseline)))
    summary = found.policy.summary._replace(
        revision=Revision(ref, shelf.commit), changes=tuple(changes(found, here, today))
    )
    judging = found._replace(policy=replace(found.policy, summary=summary), absent=tuple(absent))
    return judging, here


_MESSAGES = {"rules", "extends", "name", "tests"}  # keys that a file of messages may have


def _read(names: Names, reference: str | None, shelf: Shelf, today: date) -> JudgingFiles:
    policy = policies.load(reference, today, shelf)
    rules: list[Rule | Marker] = []
    files = []
    for file in names.rules:
        declared = policies.load(file, today, shelf)
        if not declared.rules:
            raise InputError(f"{file}: no `rules` stand in it; docs/your-compiler.md shows how to write one")
        if more := _beyond_messages(declared):
            what = f"--rules takes its messages alone, and its `{more}` would judge nothing"
            raise InputError(f"{file}: {what}: give it as the policy, or name it under `extends` there")
        rules += declared.rules
        files.append(RulesFile(shelf.named(file), declared.summary.sha256))
    waiver, baseline = None, names.baseline
    if names.waiver is not None:
        from fallback_gate.verdict import waiver as waivers

        waiver = waivers.load(names.waiver, shelf)
    if isinstance(baseline, str):
        from fallback_gate.verdict import baseline_file

        baseline = baseline_file.load(baseline, shelf)
    return JudgingFiles(policy, tuple(rules), tuple(files), baseline, waiver)


def _beyond_messages(declared: Policy) -> str | None:
    """The first key of a policy that is no message and says something."""
    from fallback_gate.policy.changes import SECTIONS

    bare = Policy(declared.summary, declared.name)
    said = (key for field, (key, _) in SECTIONS.items() if getattr(declared, field) != getattr(bare, field))
    return next((key for key in said if key not in _MESSAGES), None)


def changes(old: JudgingFiles, new: JudgingFiles, today: date) -> Iterator[PolicyChange]:
    """All that the new files change, what may let more pass first in each."""
    from fallback_gate.policy.changes import compare

    before, after = (replace(one.policy, rules=(*one.policy.rules, *one.rules)) for one in (old, new))
    yield from compare(before, after, today)
    if old.baseline or old.waiver or new.baseline or new.waiver:
        from fallback_gate.verdict import changes as beside

        yield from beside.baselines(old.baseline, new.baseline)
        yield from beside.waivers(old.waiver, new.waiver)
