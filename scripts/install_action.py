"""The Action: install the checkout that this file stands in into an environment of its own.

Nothing of the job is changed: no PATH, no site-packages. Every dependency is locked with its hash, and the
gate itself is built from these very files. Only the standard library is used here, by whatever Python the
runner has.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
LOCK = CHECKOUT / "requirements" / "action.txt"
# A job's own settings that would put packages elsewhere, other versions in, or its modules before ours:
# containers for training set some of them.
FOREIGN = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PIP_CONSTRAINT",
           "PIP_BUILD_CONSTRAINT", "PIP_REQUIREMENT", "PIP_NO_BINARY", "PIP_NO_DEPS", "PYTHONPATH",
           "PYTHONHOME")  # fmt: skip


def main() -> int:
    """Make the environment, and tell the runner which Python it is."""
    folder = Path(tempfile.mkdtemp(prefix="fallback-gate-", dir=os.environ.get("RUNNER_TEMP")))
    place = folder / "environment"
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [str(python), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    print(f"::group::Install fallback-gate from {CHECKOUT} with {sys.version.split()[0]}", flush=True)
    try:
        _run([sys.executable, "-I", "-m", "venv", str(place)])
        _run([*pip, "--only-binary=:all:", "--require-hashes", "--requirement", str(LOCK)])
        _run([*pip, "--no-deps", "--no-build-isolation", "--no-index", str(CHECKOUT)])
    except subprocess.CalledProcessError as failed:
        print("::endgroup::")
        print(f"::error title=fallback-gate::Not installed (exit code {failed.returncode}); see above")
        return 2
    print("::endgroup::")
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8", newline="\n") as outputs:
        outputs.write(f"python={python.as_posix()}\n")
    return 0


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name.upper() not in FOREIGN}
    subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    sys.exit(main())
