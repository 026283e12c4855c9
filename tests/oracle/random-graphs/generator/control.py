"""Control flow with subgraphs, sequences, optional values and random operators."""
import numpy as np
from onnx import helper

from builder import BOOL, FLOAT, INT64, N, Skip
from registry import operator

UNARY = ("Relu", "Tanh", "Sigmoid", "Abs", "Neg")


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def declared(shape):
    """A shape as a subgraph declares it: N is known at run time only."""
    return [d if isinstance(d, int) else None for d in shape]


def branch(b, x, name, depth=0):
    """A subgraph that takes x from around it: a node or two, x as it is, or a choice between two subgraphs of its own."""
    out = b.name("branch")
    way = b.random.random()
    if way < 0.15 and depth < 2:
        choice = b.name("choice")
        constant = helper.make_node("Constant", [], [choice], value=helper.make_tensor("value", BOOL, [], [b.chance(0.5)]))
        parts = {"then_branch": branch(b, x, "then", depth + 1), "else_branch": branch(b, x, "else", depth + 1)}
        nodes = [constant, helper.make_node("If", [choice], [out], **parts)]
    elif way < 0.25 and not b.is_safe and x.rank > 1 and b.opset < 18:
        # Rows meet inside the subgraph only.
        mean = b.name("mean")
        nodes = [
            helper.make_node("ReduceMean", [x.name], [mean], axes=[0], keepdims=1),
            helper.make_node("Sub", [x.name, mean], [out]),
        ]
    elif way < 0.35:
        nodes = [helper.make_node("Identity", [x.name], [out])]
    elif way < 0.6:
        nodes = [helper.make_node(b.choose(UNARY), [x.name], [out])]
    else:
        inner = b.name("inner")
        constant = helper.make_node("Constant", [], [inner + "c"], value=helper.make_tensor("value", FLOAT, [1], [0.5]))
        nodes = [constant, helper.make_node("Mul", [x.name, inner + "c"], [inner]), helper.make_node(b.choose(UNARY), [inner], [out])]
    return helper.make_graph(nodes, name, [], [info(out, FLOAT, declared(x.shape))])


@operator("If", size_free=True)
def if_(b, op):
    x = b.take(FLOAT, range(1, 4), at_front=False)
    if b.is_safe or b.chance(0.3):
        condition = b.constant(np.array(b.chance(0.5)))
    else:
        # Decided by all rows together.
        (total,) = b.node(b.choose(("ReduceMax", "ReduceMean")), [x], keepdims=0)
        (condition,) = b.node("Greater", [total, b.constant(np.float32(0.2))])
    b.add(op, [condition], FLOAT, x.shape, then_branch=branch(b, x, "then"), else_branch=branch(b, x, "else"))


@operator("Loop", size_free=True, since=11)
def loop(b, op):
    x = b.take(FLOAT, range(1, 4), at_front=False)
    names = {key: b.name("loop") for key in ("step", "going", "state", "next", "still", "part", "sum")}
    nodes = [helper.make_node("Identity", [names["going"]], [names["still"]])]
    if b.chance(0.5):
        nodes.append(helper.make_node("Tanh", [names["state"]], [names["next"]]))
    else:
        # Another value of the graph around the loop takes part in every step.
        others = [v for v in b.pool if v.shape == x.shape and v.dtype == FLOAT]
        nodes.append(helper.make_node("Add", [names["state"], b.choose(others).name], [names["sum"]]))
        nodes.append(helper.make_node("Sigmoid", [names["sum"]], [names["next"]]))
    shape = declared(x.shape)
    outputs = [info(names["still"], BOOL, []), info(names["next"], FLOAT, shape)]
    stacks = not b.is_safe and b.chance(0.5)
    if stacks:
        nodes.append(helper.make_node("Neg", [names["next"]], [names["part"]]))
        outputs.append(info(names["part"], FLOAT, shape))
    body = helper.make_graph(
        nodes, "body", [info(names["step"], INT64, []), info(names["going"], BOOL, []), info(names["state"], FLOAT, shape)], outputs
    )
    steps = b.random.randint(1, 3)
    if b.is_safe or b.chance(0.4):
        count = b.constant(np.array(steps, np.int64))
    else:
        (total,) = b.node("ReduceMax", [x], keepdims=0)
        (lifted,) = b.node("Add", [total, b.constant(np.float32(2.5))])
        (count,) = b.node("Cast", [lifted], to=INT64)
        steps = None
    names_out = b.node(op, [count, b.constant(np.array(True)), x], 2 if stacks else 1, body=body)
    b.keep(names_out[0], FLOAT, x.shape)
    if stacks:
        b.keep(names_out[1], FLOAT, [steps, *x.shape])


@operator("Scan", since=9)
def scan(b, op):
    """Over time on axis 1 with rows on axis 0; or over the rows themselves, where they may mix."""
    x = b.take(FLOAT, 3)
    if x.batch != 0 or x.shape[1] == 0:
        raise Skip
    axis = 1 if b.is_safe else b.random.randint(0, 1)
    state_shape = [x.shape[a] for a in range(3) if a != axis]
    (start,) = b.node("ReduceMax", [x], axes=[axis], keepdims=0) if b.opset < 18 else b.node("ReduceMax", [x, b.ints([axis])], keepdims=0)
    names = {key: b.name("scan") for key in ("state", "slice", "next", "out")}
    body = helper.make_graph(
        [
            helper.make_node("Add", [names["state"], names["slice"]], [names["next"]]),
            helper.make_node("Tanh", [names["next"]], [names["out"]]),
        ],
        "body",
        [info(names["state"], FLOAT, declared(state_shape)), info(names["slice"], FLOAT, declared(state_shape))],
        [info(names["next"], FLOAT, declared(state_shape)), info(names["out"], FLOAT, declared(state_shape))],
    )
    out_axis = axis if b.is_safe else b.random.randint(0, 1)
    attributes = {"scan_input_axes": [axis], "scan_output_axes": [out_axis]}
    last, stacked = b.node(op, [start, x], 2, body=body, num_scan_inputs=1, **attributes)
    b.keep(last, FLOAT, state_shape)
    shape = list(state_shape)
    shape.insert(out_axis, x.shape[axis])
    b.keep(stacked, FLOAT, shape)


