"""Small graphs of the shapes and constructs that made answers wrong, or models refused."""

import numpy as np
from onnx import TensorProto, helper

from export_models.export import Builder, Export, integers, normal


def unary(name, kind, write, is_independent, shape=("batch", 4), opset=17, feeds=None, output=None, **options):
    """One float input x, one output y, written by a function of builder and input."""
    b = Builder(opset)
    value = write(b, b.input("x", "float", list(shape)))
    b.output(value, "y", *(output or ("float", list(shape))))
    made = feeds or (lambda g, rows: {"x": normal(g, rows, *(4 if isinstance(size, str) else size for size in shape[1:]))})
    return Export(name, kind, b.model(), made, is_independent, **options)


def branch(name, nodes, output, shape):
    info = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
    return helper.make_graph(nodes, name, [], [info])


def if_on_a_sum(b, x):
    total = b.op("ReduceSum", x, keepdims=0)
    then = branch("then", [helper.make_node("Relu", ["x"], ["positive"])], "positive", ["batch", 4])
    other = branch("other", [helper.make_node("Neg", ["x"], ["negative"])], "negative", ["batch", 4])
    return b.op("If", b.op("Greater", total, b.scalar(0.0)), then_branch=then, else_branch=other)


def if_passes_input_through(b, x):
    """One branch answers the input itself, the other a computed value: which one writes depends on the data."""
    total = b.op("ReduceSum", x, keepdims=0)
    then = branch("then", [helper.make_node("Identity", ["x"], ["same"])], "same", ["batch", 4])
    other = branch("other", [helper.make_node("Neg", ["x"], ["negative"])], "negative", ["batch", 4])
    return b.op("If", b.op("Greater", total, b.scalar(0.0)), then_branch=then, else_branch=other)


def over_first_axis():
    yield unary("softmax_over_rows", "Softmax over axis 0", lambda b, x: b.op("Softmax", x, axis=0), False)
    yield unary("cumsum_over_rows", "CumSum over axis 0", lambda b, x: b.op("CumSum", x, b.scalar(0, np.int64)), False)
    every = lambda b, x: b.op("TopK", x, b.dim(x, 0), axis=0, outputs=2)[0]  # noqa: E731
    yield unary("sort_over_rows", "sort over axis 0", every, False)
    yield unary(
        "top_1_of_rows", "TopK over axis 0", lambda b, x: b.op("TopK", x, b.ints(1), axis=0, outputs=2)[0], False, output=("float", [1, 4])
    )
    ids = lambda g, rows: {"x": integers(g, 4, 1 + rows).astype(np.float32)}  # noqa: E731
    yield unary("unique_values", "Unique", lambda b, x: b.op("Unique", x), False, ("batch",), feeds=ids, output=("float", ["values"]))
    yield unary("sum_over_rows", "reduction over axis 0", lambda b, x: b.reduce_sum(x, 0, keepdims=0), False, output=("float", [4]))
    yield unary("mean_of_all", "scalar output", lambda b, x: b.op("ReduceMean", x, keepdims=0), False, output=("float", []))
    yield unary("standardised_over_rows", "normalisation over axis 0", lambda b, x: b.op("Sub", x, b.reduce_mean(x, 0)), False)
    yield unary("normalised_over_rows", "normalisation over axis 0", lambda b, x: b.op("LpNormalization", x, axis=0), False)
    image = ("batch", 2, 3, 3)
    yield unary("mean_variance_normalised", "normalisation over axis 0", lambda b, x: b.op("MeanVarianceNormalization", x), False, image)
    yield unary("if_on_a_reduction", "If on a reduction", if_on_a_sum, False)
    yield unary("if_passes_through", "If on a reduction, pass-through", if_passes_input_through, False)
    yield unary(
        "top_2_of_columns", "TopK", lambda b, x: b.op("TopK", x, b.ints(2), axis=-1, outputs=2)[0], True, output=("float", ["batch", 2])
    )
    yield unary("cumsum_over_columns", "CumSum", lambda b, x: b.op("CumSum", x, b.scalar(1, np.int64)), True)


