"""A host callback in a jitted function, or none: python jax_program.py callback|clean"""

import sys

import jax
import numpy


@jax.jit
def step(x):
    if sys.argv[1] == "callback":
        x = jax.pure_callback(lambda a: numpy.asarray(a) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return x + 1


print(step(jax.numpy.ones(4)).sum())
