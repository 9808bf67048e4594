r"""Room 3: lines that say that lines are missing: of a CI system, a collector or a pager that left some out.

    #12 1.94 [output clipped, log limit 200KiB/s reached]              BuildKit
    systemd-journald[312]: Suppressed 3812 messages from build.service
    [469B blob data]                                                   journalctl, for a line with colours
    [...truncated 1,234 lines...]                                      Jenkins

What stood there, nobody knows: such a log proves nothing.
"""

from __future__ import annotations

from fallback_gate.patterns import Pattern

PHRASES = (
    "output clipped, log limit",
    "Suppressed ",
    " suppressed ",
    "essages lost",
    "essages dropped",
    "drop messages due to rate-limiting",
    "blob data]",
    "[...truncated ",
    "ines omitted",
    "ines truncated",
    "ines skipped",
    "ytes truncated",
    "characters truncated",
    "KB.. Full Log",
    "truncated due to its large size",
    "log exceeded limit of ",
    "log length has exceeded the limit",
    "output is too large to display",
    "--More--",
)
_NUMBER = r"\d[\d,.]{0,15}"
_TOLD = Pattern(
    r"(?:^|.{0,120}?[\]:] ?|#\d{1,4} [\d.]{1,12} )"  # a program's name, a build step's number
    rf"(?:\[output clipped, log limit |Suppressed {_NUMBER} messages from \S"
    rf"|\W{{0,8}}suppressed {_NUMBER} (?:similar )?(?:log )?(?:messages|lines)\b"
    rf"|{_NUMBER} messages (?:lost|dropped)\b|.{{0,80}}begin to drop messages due to rate-limiting"
    rf"|\[{_NUMBER}[KMG]?B? blob data\]\s*$|\[\.\.\.truncated {_NUMBER} "
    rf"|[\W_]{{1,8}}{_NUMBER} (?:more )?(?:log )?(?:lines|bytes|characters) (?:were |are )?(?:omitted|truncated|skipped)\b"
    rf"|Skipping {_NUMBER} KB\.\. Full Log|This step has been truncated due to its large size"
    r"|Job's log exceeded limit of |The log length has exceeded the limit of |Your build output is too large to display"
    r"|--More--)"
)


def told(text: str) -> str | None:
    """Why the log lacks lines, as a line of it says; None for another line."""
    if _TOLD.match(text):
        return f"lines are missing, as the log says itself: {text.strip()[:120]}"
    return None
