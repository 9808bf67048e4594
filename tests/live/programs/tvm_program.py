"""A small Relax module through TVM; the first argument says which way.

`zero` applies the zero pipeline, `warn` with its warnings on; `partition` hands the module to TensorRT's
partitioner and prints it, `format` breaks its long lines as TVM's formatter does. The second: `nothing` for a
matmul, `topk` for one with a top-k behind it.
"""

import sys

import tvm
from tvm import relax
from tvm.relax import op
from tvm.s_tir import meta_schedule

how, model = sys.argv[1:]
builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType([16, 64], "float32"))
w = relax.Var("w", relax.TensorType([64, 8], "float32"))
with builder.function("main", [x, w]):
    with builder.dataflow():
        y = builder.emit(op.matmul(x, w))
        if model == "topk":
            y = builder.emit(op.topk(y, k=2, axis=-1, ret_type="both", largest=True, dtype="int32"))
            y = builder.emit(relax.TupleGetItem(y, 0))
        out = builder.emit_output(y)
    builder.emit_func_output(out)
module = builder.get()
if how in ("partition", "format"):
    from tvm.relax.backend.contrib.tensorrt import partition_for_tensorrt

    partition_for_tensorrt(module).show(style="light", black_format=how == "format")
else:
    target = tvm.target.Target(
        {"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu", "mcpu": "haswell", "num-cores": 2}
    )
    with target, meta_schedule.database.MemoryDatabase():
        relax.get_pipeline("zero", enable_warning=how == "warn")(module)
    print("compiled with" if how == "warn" else "compiled without", "warnings", flush=True)
