"""The layer of the sample profiles: `python layer.py build|onnxruntime PROVIDER...|openvino`."""

import sys

import numpy as np

MODEL = "layer.onnx"
TOKENS = np.arange(16).reshape(2, 8) % 100


def build() -> None:
    """Write the model."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((random.standard_normal(shape) * 0.05).astype(np.float32), name)

    node = helper.make_node
    nodes = [
        node("Gather", ["table", "tokens"], ["x"], name="/embed/Gather"),
        node("LayerNormalization", ["x", "g", "b"], ["h"], name="/norm/LayerNormalization", axis=-1),
        node("MatMul", ["h", "w1"], ["a"], name="/mlp/up/MatMul"),
        node("Gelu", ["a"], ["c"], name="/mlp/Gelu"),
        node("MatMul", ["c", "w2"], ["d"], name="/mlp/down/MatMul"),
        node("Add", ["x", "d"], ["y"], name="/Add"),
        node("MatMul", ["y", "router"], ["r"], name="/router/MatMul"),
        node("Softmax", ["r"], ["p"], name="/router/Softmax", axis=-1),
        node("TopK", ["p", "k"], ["tv", "ti"], name="/router/TopK"),
        node("Cast", ["ti"], ["tf"], name="/router/Cast", to=TensorProto.FLOAT),
        node("Unique", ["tf"], ["u"], name="/router/Unique", sorted=1),
    ]
    value, kind = helper.make_tensor_value_info, TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "layer",
        [value("tokens", TensorProto.INT64, [2, 8])],
        [value("y", kind, [2, 8, 64]), value("tv", kind, [2, 8, 2]), value("u", kind, ["n"])],
        [
            *(weight("table", 100, 64), weight("g", 64), weight("b", 64), weight("w1", 64, 128)),
            *(weight("w2", 128, 64), weight("router", 64, 4)),
            numpy_helper.from_array(np.array([2], np.int64), "k"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, MODEL)


def profile(*providers: str) -> None:
    """Run it three times in ONNX Runtime, with a profile."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    session = onnxruntime.InferenceSession(MODEL, options, providers=list(providers))
    for _ in range(3):
        session.run(None, {"tokens": TOKENS})
    print(session.end_profiling())


def graph() -> None:
    """Run it three times in OpenVINO, and save the executed graph."""
    import openvino

    compiled = openvino.Core().compile_model(MODEL, "CPU", {"PERF_COUNT": True})
    request = compiled.create_infer_request()
    for _ in range(3):
        request.infer({"tokens": TOKENS})
    openvino.serialize(compiled.get_runtime_model(), "graph.xml", "graph.bin")
    for one in request.get_profiling_info():
        print(one.node_name, one.node_type, one.exec_type, one.real_time)


if __name__ == "__main__":
    {"build": build, "onnxruntime": profile, "openvino": graph}[sys.argv[1]](*sys.argv[2:])
