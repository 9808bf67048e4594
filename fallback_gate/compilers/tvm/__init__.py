"""Room 3: TVM's compilers, one reader each, since each has its own messages and its own proof.

`tvm.relax` compiles today, `tvm.relay` did up to 0.19, with AutoTVM or `tvm.auto_scheduler` for its
schedules; `tvm.byoc` is what they hand to a vendor's compiler; `tvm.build` and `tvm.target` speak for both.
A process owes the proof of those that it shows. Policies name them all with `compiler: "tvm.*"`.
"""
