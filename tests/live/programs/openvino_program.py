"""A small model compiled by OpenVINO; the first argument says what is in it.

`nothing` runs on JIT kernels, `gate` has an operator with evaluate() only, `loop` has that operator inside a
loop. `graph` as the second argument prints the executed graph.
"""

import sys

import numpy as np
import openvino as ov
from openvino import Op
from openvino import opset13 as ops

MODE, *rest = sys.argv[1:]


class GateAttn(Op):
    """An operator that OpenVINO knows by its evaluate() alone."""

    def __init__(self, inputs=None):
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self):
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, new_inputs):
        return GateAttn(new_inputs)

    def has_evaluate(self):
        return True

    def evaluate(self, outputs, inputs):
        outputs[0].data[:] = np.tanh(inputs[0].data)
        return True

    def visit_attributes(self, visitor):
        return True


def gate(x):
    """The operator, by a name that the graph shows."""
    found = GateAttn([x.output(0)])
    found.set_friendly_name("layer0/GateAttn")
    return found


def looped(x):
    """A loop of three turns with the operator in its body."""
    part = ops.parameter([4, 16], np.float32)
    body = ov.Model([ops.result(gate(part)), ops.result(ops.constant(True))], [part])
    loop = ops.loop(ops.constant(3), ops.constant(True))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(part, x.output(0), body.results[0].output(0))
    return loop, loop.get_iter_value(body.results[0].output(0), -1)


x = ops.parameter([4, 16], np.float32, name="x")
y = ops.matmul(x, ops.constant(np.ones((16, 16), np.float32)), False, False)
if MODE == "gate":
    y = gate(y)
out = ops.relu(y if MODE != "loop" else looped(y)[1])
core = ov.Core()
compiled = core.compile_model(ov.Model([ops.result(out)], [x]), "CPU")
print("output", compiled(np.ones((4, 16), np.float32))[0].shape, flush=True)
if rest == ["graph"]:
    print("executed graph: layerType primitiveType runtimePrecision name")
    for node in compiled.get_runtime_model().get_ordered_ops():
        said = [
            node.get_rt_info()[key].astype(str) for key in ("layerType", "primitiveType", "runtimePrecision")
        ]
        print(f"  {said[0]:24s} {said[1]:28s} {said[2]:6s} {node.get_friendly_name()}")
