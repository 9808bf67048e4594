"""A session of ONNX Runtime at verbose level on the CPU alone, which prints its providers."""

import onnxruntime
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])
graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], name="gate_softmax")], "moe", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
options = onnxruntime.SessionOptions()
options.log_severity_level = 0
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
print(session.get_providers())
