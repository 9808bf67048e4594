"""A small tf.function; the first argument says what is done with it.

`convert nothing|flex|custom|refused` makes a TFLite model of it, after a quantised one for `refused`; `cluster
nothing|numpy` lets XLA cluster it; `autograph` traces a function that AutoGraph can't transform; `run` runs a
converted model in LiteRT.
"""

import sys

import numpy as np
import tensorflow as tf

how, mode = (*sys.argv[1:], "nothing")[:2]


def gate_attn(x):
    """The part that falls back."""
    if mode in ("numpy", "custom"):
        y = tf.numpy_function(np.tanh, [x], tf.float32)
        y.set_shape(x.shape)
        return y
    if mode in ("flex", "refused"):
        return tf.math.real(tf.signal.ifft(tf.cast(x, tf.complex64)))
    return tf.tanh(x)


def step(x):
    return gate_attn(tf.matmul(x, x, transpose_b=True)) * 2.0


def experts(x):
    for _ in range(2):
        x = step(x)
    else:  # AutoGraph has no form for it
        x = x + 1.0
    return x


def convert_quantised():
    """A conversion that ends well, and prints its end twice."""
    plain = tf.function(tf.tanh, input_signature=[tf.TensorSpec([4, 16], tf.float32)]).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([plain])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([np.ones((4, 16), np.float32)] for _ in range(2))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.convert()


x = tf.ones([4, 16])
if mode == "refused":
    convert_quantised()
if how in ("convert", "run"):
    traced = tf.function(step, input_signature=[tf.TensorSpec([4, 16], tf.float32)]).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    if mode == "flex":
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter.allow_custom_ops = mode == "custom"
    model = converter.convert()
    print("converted", len(model) > 0, flush=True)
    if how == "run":
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(model_content=model)
        interpreter.allocate_tensors()
        interpreter.invoke()
        print("ran", interpreter.get_output_details()[0]["shape"], flush=True)
else:
    traced = tf.function(experts if how == "autograph" else step)
    print("output", traced(x).shape if how == "cluster" else traced(tf.ones([4, 4])).shape, flush=True)
