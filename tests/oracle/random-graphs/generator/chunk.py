"""Writes cases as the runner reads them: a folder with a model file for each, index.json, and data.bin with all tensors."""
import json
import struct

import numpy as np
from onnx import AttributeProto, printer

DATATYPES = {
    "float32": "FP32", "float64": "FP64", "float16": "FP16", "int64": "INT64", "int32": "INT32", "int16": "INT16", "int8": "INT8",
    "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "bool": "BOOL", "object": "BYTES",
}
ALIGNMENT = 8


class DataFile:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.offset = 0

    def put(self, name, array):
        data = bytes_of(array)
        entry = {"name": name, "datatype": datatype_of(array), "shape": list(array.shape), "offset": self.offset, "bytes": len(data)}
        padding = -len(data) % ALIGNMENT
        self.file.write(data + b"\0" * padding)
        self.offset += len(data) + padding
        return entry


def datatype_of(array):
    return "BYTES" if array.dtype.kind in "OU" else DATATYPES[array.dtype.name]


def bytes_of(array):
    if datatype_of(array) != "BYTES":
        return np.ascontiguousarray(array).tobytes()
    parts = []
    for element in array.reshape(-1):
        text = element if isinstance(element, bytes) else str(element).encode()
        parts.append(struct.pack("<I", len(text)) + text)
    return b"".join(parts)


def operators_of(nodes):
    found = []
    for node in nodes:
        found.append(f"{node.domain}.{node.op_type}" if node.domain else node.op_type)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                found += operators_of(attribute.g.node)
    return found


def write_chunk(folder, cases, is_shrinking=False):
    folder.mkdir(parents=True, exist_ok=True)
    data = DataFile(folder / "data.bin")
    index = []
    for position, case in enumerate(cases):
        name = f"g{case.seed}-{position}" if is_shrinking else f"g{case.seed}"
        (folder / f"{name}.onnx").write_bytes(case.model.SerializeToString())
        if is_shrinking:
            (folder / f"{name}.txt").write_text(text_of(case))
        requests = []
        for feeds, outputs, error in case.requests:
            entry = {"inputs": [data.put(key, array) for key, array in feeds.items()]}
            if error:
                entry["error"] = error
            else:
                entry["outputs"] = [data.put(key, array) for key, array in zip(case.names, outputs)]
            requests.append(entry)
        index.append({
            "seed": case.seed, "name": name, "independent": case.is_safe, "opset": case.opset, "half": case.is_half,
            "stacked": case.stacked, "random": case.random_outputs, "requests": requests,
            "operators": sorted(set(operators_of([*case.model.graph.node, *(n for f in case.model.functions for n in f.node)]))),
            "nodes": {node.name: node_label(node) for node in case.model.graph.node},
        })
    data.file.close()
    (folder / "index.json").write_text(json.dumps(index))


def text_of(case):
    """The graph and its requests for people."""
    lines = [printer.to_text(case.model), ""]
    for feeds, outputs, error in case.requests:
        lines += [f"input {name} {array.shape} {array.tolist()}" for name, array in feeds.items()]
        lines += [f"error {error}"] if error else [f"  output {name} {array.shape} {array.tolist()}" for name, array in zip(case.names, outputs)]
    return "\n".join(lines) + "\n"


def node_label(node):
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type
