"""The annex, kernel traces: what ran on the GPU, kernel by kernel, and which operators ran eager.

`read` opens a file and finds its format; the format's module fills a `Timeline`; `summary` finds the steps
and counts; `evidence` makes of it what the gate judges. A fallback that no log shows is seen here: kernels of
the framework where a compiled model has generated ones.
"""

from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.ran import ran
from fallback_gate.instruments.trace.reading import read, timeline
from fallback_gate.instruments.trace.seen import evidence
from fallback_gate.instruments.trace.summary import Summary

__all__ = ["Summary", "evidence", "kernels", "ran", "read", "timeline"]
