"""Loading never executes: neither what the code calls, nor what hostile files ask for."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallback_gate

PACKAGE = Path(fallback_gate.__file__).parent
FILES = [file for file in sorted(PACKAGE.rglob("*.py")) if "hook" not in file.parts]
NEVER = {
    "eval", "exec", "os.system", "os.popen", "marshal.loads", "marshal.load", "shelve.open", "dill.loads",
    "joblib.load", "cloudpickle.loads", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "yaml.unsafe_load_all",
    "yaml.full_load_all", "pickle.load", "pickle.Unpickler", "runpy.run_path", "imp.load_source", "compile",
}  # fmt: skip
# The workers of a Dask cluster send what they read as pickles, as Dask itself does: they are as trusted as it is.
TRUSTED = {("cluster.py", "pickle.loads")}
NEEDS = {"load": {"allow_pickle": False}, "torch.load": {"weights_only": True}}


@cache
def calls(file: Path) -> list[tuple[str, ast.Call]]:
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            found.append((ast.unparse(node.func), node))
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_the_code_calls_nothing_that_executes_what_it_loads(file: Path) -> None:
    for name, call in calls(file):
        where = f"{file}:{call.lineno}: {name}"
        assert name not in NEVER, where
        assert name != "pickle.loads" or (file.name, name) in TRUSTED, where
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        assert not any(
            isinstance(value, ast.Constant) and value.value is True
            for key, value in given.items()
            if key == "shell"
        ), where
        if name == "torch.load":
            assert isinstance(given["weights_only"], ast.Constant), where
            assert given["weights_only"].value is True, where
        if name in ("numpy().load", "np.load", "numpy.load"):
            assert isinstance(given["allow_pickle"], ast.Constant), where
            assert given["allow_pickle"].value is False, where


def test_the_net_catches() -> None:
    """The names above are those that `ast` gives, and the guarded calls are there."""
    everything = {name for file in FILES for name, _ in calls(file)}
    assert {"torch.load", "numpy().load", "pickle.loads", "open"} <= everything


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.place), "w"))


def hostile(folder: Path) -> None:
    """Files that would make `pwned` where something executed them."""
    place = folder / "pwned"
    for number, text in enumerate(
        (
            f"!!python/object/apply:builtins.open [{str(place)!r}, w]\n",
            f"version: 1\nname: !!python/object/new:builtins.open [{str(place)!r}, w]\n",
            "version: 1\nname: !!python/name:os.system x\nhot: [{op: !!python/module:antigravity x}]\n",
        )
    ):
        (folder / f"tags{number}.yaml").write_text(text, encoding="utf-8")
    bomb = pickle.dumps(Bomb(place))
    (folder / "bomb.pt").write_bytes(bomb)
    (folder / "bomb.log").write_bytes(bomb)
    with zipfile.ZipFile(folder / "zipped.pt", "w") as archive:
        archive.writestr("zipped/data.pkl", bomb)
        archive.writestr("zipped/version", "3\n")
    np.save(folder / "bomb.npy", np.array([Bomb(place)], object), allow_pickle=True)
    np.savez(folder / "bomb.npz", x=np.array([Bomb(place)], object))


COMMANDS = [
    *(["check", "bomb.log", option, f"tags{n}.yaml"] for option in ("-p", "--rules", "-b") for n in range(3)),
    *(["check", "bomb.log", "--waiver", f"tags{n}.yaml", "--release", "r"] for n in range(3)),
    *(["policy", "lint", f"tags{n}.yaml"] for n in range(3)),
    ["policy", "diff", "tags0.yaml", "tags1.yaml"],
    ["check", "bomb.log"],
    ["check", "zipped.pt"],
    ["diff", "bomb.log", "bomb.pt"],
    ["trace", "bomb.pt"],
    ["counters", "bomb.pt"],
    ["bench", "bomb.pt"],
    *(["numerics", f"bomb.{kind}", f"bomb.{kind}"] for kind in ("npy", "npz", "pt")),
    ["numerics", "zipped.pt", "zipped.pt"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_file_is_executed(tmp_path: Path, arguments: list[str]) -> None:
    hostile(tmp_path)
    call = [sys.executable, "-m", "fallback_gate", *arguments]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode in (2, 3), done.stdout + done.stderr
    assert not (tmp_path / "pwned").exists()
    assert "Traceback" not in done.stderr


def test_the_bomb_would_go_off(tmp_path: Path) -> None:
    hostile(tmp_path)
    pickle.loads((tmp_path / "bomb.pt").read_bytes()).close()
    assert (tmp_path / "pwned").exists()


def test_torch_refuses_it_too(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    hostile(tmp_path)
    from fallback_gate.errors import InputError
    from fallback_gate.instruments.numerics import read

    torch.save({"x": Bomb(tmp_path / "pwned")}, tmp_path / "saved.pt")
    for name in ("bomb.pt", "zipped.pt", "saved.pt"):
        with pytest.raises(InputError):
            read(str(tmp_path / name), str(tmp_path / name))
    assert not (tmp_path / "pwned").exists()
