"""Every error that a user can meet: which exit code, what was wrong, where, and what to do.

Exit codes are the contract's: 2 for usage, an invalid policy or an input that could not be read,
70 for a bug of ours. A verdict is never an error.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_USAGE = 2
EXIT_BUG = 70


def reason(error: Exception) -> str:
    """What went wrong with a file, in the words of the system, or of Python where that was not asked."""
    return str(getattr(error, "strerror", None) or error)


class GateError(Exception):
    """An error that ends the run without a verdict; its text is one clear line for a person."""

    exit_code = EXIT_USAGE


class InputError(GateError):
    """A named input that is missing, unreadable, or a pattern that matches nothing."""


class PolicyError(GateError):
    """A policy or waiver that is not valid: all of its errors at once, each `file:line: what, what to do`."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class MissingExtra(GateError):
    """An optional package that this input or output needs; the text names the install command."""


class Unreadable(Exception):
    """Evidence that ended early: truncated or corrupt archive, a bomb, a size limit, binary data.

    It is no `GateError`: what was read before still counts, and the log is unproven.
    """
