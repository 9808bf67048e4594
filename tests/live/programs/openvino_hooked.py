"""A model with a cast of 64-bit indices, which OpenVINO's CPU plugin does with a reference kernel."""

import numpy
import openvino
from openvino import opset13

table = opset13.parameter([2, 4, 8], numpy.float32, name="table")
index = opset13.parameter([2], numpy.int64, name="index")
rows = opset13.gather(table, index, numpy.array(1))
model = openvino.Model([opset13.relu(rows)], [table, index])
openvino.Core().compile_model(model, "CPU")
