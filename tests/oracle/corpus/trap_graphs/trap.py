"""A trap: a small graph with a free first dimension, and whether its rows are independent."""

from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.parser

WORDS = ["red", "green", "blue", "a b", "c", "d e f"]
IR_VERSION = 8


@dataclass(frozen=True)
class Trap:
    name: str
    number: int
    is_independent: bool
    model: onnx.ModelProto
    """How the values of an input are made, by its name: a number (integers below it) or a function of generator and shape."""
    data: dict
    """How many leading entries of an input belong to one row: 1 unless named here, 0 for an input without rows."""
    per_row: dict
    """Sizes of free dimensions other than the first, by name."""
    sizes: dict
    """False where onnxruntime's CPU build has no kernel: the graph is there to be read, not run."""
    runs: bool = True

    def feeds(self, rows, seed):
        generator = np.random.default_rng(seed)
        defaults = {tensor.name for tensor in self.model.graph.initializer}
        inputs = [value for value in self.model.graph.input if value.name not in defaults]
        return {value.name: self._values(generator, value, rows) for value in inputs}

    def _values(self, generator, value, rows):
        kind = value.type.tensor_type
        per_row = self.per_row.get(value.name, 1)
        shape = []
        for axis, dimension in enumerate(kind.shape.dim):
            is_rows = axis == 0 and per_row > 0
            free = rows * per_row if is_rows else self.sizes.get(dimension.dim_param, 4)
            shape.append(dimension.dim_value if dimension.HasField("dim_value") else free)
        made = self.data.get(value.name)
        if callable(made):
            return made(generator, tuple(shape))
        return _random(generator, kind.elem_type, shape, 4 if made is None else made)


def _random(generator, element, shape, below):
    dtype = onnx.helper.tensor_dtype_to_np_dtype(element)
    if element == onnx.TensorProto.STRING:
        return generator.choice(np.array(WORDS, dtype=object), size=shape)
    if element == onnx.TensorProto.BOOL:
        return generator.integers(0, 2, size=shape).astype(bool)
    if dtype.kind in "iu":
        return generator.integers(0, below, size=shape).astype(dtype)
    return np.round(generator.standard_normal(shape), 3).astype(dtype)


@dataclass
class Group:
    """The traps of one number of the list in the order they are written."""

    number: int
    opset: int = 17
    domains: dict = field(default_factory=dict)
    traps: list = field(default_factory=list)

    def harmful(self, name, signature, body, **options):
        self._add(name, False, signature, body, **options)

    def harmless(self, name, signature, body, **options):
        self._add(name, True, signature, body, **options)

    def _add(self, name, is_independent, signature, body, *, constants="", functions="", opset=None, ir=IR_VERSION, **rest):
        domains = {"": opset or self.opset, **self.domains, **rest.pop("domains", {})}
        imports = ", ".join(f'"{domain}" : {version}' for domain, version in domains.items())
        known = f"<{constants}>" if constants else ""
        text = f"<ir_version: {ir}, opset_import: [{imports}]>\ngraph {signature} {known} {{\n{body}\n}}\n{functions}"
        try:
            model = onnx.parser.parse_model(text)
        except onnx.parser.ParseError as error:
            raise ValueError(f"{name}: {error}\n{text}") from None
        options = {"data": {}, "per_row": {}, "sizes": {}, **rest}
        self.traps.append(Trap(name=name, number=self.number, is_independent=is_independent, model=model, **options))
