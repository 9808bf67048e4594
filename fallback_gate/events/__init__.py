"""Room 4: one shape for all that readers report.

`fold` turns the many reports of one fallback into one event with an honest count: `gathered` is one such
event, `variants` what its reports say differently. `fingerprint` names an event so that it is found again
after a rebuild; `tally` shortens what a process sends to a fold elsewhere.
"""
