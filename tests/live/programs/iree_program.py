"""IREE's compiler on one function: `grouped_gemm` gets a tiled pipeline, `moe_topk` the default one.

Further arguments are flags of iree-compile.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTIONS = {
    "grouped_gemm": """func.func @grouped_gemm(%x: tensor<8x32x64xf32>, %w: tensor<8x64x128xf32>) -> tensor<8x32x128xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32x128xf32>
  %f = linalg.fill ins(%c0 : f32) outs(%e : tensor<8x32x128xf32>) -> tensor<8x32x128xf32>
  %y = linalg.batch_matmul ins(%x, %w : tensor<8x32x64xf32>, tensor<8x64x128xf32>) outs(%f : tensor<8x32x128xf32>) -> tensor<8x32x128xf32>
  return %y : tensor<8x32x128xf32>
}""",
    "moe_topk": """func.func @moe_topk(%p: tensor<32x8xf32>) -> (tensor<32x2xf32>, tensor<32x2xi32>) {
  %low = arith.constant -3.4e38 : f32
  %zero = arith.constant 0 : i32
  %ev = tensor.empty() : tensor<32x2xf32>
  %fv = linalg.fill ins(%low : f32) outs(%ev : tensor<32x2xf32>) -> tensor<32x2xf32>
  %ei = tensor.empty() : tensor<32x2xi32>
  %fi = linalg.fill ins(%zero : i32) outs(%ei : tensor<32x2xi32>) -> tensor<32x2xi32>
  %v, %i = iree_linalg_ext.topk dimension(1) ins(%p : tensor<32x8xf32>) outs(%fv, %fi : tensor<32x2xf32>, tensor<32x2xi32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      iree_linalg_ext.yield %c : i1
  } -> tensor<32x2xf32>, tensor<32x2xi32>
  return %v, %i : tensor<32x2xf32>, tensor<32x2xi32>
}""",
}

function, *flags = sys.argv[1:]
compiler = Path(sys.executable).with_name("iree-compile")
target = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
with tempfile.TemporaryDirectory() as folder:
    Path(folder, f"{function}.mlir").write_text(FUNCTIONS[function])
    call = [compiler, *target, *flags, f"{function}.mlir", "-o", os.devnull]
    done = subprocess.run(call, cwd=folder, check=False)
print("iree-compile ended with", done.returncode)
