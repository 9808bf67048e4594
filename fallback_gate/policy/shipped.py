"""Room 5: the policies that come with the gate, `builtin:NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX = "builtin:"


def _folder() -> Traversable:
    """In the installed package, else beside it in a checkout."""
    from importlib.resources import files  # most runs have a policy of their own

    inside = files("fallback_gate").joinpath("policies")
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "policies"


def folder() -> str:
    """The path of the folder that they stand in, for the logs of their cases; empty inside an archive."""
    here = _folder()
    return str(here) if isinstance(here, Path) else ""


def has_samples() -> bool:
    """Whether the logs of their cases are here: a clone has them, an installed package has not."""
    here = folder()
    return bool(here) and Path(here).with_name("sample_logs").is_dir()


def names() -> tuple[str, ...]:
    """The names of all shipped policies, sorted."""
    folder = _folder()
    if not folder.is_dir():
        return ()
    found = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml")))


def content(name: str) -> bytes:
    """The bytes of a shipped policy, which must be one of `names()`."""
    return _folder().joinpath(f"{name}.yaml").read_bytes()


def is_shipped(data: bytes) -> bool:
    """Whether these are the bytes of a shipped policy, unchanged but for line ends."""
    unix = data.replace(b"\r\n", b"\n")
    return any(unix == content(name).replace(b"\r\n", b"\n") for name in names())
