"""Room 3: inference runtimes and graph compilers beside PyTorch's own, one reader each.

A process owes the proof of those that it shows: a session of ONNX Runtime whose provider is OpenVINO may
speak as both.
"""