def baked_and_counted():
    one = lambda b, x: b.op("Reshape", x, b.ints(1, 4))  # noqa: E731
    one_row = lambda g, rows: {"x": normal(g, 1, 4)}  # noqa: E731
    yield unary("baked_batch_of_one", "a baked batch of one", one, False, feeds=one_row, output=("float", [1, 4]))
    squeezed = lambda b, x: b.op("Squeeze", x)  # noqa: E731
    yield unary("squeezed_batch_of_one", "a baked batch of one", squeezed, False, output=("float", ["values"]))
    flat = lambda b, x: b.op("Reshape", x, b.ints(1, -1))  # noqa: E731
    yield unary("flattened_to_one_row", "a baked batch of one, flatten", flat, False, output=("float", [1, "values"]))
    count = lambda b, x: b.op("Div", x, b.op("Cast", b.dim(x, 0), to=1))  # noqa: E731
    yield unary("divided_by_row_count", "row counts used as values", count, False)
    ranks = lambda b, x: b.op("Cast", b.op("Range", b.scalar(0, np.int64), b.squeeze(b.dim(x, 0), 0), b.scalar(1, np.int64)), to=1)  # noqa: E731
    yield unary("row_numbers", "row counts used as values", ranks, False, output=("float", ["batch"]))
    pairs = lambda b, x: b.op("Reshape", x, b.ints(-1, 8))  # noqa: E731
    yield unary(
        "paired_rows",
        "data-dependent shapes",
        pairs,
        False,
        feeds=lambda g, rows: {"x": normal(g, 2 * rows, 4)},
        output=("float", ["pairs", 8]),
    )
    picked = lambda b, x: b.op("Compress", x, b.op("Greater", b.reduce_sum(x, 1, keepdims=0), b.scalar(0.0)), axis=0)  # noqa: E731
    yield unary("rows_above_zero", "data-dependent shapes", picked, False, output=("float", ["kept", 4]))
    last = lambda b, x: b.op("Slice", x, b.ints(-1), b.ints(2**62), b.ints(0))  # noqa: E731
    yield unary("last_row", "data-dependent shapes", last, False, output=("float", [1, 4]))
    nothing = lambda b, x: b.op("Slice", x, b.ints(0), b.ints(0), b.ints(1))  # noqa: E731
    yield unary("zero_length_output", "zero-length outputs", nothing, True, output=("float", ["batch", 0]))
    yield unary("vector_in_and_out", "rank-1 tensors", lambda b, x: b.op("Exp", x), True, ("batch",))
    # Of one sign: a sum that cancels keeps no digits to compare, and onnxruntime adds in another order for other numbers of rows.
    positive = lambda g, rows: {"x": np.abs(normal(g, rows, 4))}  # noqa: E731
    yield unary(
        "vector_from_matrix",
        "rank-1 tensors",
        lambda b, x: b.reduce_sum(x, 1, keepdims=0),
        True,
        feeds=positive,
        output=("float", ["batch"]),
    )
    yield unary("softmax_of_a_vector", "rank-1 tensors", lambda b, x: b.op("Softmax", x), False, ("batch",))
    random = lambda b, x: b.op("Add", x, b.op("RandomNormalLike", x))  # noqa: E731
    yield unary("random_noise", "random operators", random, False, compares_values=False)


def outputs_not_computed():
    b = Builder()
    x = b.input("x", "float", ["batch", 4])
    b.output(b.op("Relu", x), "y", "float", ["batch", 4])
    b.output(b.const(np.float32([1, 2, 3]), "classes"), "classes", "float", [3])
    yield Export("initializer_output", "constant outputs", b.model(), rows_of_x, False)
    b = Builder()
    x = b.input("x", "float", ["batch", 4])
    b.output(b.op("Relu", x), "y", "float", ["batch", 4])
    b.output(b.op("Add", b.ints(1, 2), b.ints(3, 4)), "folded", "int64", [2])
    yield Export("folded_output", "constant outputs", b.model(), rows_of_x, False)
    b = Builder()
    x = b.input("x", "float", ["batch", 4])
    b.output(b.const(np.ones((1, 4), np.float32), "one_row"), "one_row", "float", ["batch", 4])
    b.output(b.op("Relu", x), "y", "float", ["batch", 4])
    yield Export("constant_row_declared_as_batch", "constant outputs", b.model(), rows_of_x, False)
    b = Builder()
    x, key = b.input("x", "float", ["batch", 4]), b.input("key", "int64", ["batch"])
    b.output(b.op("Relu", x), "y", "float", ["batch", 4])
    b.output(key, "key_out", "int64", ["batch"])
    yield Export(
        "key_passed_through",
        "pass-through outputs",
        b.model(),
        lambda g, rows: {"x": normal(g, rows, 4), "key": integers(g, 1000, rows)},
        True,
    )
    b = Builder()
    x, key = b.input("x", "float", ["batch", 4]), b.input("key", "int64", ["batch"])
    b.output(b.op("Relu", x), "y", "float", ["batch", 4])
    b.output(key, "key", "int64", ["batch"])
    yield Export(
        "input_is_an_output",
        "pass-through outputs",
        b.model(),
        lambda g, rows: {"x": normal(g, rows, 4), "key": integers(g, 1000, rows)},
        True,
    )
    b = Builder()
    x = b.input("x", "float", ["batch", 4])
    value = b.op("Relu", x)
    b.output(value, "y", "float", ["batch", 4])
    b.output(value, "z", "float", ["batch", 4])
    b.output(b.op("Reshape", value, b.ints(-1, 2, 2)), "square", "float", ["batch", 2, 2])
    yield Export("one_value_as_two_outputs", "pass-through outputs", b.model(), rows_of_x, True)


