"""The side door: the shape of the settings table, one `Stack` for each compiler or runtime."""

from __future__ import annotations

from dataclasses import dataclass

TRACES = "{traces}"  # in a value: the folder of structured traces


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. `shows`: what is lost where the user's own value stands in its place.

    `listed`: the value is a list with commas, of which the user's may hold all. `cold`: it runs a layer
    without its cache, which is silent on a hit.
    """

    variable: str
    value: str
    shows: str
    listed: bool = False
    cold: bool = False

    def within(self, value: str) -> bool:
        """Whether a value that the user set shows as much."""
        if value == self.value:
            return True
        names = {name.strip().lstrip("+") for name in value.split(",")}
        return self.listed and names >= set(self.value.split(","))


@dataclass(frozen=True, slots=True)
class Stack:
    """What makes one compiler or runtime show its fallbacks.

    `name` is its reader's, `short` what `--compilers` takes as well. `settings` are the variables for it;
    `strict` those that make it fail rather than fall back. `instead` says what works where no variable does,
    and what none shows. `packages`: the distributions that hold it. `wordy`: it prints at every call, so it
    is set only where one of its packages is found, or by name. `page` is where this was read.
    """

    name: str
    settings: tuple[Setting, ...] = ()
    instead: str = ""
    short: str = ""
    strict: tuple[Setting, ...] = ()
    packages: tuple[str, ...] = ()
    wordy: bool = False
    page: str = ""

    def is_called(self, name: str) -> bool:
        """Whether `--compilers` means this one: its name, its short one, or what its name starts with."""
        name = name.lower()
        return name in (self.name.lower(), self.short) or self.name.lower().startswith(f"{name}.")


@dataclass(frozen=True, slots=True)
class Danger:
    """A variable with which a log proves less, whoever set it: `values` are those that matter (none: all but
    empty, 0 and false). `off`: it switches a compiler off, which is no silence but a fallback of all."""

    variable: str
    means: str
    values: tuple[str, ...] = ()
    off: bool = False

    def holds(self, value: str) -> bool:
        """Whether this value is one of those."""
        if self.values:
            return any(value.lower().startswith(one) for one in self.values)
        return value.lower() not in ("", "0", "false", "no", "off")
