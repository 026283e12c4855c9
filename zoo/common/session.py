"""ONNX Runtime sessions set up alike everywhere: CPU, few threads, quiet."""

import os

# Read when the library is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime  # noqa: E402


def open_session(path, threads: int = 2) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(session, inputs: dict) -> dict:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))
