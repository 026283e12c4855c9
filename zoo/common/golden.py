"""Golden pairs: what PyTorch answered to an input, for the server's tests to compare with."""

import json
from pathlib import Path

import numpy as np

from zoo.common.paths import shipped_folder

DATATYPES = {
    np.dtype("float32"): "FP32",
    np.dtype("int64"): "INT64",
    np.dtype("int32"): "INT32",
    np.dtype("uint8"): "UINT8",
}


def tensor_json(name: str, array: np.ndarray) -> dict:
    flat = array.reshape(-1)
    if array.dtype == np.float32:
        # Nine significant digits bring every float32 back bit for bit.
        data = [float(f"{value:.9g}") for value in flat.tolist()]
    else:
        data = flat.tolist()
    return {"name": name, "datatype": DATATYPES[array.dtype], "shape": list(array.shape), "data": data}


def write_pair(path: Path, model: str, version: int, inputs: dict, outputs: dict, note: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pair = {
        "model": shipped_folder(model).name,
        "version": str(version),
        "note": note,
        "tolerance": 1e-4,
        "inputs": [tensor_json(name, array) for name, array in inputs.items()],
        "outputs": [tensor_json(name, array) for name, array in outputs.items()],
    }
    path.write_text(json.dumps(pair, separators=(",", ":")) + "\n")


def arrays_from(tensors: list) -> dict:
    kinds = {text: kind for kind, text in DATATYPES.items()}
    return {entry["name"]: np.array(entry["data"], dtype=kinds[entry["datatype"]]).reshape(entry["shape"]) for entry in tensors}
