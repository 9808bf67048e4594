"""`python -m fallback_gate`, and the command of that name.

Its own imports are few: Ctrl-C while the command's are made is answered as at any other time.
"""

import gc
import os
import sys


def main() -> None:
    """Run the command."""
    try:
        from fallback_gate.cli.main import main as command

        command()
    except KeyboardInterrupt:
        print("fallback-gate: interrupted; no verdict was reached", file=sys.stderr)
        sys.exit(130)


def entry() -> None:
    """`main` as the only thing that a process does: it ends without taking down what was built.

    That, and looking for garbage while modules are imported, would take an eighth of a short run.
    """
    gc.set_threshold(100_000)
    code: str | int | None = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    threads = sys.modules.get("threading")
    if not isinstance(code, int) or (threads and threads.active_count() > 1):
        sys.exit(code)  # whoever is still at work has its own end
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass
    except OSError:
        code = 2
    os._exit(code)


if __name__ == "__main__":
    entry()
