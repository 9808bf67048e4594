"""Build wheel and source archive twice, from two copies of the checkout: the same bytes, or exit code 1.

    python scripts/build_twice.py [FOLDER]

The copies lie in folders of different names, with files of different times and rights, so that a wheel that
depends on who built it where shows it. The wheel is left in FOLDER (`dist`) with its SHA-256. By
SOURCE_DATE_EPOCH, else the time of the last commit, whoever has the commit builds the same wheel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", ".*_cache", "__pycache__", ".hypothesis", "shared"
)


def main(folder: Path) -> int:
    """Build, compare, and keep the first of both."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or _last_commit()}
    built = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, mode in enumerate((0o600, 0o644)):
            copy = Path(temporary, f"copy {number}" * (number + 1))
            shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
            for file in filter(Path.is_file, copy.rglob("*")):
                file.chmod(mode)
                os.utime(file, (10**9 * (number + 1),) * 2)
            out = Path(temporary, f"out{number}")
            call = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
            subprocess.run(call, cwd=copy, env=environ, check=True, stdout=subprocess.DEVNULL)
            built.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in out.iterdir()})
        if built[0] != built[1]:
            print(f"two builds differ:\n  {built[0]}\n  {built[1]}", file=sys.stderr)
            return 1
        folder.mkdir(parents=True, exist_ok=True)
        for name in built[0]:
            shutil.copyfile(Path(temporary, "out0", name), folder / name)
    for name, digest in sorted(built[0].items()):
        print(f"{digest}  {name}")
    return 0


def _last_commit() -> str:
    call = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "1577836800"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
