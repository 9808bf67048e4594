"""A stand-in for the package onnxruntime, as small as it can be: what the hook touches of the real one."""

STUB = '''
"""Stands in for onnxruntime in tests."""
__version__ = "1.32.0"
AVAILABLE = ["OpenVINOExecutionProvider", "CPUExecutionProvider"]


class SessionOptions:
    def __init__(self):
        self.entries = {}

    def get_session_config_entry(self, key):
        return self.entries[key]

    def add_session_config_entry(self, key, value):
        self.entries[key] = value


class Node:
    domain = ""

    def __init__(self, op_type, name):
        self.op_type, self.name = op_type, name


class Part:
    def __init__(self, ep_name, nodes):
        self.ep_name, self.nodes = ep_name, nodes

    def get_nodes(self):
        return self.nodes


class InferenceSession:
    def __init__(self, model, sess_options=None, providers=None):
        self._sess_options = sess_options
        self._create_inference_session(providers, None)

    def _create_inference_session(self, providers, provider_options, disabled_optimizers=None):
        if providers == ["BrokenExecutionProvider"]:
            raise RuntimeError("no such provider")
        self._providers = [name for name in providers or AVAILABLE if name in AVAILABLE]

    def get_providers(self):
        return self._providers

    def get_provider_graph_assignment_info(self):
        assert self._sess_options.entries["session.record_ep_graph_assignment_info"] == "1"
        return [Part(self._providers[0], [Node("MatMul", "mm"), Node("MatMul", "mm2")])]
'''
