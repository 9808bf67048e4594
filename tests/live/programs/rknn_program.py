"""A small model built by Rockchip's toolkit for the RK3588; the first argument says what the NPU lacks.

`nothing`, `topk`, or `transpose`, whose shape is beyond a limit. The second, `verbose`, prints the table of layers.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rknn.api import RKNN

MODE, *rest = sys.argv[1:]
nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
initial = [numpy_helper.from_array(np.full((8, 3, 3, 3), 0.1, np.float32), "w")]
size, out = [1, 3, 32, 32], [1, 8, 32, 32]
if MODE == "topk":
    initial.append(numpy_helper.from_array(np.array([2], np.int64), "k"))
    nodes.append(helper.make_node("TopK", ["a", "k"], ["y", "at"], name="topk", axis=1))
    out = [1, 2, 32, 32]
elif MODE == "transpose":
    size, out = [1, 3, 256, 2560], [1, 8, 2560, 256]
    nodes.append(helper.make_node("Transpose", ["a"], ["y"], name="turn", perm=[0, 1, 3, 2]))
else:
    nodes.append(helper.make_node("Sigmoid", ["a"], ["y"], name="gate"))
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, size)
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, out)
graph = helper.make_graph(nodes, "moe", [x], [y], initial)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "model.onnx")
toolkit = RKNN(verbose=rest == ["verbose"])
toolkit.config(target_platform="rk3588")
failed = toolkit.load_onnx("model.onnx") or toolkit.build(do_quantization=False)
toolkit.release()
sys.exit(failed)
