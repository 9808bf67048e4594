"""A session of ONNX Runtime with OpenVINO ahead of the CPU; the first argument says what OpenVINO lacks.

`nothing`, or `gate`, an operator that the program registers itself. The second argument is the severity, the
third a device that OpenVINO is to use.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnxruntime_extensions import PyOp, get_library_path, onnx_op

MODE, severity, *device = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]


@onnx_op(op_type="GateAttn", inputs=[PyOp.dt_float], outputs=[PyOp.dt_float])
def gate_attn(x):
    """The operator that OpenVINO lacks."""
    return np.tanh(x)


x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])
nodes = [
    helper.make_node("MatMul", ["x", "x"], ["a"], name="/layer0/scores"),
    helper.make_node("GateAttn", ["a"], ["b"], name="/layer0/gate", domain="ai.onnx.contrib")
    if MODE == "gate"
    else helper.make_node("Tanh", ["a"], ["b"], name="/layer0/gate"),
    helper.make_node("MatMul", ["b", "x"], ["y"], name="/layer0/out"),
]
between = helper.make_tensor_value_info("b", TensorProto.FLOAT, [4, 4])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.contrib", 1)]
graph = helper.make_graph(nodes, "moe", [x], [y], value_info=[between])
model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
options = onnxruntime.SessionOptions()
options.log_severity_level = severity
onnxruntime.set_default_logger_severity(severity)
options.register_custom_ops_library(get_library_path())
openvino = {"device_type": device[0] if device else "CPU"}
providers = [("OpenVINOExecutionProvider", openvino), "CPUExecutionProvider"]
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)
print(session.get_providers())
print("output", session.run(None, {"x": np.ones((4, 4), np.float32)})[0].shape, flush=True)
