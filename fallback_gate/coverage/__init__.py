"""THE ANNEX, the coverage matrix: which operator is computed by whose kernel, on each back end.

`reading` finds what a file is and who reads it: a kernel trace, a profile of ONNX Runtime, the layers of
TensorRT, an executed graph of OpenVINO, a matrix that was kept. `events` makes cells of what a log reported,
`output_code` and `printed` of what it says was generated and of the tables in it. `collect` makes one matrix
of them, and `hold` holds it against the hot list: an operator of it in the fallback column blocks, and one
that nothing read tells of leaves the matrix unproven. `store` reads the file that keeps a matrix, and
`compare` puts two of them side by side. `fallback_gate.walks.cover` is the walk through all of it.
"""

from fallback_gate.coverage.collect import collected
from fallback_gate.coverage.compare import compare
from fallback_gate.coverage.store import load, merged

__all__ = ["collected", "compare", "load", "merged"]
