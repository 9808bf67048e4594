"""Room 3: the runtimes of phones, cameras and boards, one reader each.

Each hands a model to a delegate or a vendor's processor, and runs the rest on the CPU.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    edgetpu,
    executorch_qnn,
    executorch_vulkan,
    mnn,
    rknn,
    tflite,
    tidl,
    vitis_ai,
)

READERS = (
    tflite.READER,
    executorch_qnn.READER,
    executorch_vulkan.READER,
    edgetpu.READER,
    rknn.READER,
    tidl.READER,
    vitis_ai.READER,
    mnn.READER,
)
