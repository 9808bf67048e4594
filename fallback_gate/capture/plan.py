"""The side door: the settings of a recording, laid over what the user set already.

What the user set is respected; where it shows less than the table's value would, the plan says what is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fallback_gate.capture.stack import TRACES, Setting, Stack
from fallback_gate.capture.table import DANGERS, TABLE
from fallback_gate.errors import InputError
from fallback_gate.model.aliases import called

LONGEST = 1000  # characters of a value that the header repeats
_CUDAGRAPHS = (2, 5)  # the first release of torch that surely knows the artifact
_TEXT_ONLY = (2, 1), (2, 4)  # from the first release with TORCH_LOGS to the first that surely writes traces


@dataclass(frozen=True, slots=True)
class Plan:
    """`variables` are to be set, `in_force` are those and the user's own of the same names, `respected` the
    user's that differ, `weaker` what they take from the proof and `cold` which layers run without their
    cache, a sentence each. `strict`: the strict modes in force. `off`: those of `weaker` by which a compiler
    is switched off."""

    variables: Mapping[str, str]
    in_force: Mapping[str, str]
    respected: Mapping[str, str]
    weaker: tuple[str, ...]
    cold: tuple[str, ...]
    strict: tuple[str, ...]
    off: tuple[str, ...]


def chosen(names: Sequence[str], versions: Mapping[str, str]) -> list[Stack]:
    """The stacks that are called by these names; without a name all, but for the wordy ones not installed.

    Raises `InputError` for a name that is none.
    """
    if not names:
        return [stack for stack in TABLE if not stack.wordy or versions.keys() & set(stack.packages)]
    names = [one for name in names for one in _meant(name)]
    for name in names:
        if not any(stack.is_called(name) for stack in TABLE):
            from difflib import get_close_matches

            known = sorted({stack.name for stack in TABLE} | {stack.short for stack in TABLE if stack.short})
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(known)
            raise InputError(f"--compilers: no compiler is called {name!r}; {hint}")
    return [stack for stack in TABLE if any(stack.is_called(name) for name in names)]


def _meant(name: str) -> tuple[str, ...]:
    """A name that the table has, or those that it is an alias of."""
    if any(stack.is_called(name) for stack in TABLE):
        return (name,)
    return called(name, [stack.name for stack in TABLE]) or (name,)


def plan(
    stacks: Iterable[Stack],
    environ: Mapping[str, str],
    traces: str,
    versions: Mapping[str, str],
    *,
    strict: bool,
) -> Plan:
    """The settings for these stacks. `traces` is the folder of structured traces, `versions` those of the
    packages that the command's Python has, as far as they are known."""
    variables: dict[str, str] = {}
    respected: dict[str, str] = {}
    weaker: list[str] = []
    cold: list[str] = []
    modes: list[str] = []
    stacks = tuple(stacks)
    for stack in stacks:
        for setting in (*stack.settings, *(stack.strict if strict else ())):
            name, value = setting.variable, _value(setting, traces, versions)
            mine = environ.get(name) or None  # an empty one says nothing, and PyTorch fails over it
            if setting in stack.strict and mine in (None, value):
                modes.append(name)
            if mine is None:
                variables.setdefault(name, value)
                if setting.cold and versions.keys() & set(stack.packages):
                    cold.append(
                        f"{stack.name} runs without its cache ({name}={value}), which would keep it silent"
                    )
            elif name == "TORCH_TRACE":
                respected[name] = mine  # the recorder gathers what is written there
            elif not setting.within(mine):
                respected[name] = mine
                weaker.append(f"{name}={mine[:LONGEST]} was set already; it may not show {setting.shows}")
    off: list[str] = []
    for danger in DANGERS:
        value = environ.get(danger.variable, "")
        if danger.holds(value):
            respected[danger.variable] = value
            weaker.append(f"{danger.variable}={value[:LONGEST]} was set already: {danger.means}")
            off += weaker[-1:] if danger.off else []
    known = {setting.variable for stack in stacks for setting in (*stack.settings, *stack.strict)}
    in_force = {name: environ[name][:LONGEST] for name in sorted(known & environ.keys())} | variables
    return Plan(
        variables=variables,
        in_force=in_force | {name: value[:LONGEST] for name, value in respected.items()},
        respected={name: value[:LONGEST] for name, value in respected.items()},
        weaker=tuple(dict.fromkeys(weaker)),
        cold=tuple(dict.fromkeys(cold)),
        strict=tuple(modes),
        off=tuple(off),
    )


def _value(setting: Setting, traces: str, versions: Mapping[str, str]) -> str:
    """The value to set; what not every release knows, or needs, is added where the release is known."""
    if setting.variable != "TORCH_LOGS":
        return setting.value.replace(TRACES, traces)
    release = _release(versions.get("torch", ""))
    if _TEXT_ONLY[0] <= release < _TEXT_ONLY[1]:
        return f"{setting.value},output_code"
    return f"{setting.value},cudagraphs" if release >= _CUDAGRAPHS else setting.value


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version; (0,) where it has none."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if parts and all(p.isdecimal() for p in parts) else (0,)
