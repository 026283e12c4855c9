"""What both clients, synchronous and asynchronous, are asked to do: every datatype with the edges of its range."""

import pathlib

import numpy as np

DATATYPES = {
    "BOOL": ("identity_bool", np.array([[True, False, True, True]])),
    "UINT8": ("identity_uint8", np.array([[0, 1, 127, 255]], dtype=np.uint8)),
    "UINT16": ("identity_uint16", np.array([[0, 1, 32768, 65535]], dtype=np.uint16)),
    "UINT32": ("identity_uint32", np.array([[0, 1, 2**31, 2**32 - 1]], dtype=np.uint32)),
    "UINT64": ("identity_uint64", np.array([[0, 2**53 + 1, 2**63, 2**64 - 1]], dtype=np.uint64)),
    "INT8": ("identity_int8", np.array([[-128, -1, 0, 127]], dtype=np.int8)),
    "INT16": ("identity_int16", np.array([[-32768, -1, 0, 32767]], dtype=np.int16)),
    "INT32": ("identity_int32", np.array([[-(2**31), -1, 0, 2**31 - 1]], dtype=np.int32)),
    "INT64": ("identity_int64", np.array([[-(2**63), -(2**53) - 1, 0, 2**63 - 1]], dtype=np.int64)),
    "FP16": ("identity_fp16", np.array([[0.0, -1.5, 65504.0, 6e-8]], dtype=np.float16)),
    "FP32": ("identity_fp32", np.array([[0.1, -1e38, 3.4e38, 1e-45]], dtype=np.float32)),
    "FP64": ("identity_fp64", np.array([[0.1, -1e308, np.pi, 5e-324]], dtype=np.float64)),
    "BYTES": ("identity_bytes", np.array([["", "grüße", "日本語", "a\nb\"c\\"]], dtype=object)),
}

# FP16 has no JSON form in the protocol: the client refuses to write one.
JSON_DATATYPES = [name for name in DATATYPES if name != "FP16"]


def as_objects(array):
    """BYTES come back as bytes; the rest is compared as it is."""
    if array.dtype == np.object_:
        return np.array([item.decode() if isinstance(item, bytes) else item for item in array.flatten()]).reshape(array.shape)
    return array


def mlp_rows(count, seed=7):
    return np.random.default_rng(seed).standard_normal((count, 64)).astype(np.float32)


def photo_of_three():
    """A JPEG as a caller of models/digits has it: a three, written by hand, off the middle of white paper."""
    return np.array([pathlib.Path(__file__).with_name("three.jpg").read_bytes()], dtype=np.object_)
