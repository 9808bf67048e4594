"""Write `fallback_gate/compilers/index.py`: which reader waits for which literal. Run by `make docs`."""

from __future__ import annotations

import json
from pathlib import Path

from fallback_gate.compilers import CLOSINGS, MODULES, library

INDEX = Path(__file__).parents[1] / "fallback_gate/compilers/index.py"
HEAD = '''"""Room 3: where each reader stands, and who waits for which literal. Written by `make docs`."""

PLACES: dict[str, tuple[str, str | None]] = {
'''


def main() -> None:
    """Write the module as the readers say."""
    places, anchors = library.indexed(MODULES, CLOSINGS)
    rows = [HEAD]
    for name, (module, closing) in places.items():
        rows.append(
            f"    {json.dumps(name)}: ({json.dumps(module)}, {json.dumps(closing) if closing else None}),\n"
        )
    rows.append("}\nANCHORS: dict[str, tuple[str, ...]] = {\n")
    for anchor, names in anchors.items():
        rows.append(f"    {json.dumps(anchor)}: ({', '.join(map(json.dumps, names))},),\n")
    INDEX.write_text("".join((*rows, "}\n")), encoding="utf-8")


if __name__ == "__main__":
    main()
