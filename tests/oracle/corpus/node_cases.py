"""ONNX's own corpus: the node cases that the onnx package makes in memory, and the real graphs that it ships as files."""

import functools
import pathlib
import warnings
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

# Values drawn anew for each run: only shapes can be compared.
RANDOM_OPERATORS = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
# Weights made by ConstantOfShape when they load: hundreds of megabytes, and nothing that the smaller ones do not have.
LARGE = {"light_bvlc_alexnet", "light_vgg19", "light_zfnet512"}


@dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    """The inputs by name, where the case brings tensors for all of them; otherwise None."""
    feeds: dict | None
    compares_values: bool


@functools.cache
def all_cases():
    return {case.name: case for case in [*_node_cases(), *_real_graphs()]}


def _case(name, model, inputs):
    kinds = {node.op_type for node in model.graph.node} | {node.op_type for function in model.functions for node in function.node}
    is_training = any(node.op_type == "Dropout" and len(node.input) > 2 for node in model.graph.node)
    is_random = bool(kinds & RANDOM_OPERATORS) or is_training
    names = [value.name for value in model.graph.input if value.name not in {tensor.name for tensor in model.graph.initializer}]
    is_complete = inputs is not None and len(inputs) >= len(names) and all(isinstance(array, np.ndarray) for array in inputs)
    feeds = dict(zip([value.name for value in model.graph.input], inputs)) if is_complete else None
    return Case(name, model, feeds, not is_random)


def _node_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        for case in collect_testcases(None):
            inputs = [_plain(value) for value in case.data_sets[0][0]]
            yield _case(case.name, case.model, inputs)


def _plain(value):
    """Strings as objects, scalars as arrays; what is no tensor stays what it is."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def _real_graphs():
    root = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    for path in sorted(root.glob("light/*.onnx")):
        model = onnx.load(path)
        shapes = [[dimension.dim_value for dimension in value.type.tensor_type.shape.dim] for value in model.graph.input]
        defaults = {tensor.name for tensor in model.graph.initializer}
        is_only = [value.name not in defaults for value in model.graph.input]
        generator = np.random.default_rng(1)
        inputs = [generator.standard_normal(shape).astype(np.float32) for shape, is_input in zip(shapes, is_only) if is_input]
        is_small = path.stem not in LARGE and all(is_only)
        yield _case(path.stem, model, inputs if is_small else None)
    for folder in ("pytorch-converted", "pytorch-operator", "simple"):
        for path in sorted(root.glob(f"{folder}/*/model.onnx")):
            files = sorted((path.parent / "test_data_set_0").glob("input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
            yield _case(f"{folder}-{path.parent.name}", onnx.load(path), [_tensor(file) for file in files])


def _tensor(file):
    try:
        return numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))
    except Exception:  # a sequence or an optional value is no tensor
        return None


@dataclass(frozen=True)
class Variant:
    """A case with a free number of rows."""

    name: str
    model: onnx.ModelProto
    """The inputs that have rows, with the values of the case."""
    feeds: dict
    compares_values: bool


@functools.cache
def all_variants():
    return {variant.name: variant for case in all_cases().values() for variant in _variants(case)}


def _variants(case):
    """Up to two: every input has rows, or the first alone and the others are constants."""
    feeds = case.feeds or {}
    names = list(feeds)
    if (
        not names
        or any(tensor.name in feeds for tensor in case.model.graph.initializer)
        or feeds[names[0]].ndim == 0
        or len(feeds[names[0]]) == 0
    ):
        return
    rows = len(feeds[names[0]])
    if all(array.ndim > 0 and len(array) == rows for array in feeds.values()):
        yield Variant(f"{case.name}-all", _freed(case.model, names, {}, rows), feeds, case.compares_values)
    if len(names) > 1:
        first, *others = names
        model = _freed(case.model, [first], {name: feeds[name] for name in others}, rows)
        yield Variant(f"{case.name}-first", model, {first: feeds[first]}, case.compares_values)


def _freed(model, free, constants, rows):
    freed = onnx.ModelProto()
    freed.CopyFrom(model)
    graph = freed.graph
    kept = [value for value in graph.input if value.name not in constants]
    del graph.input[:]
    graph.input.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    for value in graph.input:
        if value.name in free and len(value.type.tensor_type.shape.dim) > 0:
            value.type.tensor_type.shape.dim[0].dim_param = "N"
    for value in graph.output:
        shape = value.type.tensor_type.shape
        if value.type.HasField("tensor_type") and len(shape.dim) > 0 and shape.dim[0].dim_value == rows:
            shape.dim[0].dim_param = "N"
        elif value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    return freed


def mixed_feeds(variant, seed):
    """The rows of the case, and behind them the same values in another order: as many rows again, of other contents."""
    generator = np.random.default_rng(seed)

    def doubled(array):
        other = generator.permuted(array.reshape(-1)).reshape(array.shape)
        return np.concatenate([array, other] if seed % 2 == 0 else [other, array])

    return {name: doubled(array) for name, array in variant.feeds.items()}
