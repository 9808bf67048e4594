"""THE ANNEX, the coverage matrix: which operator is computed by whose kernel, on each back end.

`read` opens a file and finds what it is: a kernel trace, a profile of ONNX Runtime, the layers of TensorRT,
an executed graph of OpenVINO, a matrix that was kept. `of_events` makes cells of what a log reported, and
`output_code` of what it says was generated. `hold` holds all of them against the hot list: an operator of it
in the fallback column blocks, and one that nothing read tells of leaves the matrix unproven. `store` reads
the file that keeps a matrix, and `compare` puts two of them side by side.
"""

from fallback_gate.coverage.collect import Collection, backend, with_floor
from fallback_gate.coverage.compare import compare
from fallback_gate.coverage.events import of_events
from fallback_gate.coverage.hold import hold
from fallback_gate.coverage.reading import Asked, Found, read
from fallback_gate.coverage.store import load, merged

__all__ = [
    "Asked",
    "Collection",
    "Found",
    "backend",
    "compare",
    "hold",
    "load",
    "merged",
    "of_events",
    "read",
    "with_floor",
]
