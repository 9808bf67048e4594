"""`python -m fallback_gate`: the same command."""

from fallback_gate.cli.main import entry

if __name__ == "__main__":
    entry()
