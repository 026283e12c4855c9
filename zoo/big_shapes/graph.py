"""ONNX graphs written node by node, with random weights: no PyTorch, and no second copy of large weights in memory."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
# A protobuf message ends at 2 GiB; larger weights go into a file beside the model.
INLINE_BYTES_MAX = 1_800_000_000


class Graph:
    def __init__(self, name: str, seed: int):
        self.name = name
        self.generator = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.count = 0

    def input(self, name: str, kind: int, shape: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, kind: int, shape: list) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def constant(self, array: np.ndarray) -> str:
        name = f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def random(self, *shape: int, scale: float | None = None) -> str:
        """A weight whose outputs keep about the size of their inputs."""
        spread = scale if scale is not None else 1 / np.sqrt(np.prod(shape[1:]) if len(shape) == 4 else shape[0])
        return self.constant(self.generator.standard_normal(shape, dtype=np.float32) * np.float32(spread))

    def op(self, kind: str, *values: str, **attributes) -> str:
        self.count += 1
        result = f"value_{self.count}"
        self.nodes.append(helper.make_node(kind, list(values), [result], **attributes))
        return result

    def linear(self, x: str, inputs: int, outputs: int, bias: bool = True) -> str:
        x = self.op("MatMul", x, self.random(inputs, outputs))
        return self.op("Add", x, self.constant(np.zeros(outputs, np.float32))) if bias else x

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def save(self, path: Path) -> None:
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="millrace-zoo"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        total = sum(len(weight.raw_data) for weight in self.weights)
        outside = total > INLINE_BYTES_MAX
        onnx.save_model(model, str(path), save_as_external_data=outside, location=f"{path.name}.data")
        print(f"{path}: {total / 4e6:.1f} M weights, {total / 1e6:.0f} MB{' beside the model' if outside else ''}")


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
