"""PyTorch module to ONNX file, always the same bytes for the same weights."""

from pathlib import Path
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
import torch

OPSET = 17


def export(module, example_inputs, path: Path, input_names, output_names, dynamic_axes) -> None:
    """Writes a float32 graph whose initialisers carry the module's own parameter names.

    Constants are not folded: folding renames and duplicates weights (a tied embedding would be stored twice),
    and ONNX Runtime folds them at load time anyway.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    module = module.eval().cpu().float()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(example_inputs),
            str(path),
            dynamo=False,
            opset_version=OPSET,
            do_constant_folding=False,
            input_names=list(input_names),
            output_names=list(output_names),
            dynamic_axes=dynamic_axes,
        )
    graph = onnx.load(str(path))
    graph.producer_name = "millrace-zoo"
    graph.producer_version = ""
    graph.doc_string = ""
    for node in graph.graph.node:
        node.doc_string = ""
    del graph.graph.value_info[:]
    onnx.checker.check_model(graph)
    path.write_bytes(graph.SerializeToString(deterministic=True))


def weights_from(path: Path) -> dict:
    """The parameters stored in an exported file, under the names they have in the module."""
    graph = onnx.load(str(path)).graph
    return {entry.name: torch.from_numpy(np.array(numpy_helper.to_array(entry))) for entry in graph.initializer}


def load_from_onnx(module, path: Path):
    """Puts a file's weights back into a module: the shipped ONNX file is its own checkpoint."""
    wanted = module.state_dict()
    stored = {name: tensor for name, tensor in weights_from(path).items() if name in wanted}
    missing = sorted(set(wanted) - set(stored))
    if missing:
        raise ValueError(f"{path} lacks the parameters {missing}; export it again from a checkpoint")
    module.load_state_dict(stored)
    return module
