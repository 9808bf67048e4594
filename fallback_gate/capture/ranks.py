"""The side door: which rank we are and how many there should be, as launchers say in the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_MOST = 1 << 20


def own(environ: Mapping[str, str]) -> int | None:
    """The rank of the recorder itself, where a launcher started one for each rank."""
    return next((n for name in _RANK if (n := _number(environ.get(name))) is not None), None)


def expected(asked: int | None, command: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """How many ranks the run should have: as asked, as our launcher says, or as the command's `torchrun`.

    A launcher's single process need not say its rank anywhere: one is expected only where it is asked for.
    """
    if asked is not None:
        return asked
    size = next((n for name in _SIZE if (n := _number(environ.get(name)))), None) or _of_torchrun(command)
    return size if size != 1 else None


def _of_torchrun(command: Sequence[str]) -> int | None:
    """Processes on one machine; None where there are more machines, or the number is not written out."""
    names = {Path(word).name for word in command[:4]}
    if not names & {"torchrun", "torch.distributed.run", "torch.distributed.launch"}:
        return None
    said = {"nnodes": "1", "nproc-per-node": "1"}
    words = list(command)
    for at, word in enumerate(words):
        name, equals, value = word.lstrip("-").replace("_", "-").partition("=")
        if word.startswith("--") and name in said:
            said[name] = value if equals else words[at + 1] if at + 1 < len(words) else ""
    processes = _number(said["nproc-per-node"])
    return processes if said["nnodes"] in ("1", "1:1") else None


def _number(value: str | None) -> int | None:
    """A number of ranks, or None."""
    return int(value) if value and value.isascii() and value.isdecimal() and int(value) < _MOST else None
