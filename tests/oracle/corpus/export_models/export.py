"""A model of a kind that teams have, how to make requests for it, and a builder for those made by hand."""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16, "int64": TensorProto.INT64, "int32": TensorProto.INT32,
    "uint8": TensorProto.UINT8, "bool": TensorProto.BOOL, "string": TensorProto.STRING,
}  # fmt: skip


@dataclass(frozen=True)
class Export:
    name: str
    """What the model is an example of, in the words of the list it comes from."""
    kind: str
    model: onnx.ModelProto
    """The inputs of one request of so many rows."""
    feeds: Callable[[np.random.Generator, int], dict]
    """Whether the rows are independent, by construction. None: not claimed."""
    is_independent: bool | None = None
    """Part of the text with which the server refuses the model, for those it may refuse."""
    refusal: str | None = None
    """False for random operators: only shapes and datatypes are compared."""
    compares_values: bool = True
    """The outputs that the server answers, where they are not the file's: from name to the tensor that onnxruntime computes."""
    renamed: dict = field(default_factory=dict)


class Builder:
    """Writes a graph node by node. Weights are seeded, so that a model is the same each time."""

    def __init__(self, opset=17, seed=1, ir=8, domains=None):
        self._opset, self._ir, self._domains = opset, ir, domains or {}
        self._generator = np.random.default_rng(seed)
        self._nodes, self._inputs, self._outputs, self.initializers = [], [], [], []
        self._count = 0

    def input(self, name, kind, shape):
        self._inputs.append(helper.make_tensor_value_info(name, TYPES[kind], shape))
        return name

    def output(self, value, name, kind, shape):
        """Gives a computed value the name of an output. A name that is an input or an initializer already is left as it is."""
        if value != name:
            self._nodes.append(helper.make_node("Identity", [value], [name], name=f"output_{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, TYPES[kind], shape))

    def weight(self, *shape, scale=None):
        size = scale or 1 / np.sqrt(max(1, int(np.prod(shape[1:]))))
        return self.const((self._generator.standard_normal(shape) * size).astype(np.float32))

    def const(self, array, name=None):
        name = name or self._name("constant")
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def scalar(self, value, dtype=np.float32):
        return self.const(np.array(value, dtype))

    def op(self, operator, *inputs, outputs=1, domain="", **attributes):
        names = [self._name(operator.lower()) for _ in range(outputs)]
        given = [name or "" for name in inputs]
        self._nodes.append(helper.make_node(operator, given, names, name=names[0], domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def squeeze(self, value, *axes):
        return self.op("Squeeze", value, axes=list(axes)) if self._opset < 13 else self.op("Squeeze", value, self.ints(*axes))

    def unsqueeze(self, value, *axes):
        return self.op("Unsqueeze", value, axes=list(axes)) if self._opset < 13 else self.op("Unsqueeze", value, self.ints(*axes))

    def dim(self, value, axis):
        """A dimension as the exporter of PyTorch reads it: Shape, Gather, Unsqueeze."""
        return self.unsqueeze(self.op("Gather", self.op("Shape", value), self.scalar(axis, np.int64), axis=0), 0)

    def reshape(self, value, *parts):
        """Reshape to sizes, some of which are computed: Concat of one-element tensors, as exporters write it."""
        if all(isinstance(part, int) for part in parts):
            return self.op("Reshape", value, self.ints(*parts))
        named = [self.ints(part) if isinstance(part, int) else part for part in parts]
        return self.op("Reshape", value, self.op("Concat", *named, axis=0))

    def linear(self, value, inputs, outputs):
        return self.op(
            "Add", self.op("MatMul", value, self.weight(inputs, outputs, scale=1 / np.sqrt(inputs))), self.weight(outputs, scale=0.1)
        )

    def reduce_mean(self, value, *axes, keepdims=1):
        if self._opset < 18:
            return self.op("ReduceMean", value, axes=list(axes), keepdims=keepdims)
        return self.op("ReduceMean", value, self.ints(*axes), keepdims=keepdims)

    def reduce_sum(self, value, *axes, keepdims=1):
        if self._opset < 13:
            return self.op("ReduceSum", value, axes=list(axes), keepdims=keepdims)
        return self.op("ReduceSum", value, self.ints(*axes), keepdims=keepdims)

    def layer_norm(self, value, width):
        """As exporters wrote it before there was an operator for it."""
        if self._opset >= 17:
            return self.op(
                "LayerNormalization", value, self.const(np.ones(width, np.float32)), self.const(np.zeros(width, np.float32)), axis=-1
            )
        centred = self.op("Sub", value, self.reduce_mean(value, -1))
        variance = self.reduce_mean(self.op("Pow", centred, self.scalar(2.0)), -1)
        return self.op("Div", centred, self.op("Sqrt", self.op("Add", variance, self.scalar(1e-5))))

    def _name(self, stem):
        self._count += 1
        return f"{stem}_{self._count}"

    def model(self):
        graph = helper.make_graph(self._nodes, "main", self._inputs, self._outputs, self.initializers)
        imports = [helper.make_opsetid("", self._opset), *(helper.make_opsetid(name, version) for name, version in self._domains.items())]
        return helper.make_model(graph, opset_imports=imports, ir_version=self._ir, producer_name="corpus")


def normal(generator, *shape):
    return generator.standard_normal(shape).astype(np.float32)


def integers(generator, below, *shape, dtype=np.int64):
    return generator.integers(0, below, size=shape).astype(dtype)
