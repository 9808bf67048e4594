"""`python -m fallback_gate`, and the command of that name.

Its own imports are few: Ctrl-C while the command's are made is answered as at any other time.
"""

import sys


def main() -> None:
    """Run the command."""
    try:
        from fallback_gate.cli.main import main as command

        command()
    except KeyboardInterrupt:
        print("fallback-gate: interrupted; no verdict was reached", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