def rows_of_x(generator, rows):
    return {"x": normal(generator, rows, 4)}


def overridable(generator, rows):
    feeds = {"x": normal(generator, rows, 4)}
    return {**feeds, "scale": normal(generator, 4)} if generator.integers(0, 2) == 1 else feeds


def inputs_of_all_kinds():
    b = Builder()
    x = b.input("x", "float", ["batch", 4])
    scale = b.input(b.const(np.float32([1, 2, 3, 4]), "scale"), "float", [4])
    b.output(b.op("Mul", x, scale), "y", "float", ["batch", 4])
    yield Export("overridable_initializer", "default initializers, optional inputs", b.model(), overridable, True)
    b = Builder()
    x, k = b.input("x", "float", ["batch", 4]), b.input("k", "float", [])
    b.output(b.op("Mul", x, k), "y", "float", ["batch", 4])
    yield Export(
        "scalar_input",
        "inputs without rows",
        b.model(),
        lambda g, rows: {"x": normal(g, rows, 4), "k": np.asarray(g.standard_normal(), np.float32)},
        False,
    )
    b = Builder()
    x, k = b.input("x", "float", ["batch", 4]), b.input("k", "float", [4])
    b.output(b.op("Mul", x, k), "y", "float", ["batch", 4])
    yield Export(
        "vector_without_rows", "inputs without rows", b.model(), lambda g, rows: {"x": normal(g, rows, 4), "k": normal(g, 4)}, False
    )
    b = Builder()
    left, right = b.input("left", "float", ["left_rows", 4]), b.input("right", "float", ["right_rows", 4])
    b.output(b.op("Concat", left, right, axis=0), "y", "float", ["rows", 4])
    yield Export(
        "concatenated_inputs",
        "unequal first dimensions",
        b.model(),
        lambda g, rows: {"left": normal(g, rows, 4), "right": normal(g, 2, 4)},
        False,
    )
    b = Builder()
    left, right = b.input("left", "float", ["left_rows", 4]), b.input("right", "float", ["right_rows", 4])
    b.output(b.op("Relu", left), "a", "float", ["left_rows", 4])
    b.output(b.op("Neg", right), "b", "float", ["right_rows", 4])
    yield Export(
        "two_models_in_one",
        "unequal first dimensions",
        b.model(),
        lambda g, rows: {"left": normal(g, rows, 4), "right": normal(g, 4 - rows, 4)},
        None,
    )
    b = Builder()
    words = b.input("words", "string", ["batch", "length"])
    b.output(words, "echo", "string", ["batch", "length"])
    strings = lambda g, rows: {"words": g.choice(np.array(["", "a", "grün", "日本"], object), size=(rows, 3))}  # noqa: E731
    yield Export("strings", "tabular with strings", b.model(), strings, True)
    b = Builder()
    x = b.input("x", "float16", ["batch", 4])
    weight = b.const(np.random.default_rng(3).standard_normal((4, 3)).astype(np.float16))
    b.output(b.op("Softmax", b.op("MatMul", x, weight), axis=1), "y", "float16", ["batch", 3])
    yield Export("half_precision", "FP16", b.model(), lambda g, rows: {"x": normal(g, rows, 4).astype(np.float16)}, True)
    b = Builder()
    x, flags, small, double = (
        b.input("x", "int32", ["batch", 2]),
        b.input("flags", "bool", ["batch", 2]),
        b.input("small", "uint8", ["batch", 2]),
        b.input("double", "double", ["batch", 2]),
    )
    b.output(b.op("Where", flags, x, b.op("Cast", small, to=TensorProto.INT32)), "picked", "int32", ["batch", 2])
    b.output(b.op("Mul", double, double), "square", "double", ["batch", 2])
    b.output(b.op("Not", flags), "not", "bool", ["batch", 2])
    mixed = lambda g, rows: {
        "x": integers(g, 99, rows, 2, dtype=np.int32),
        "flags": integers(g, 2, rows, 2).astype(bool),
        "small": integers(g, 255, rows, 2, dtype=np.uint8),
        "double": g.standard_normal((rows, 2)),
    }  # noqa: E731
    yield Export("mixed_datatypes", "tabular", b.model(), mixed, True)
    b = Builder(11)
    x = b.input("x", "float", ["batch", 4])
    pieces = b.op("SplitToSequence", x, b.ints(2, 2), axis=1)
    model = b.model()
    model.graph.output.append(helper.make_tensor_sequence_value_info(pieces, TensorProto.FLOAT, None))
    yield Export("sequence_output", "sequence outputs", model, rows_of_x, None, refusal="sequence")


def exports():
    yield from over_first_axis()
    yield from baked_and_counted()
    yield from outputs_not_computed()
    yield from inputs_of_all_kinds()
