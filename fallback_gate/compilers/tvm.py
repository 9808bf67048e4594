"""Room 3: TVM's compilers, one reader each, since each has its own messages and its own proof.

`tvm.relax` compiles today, `tvm.relay` did up to 0.19, with AutoTVM or `tvm.auto_scheduler` for its
schedules; `tvm.byoc` is what they hand to a vendor's compiler; `tvm.build` and `tvm.target` speak for both.
A process owes the proof of those that it shows. Policies name them all with `compiler: "tvm.*"`.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    tvm_auto_scheduler,
    tvm_build,
    tvm_byoc,
    tvm_relax,
    tvm_relay,
    tvm_target,
)

READERS = (
    tvm_relax.READER,
    tvm_relay.READER,
    tvm_auto_scheduler.READER,
    tvm_byoc.READER,
    tvm_build.READER,
    tvm_target.READER,
)
