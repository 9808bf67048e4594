"""Room 4: one shape for all that readers report.

`fold` turns the many reports of one fallback into one event with an honest count, `fingerprint` names an
event so that it is found again after a rebuild.
"""