@operator("SequenceConstruct", "SequenceInsert", "SequenceAt", "SequenceErase", "SequenceLength", "SequenceEmpty")
def sequences(b, op):
    x = b.take(FLOAT, range(2, 4), at_front=False)
    other = b.add("Neg", [x], FLOAT, x.shape)
    if op in ("SequenceEmpty", "SequenceInsert"):
        (empty,) = b.node("SequenceEmpty", [], dtype=FLOAT)
        (one,) = b.node("SequenceInsert", [empty, x])
        (made,) = b.node("SequenceInsert", [one, other])
    else:
        (made,) = b.node("SequenceConstruct", [x, other])
    place = b.constant(np.array(b.random.randint(0, 1), np.int64))
    if op == "SequenceErase":
        (made,) = b.node("SequenceErase", [made, place])
        place = b.constant(np.array(0, np.int64))
    if op == "SequenceLength":
        (length,) = b.node("SequenceLength", [made])
        (real,) = b.node("Cast", [length], to=FLOAT)
        b.add("Mul", [x, real], FLOAT, x.shape)
    else:
        b.add("SequenceAt", [made, place], FLOAT, x.shape)


@operator("ConcatFromSequence", "SplitToSequence")
def sequence_concat(b, op):
    x = b.take(FLOAT, range(2, 4), at_front=False)
    axis = b.axis(x)
    if not isinstance(x.shape[axis], int):
        raise Skip
    if op == "SplitToSequence":
        (made,) = b.node(op, [x, b.constant(np.array(1, np.int64))], axis=axis)
        b.add("SequenceAt", [made, b.constant(np.array(0, np.int64))], FLOAT, [1 if a == axis else d for a, d in enumerate(x.shape)])
    else:
        (made,) = b.node("SequenceConstruct", [x, x])
        b.add(op, [made], FLOAT, [2 * d if a == axis else d for a, d in enumerate(x.shape)], axis=axis)


@operator("Optional", "OptionalHasElement", "OptionalGetElement", since=18)
def optional(b, op):
    x = b.take(FLOAT, range(1, 4), at_front=False)
    (made,) = b.node("Optional", [x])
    if op == "OptionalHasElement":
        (has,) = b.node(op, [made])
        b.add("If", [has], FLOAT, x.shape, then_branch=branch(b, x, "then"), else_branch=branch(b, x, "else"))
    else:
        b.add("OptionalGetElement", [made], FLOAT, x.shape)


@operator("RandomNormal", "RandomUniform", mixing=True, until=21, often=1.4)
def random_constant(b, op):
    x = b.take(FLOAT, 2)
    if x.shape[1] == N or not isinstance(x.shape[1], int):
        raise Skip
    (noise,) = b.node(op, [], shape=[1, x.shape[1]])
    (name,) = b.node("Add", [x, noise])
    b.keep(name, FLOAT, x.shape)


@operator("RandomNormalLike", "RandomUniformLike", "Bernoulli", mixing=True, until=21, often=1.4)
def random_like(b, op):
    x = b.take(FLOAT, range(2, 4))
    if op == "Bernoulli":
        x = b.add("Sigmoid", [x], FLOAT, x.shape)
    (name,) = b.node(op, [x])
    b.keep(name, FLOAT, x.shape)


@operator("Multinomial", mixing=True, until=21)
def multinomial(b, op):
    x = b.take(FLOAT, 2)
    (name,) = b.node(op, [x], sample_size=2, dtype=INT64)
    b.keep(name, INT64, [x.shape[0], 2])


@operator("NonMaxSuppression", mixing=True, often=1.6)
def non_max_suppression(b, op):
    boxes = b.constant(np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32))
    scores = b.input(FLOAT, (N, 1, 3))
    place = b.node("Concat", [b.rows_of(scores), b.ints([1, 1])], axis=0)[0]
    (tiled,) = b.node("Tile", [boxes, place])
    (name,) = b.node(op, [tiled, scores, b.ints([3]), b.constant(np.array([0.5], np.float32)), b.constant(np.array([-1.0], np.float32))])
    b.keep(name, INT64, [None, 3])


@operator("LocalFunction", since=10)
def local_function(b, op):
    """A function of the model file itself, which a reader must look into."""
    x = b.take(FLOAT, range(2, 4), at_front=False)
    name = b.name("Function")
    mixes = not b.is_safe and b.chance(0.5)
    nodes = [helper.make_node("Tanh", ["a"], ["t"])]
    if mixes and b.opset < 18:
        nodes.append(helper.make_node("ReduceMean", ["t"], ["m"], axes=[0], keepdims=1))
        nodes.append(helper.make_node("Sub", ["t", "m"], ["b"]))
    else:
        nodes.append(helper.make_node("Mul", ["t", "a"], ["b"]))
    imports = [helper.make_opsetid("", b.opset)]
    b.functions.append(helper.make_function("oracle.local", name, ["a"], ["b"], nodes, imports))
    b.add(name, [x], FLOAT, x.shape, domain="oracle.local")
