"""The script that everybody writes first: read the log, look for a handful of patterns, print what was found.

    python first_script.py LOG

It knows five messages of one compiler. It holds the whole log in memory, tells neither where a line stands
nor whether the log could have shown a fallback, and counts each repetition.
"""

import re
import sys

PATTERNS = (
    r"Graph break in user code at (\S+):(\d+)",
    r"hit config\.recompile_limit \((\d+)\)",
    r"torch\.ops\.(\w+)\.(\w+)\.default\(",
    r"skipping cudagraphs due to (.*)",
    r"WON'T CONVERT (\S+)",
)

with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
    text = file.read()
found = {pattern: re.findall(pattern, text) for pattern in PATTERNS}
for pattern, hits in found.items():
    print(len(hits), pattern, *sorted(set(map(str, hits)))[:5])
sys.exit(1 if any(found.values()) else 0)
