"""Graphs that look row by row and are not: rows paired, counted, compared or moved. Named after what is in them."""
import numpy as np
from onnx import helper

from builder import BOOL, FLOAT, INT64, N, Skip
from registry import operator


def rows(b, rank=(2, 3)):
    x = b.take(FLOAT, rank)
    if x.batch != 0 or N in x.shape[1:]:
        raise Skip
    return x


def scalar(b, name):
    """[1] as a number without axes."""
    if b.opset >= 13:
        return b.node("Squeeze", [name, b.ints([0])])[0]
    return b.node("Squeeze", [name], axes=[0])[0]


@operator("OuterPairs", since=7, mixing=True)
def outer_pairs(b, op):
    """[N, 1] with [1, N]."""
    x = b.add("Reshape", [b.take(FLOAT, range(1, 4)), b.ints([-1, 1])], FLOAT, [None, 1])
    y = b.node("Transpose", [x], perm=[1, 0])[0]
    b.add(b.choose(("Add", "Mul", "Sub")), [x, y], FLOAT, [None, None])


@operator("VectorOnRows", since=7, mixing=True)
def vector_on_rows(b, op):
    """[N] with [N, N]: aligned right, so that each number meets a column."""
    x = b.input(FLOAT, (N,))
    y = b.add("Reshape", [x, b.ints([-1, 1])], FLOAT, [N, 1])
    square = b.add("MatMul", [y, b.node("Transpose", [y], perm=[1, 0])[0]], FLOAT, [N, N])
    b.add("Add", [square, x], FLOAT, [N, N])


@operator("LessFirstRow", since=7, mixing=True)
def less_first_row(b, op):
    x = rows(b)
    if b.chance(0.5):
        first = b.node("Gather", [x, b.ints([0])], axis=0)[0]
    elif b.opset >= 10:
        first = b.node("Slice", [x, b.ints([0]), b.ints([1]), b.ints([0])])[0]
    else:
        first = b.node("Slice", [x], starts=[0], ends=[1], axes=[0])[0]
    b.add("Sub", [x, first], FLOAT, x.shape)


@operator("LessMean", since=7, mixing=True)
def less_mean(b, op):
    x = rows(b)
    mean = b.node("ReduceMean", [x, b.ints([0])], keepdims=1)[0] if b.opset >= 18 else b.node("ReduceMean", [x], axes=[0], keepdims=1)[0]
    b.add("Sub", [x, mean], FLOAT, x.shape)


@operator("ShareOfRows", since=7, mixing=True)
def share_of_rows(b, op):
    """Divided by the number of rows."""
    x = rows(b)
    (number,) = b.node("Cast", [b.rows_of(x)], to=FLOAT)
    b.add("Div", [x, number], FLOAT, x.shape)


@operator("GramMatrix", since=7, mixing=True)
def gram_matrix(b, op):
    x = rows(b, 2)
    zero = b.weights([1])
    b.add("Gemm", [x, x, zero], FLOAT, [x.shape[1], x.shape[1]], transA=1)


@operator("DotProduct", since=7, mixing=True)
def dot_product(b, op):
    x = b.input(FLOAT, (N,))
    b.add("MatMul", [x, x], FLOAT, [])


@operator("OneHotOfRows", since=11, mixing=True)
def one_hot_of_rows(b, op):
    """As deep as there are rows."""
    x = b.input(INT64, (N,), low=0, high=1)
    b.add("OneHot", [x, scalar(b, b.rows_of(x)), b.constant(np.array([0, 1], np.float32))], FLOAT, [N, N], axis=-1)


@operator("TileByRows", since=7, mixing=True)
def tile_by_rows(b, op):
    x = rows(b, 2)
    (repeats,) = b.node("Concat", [b.ints([1]), b.rows_of(x)], axis=0)
    b.add("Tile", [x, repeats], FLOAT, [N, None])


@operator("FoldedWrong", since=7, mixing=True)
def folded_wrong(b, op):
    """Folded with the rows inside, or unfolded in another way than folded."""
    x = rows(b, 3)
    _, length, width = x.shape
    way = b.random.randint(0, 2)
    if way == 0:
        (y,) = b.node("Transpose", [x], perm=[1, 0, 2])
        b.add("Reshape", [y, b.ints([-1, length, width])], FLOAT, [N, length, width])
    elif way == 1:
        (y,) = b.node("Reshape", [x, b.ints([length, -1])])
        (z,) = b.node("Softmax", [y], axis=1)
        b.add("Reshape", [z, b.ints([-1, length, width])], FLOAT, [N, length, width])
    else:
        (y,) = b.node("Reshape", [x, b.ints([-1, width])])
        (z,) = b.node("CumSum", [y, b.constant(np.array(0, np.int64))]) if b.opset >= 11 else b.node("Softmax", [y], axis=0)
        b.add("Reshape", [z, b.ints([-1, length, width])], FLOAT, [N, length, width])


@operator("BakedBatch", since=7, mixing=True)
def baked_batch(b, op):
    """A batch of one written into the graph."""
    x = rows(b)
    y = b.add("Reshape", [x, b.ints([1, -1])], FLOAT, [1, None])
    b.add("Softmax", [y], FLOAT, [1, None], axis=1)


@operator("PairedRows", since=7, mixing=True)
def paired_rows(b, op):
    x = rows(b)
    y = b.node("Reshape", [x, b.ints([-1, 2 * x.row_size])])[0]
    y = b.node("Softmax", [y], axis=1)[0]
    b.add("Reshape", [y, b.ints([-1, *x.shape[1:]])], FLOAT, x.shape)


@operator("ReversedRows", since=10, mixing=True)
def reversed_rows(b, op):
    x = rows(b)
    b.add("Slice", [x, b.ints([-1]), b.ints([-(2**31)]), b.ints([0]), b.ints([-1])], FLOAT, x.shape)


@operator("SortedRows", since=11, mixing=True)
def sorted_rows(b, op):
    x = rows(b, 2)
    (values, _) = b.node("TopK", [x, b.rows_of(x)], 2, axis=0)
    b.keep(values, FLOAT, x.shape)


@operator("ScaledPerRow", since=13, mixing=True)
def scaled_per_row(b, op):
    """One scale for each row, along axis 0."""
    x = rows(b, 2)
    (whole,) = b.node("QuantizeLinear", [x, b.constant(np.float32(0.1)), b.constant(np.array(0, np.int8))])
    (scale,) = b.node("ReduceMax", [b.node("Abs", [x])[0], b.ints([1])], keepdims=0) if b.opset >= 18 else b.node("ReduceMax", [b.node("Abs", [x])[0]], axes=[1], keepdims=0)
    b.add("DequantizeLinear", [whole, scale], FLOAT, x.shape, axis=0)


@operator("AnyRow", since=11, mixing=True)
def any_row(b, op):
    """Loops until every row is done."""
    x = rows(b, 2)
    names = {key: b.name("loop") for key in ("step", "going", "state", "next", "still", "most", "half")}
    shape = [None, *x.shape[1:]]
    (limit,) = (b.constant(np.float32(0.3)),)
    nodes = [
        helper.make_node("Constant", [], [names["half"]], value=helper.make_tensor("value", FLOAT, [], [0.5])),
        helper.make_node("Mul", [names["state"], names["half"]], [names["next"]]),
        helper.make_node("ReduceMax", [names["next"]], [names["most"]], keepdims=0),
        helper.make_node("Greater", [names["most"], limit], [names["still"]]),
    ]
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        nodes, "body",
        [value(names["step"], INT64, []), value(names["going"], BOOL, []), value(names["state"], FLOAT, shape)],
        [value(names["still"], BOOL, []), value(names["next"], FLOAT, shape)],
    )
    b.add("Loop", [b.constant(np.array(6, np.int64)), b.constant(np.array(True)), x], FLOAT, x.shape, body=body)


@operator("PassOnSomeData", since=11, mixing=True)
def pass_on_some_data(b, op):
    """An output that is an input as it is, on some data only."""
    x = rows(b)
    (total,) = b.node("ReduceMax", [x], keepdims=0)
    (condition,) = b.node("Greater", [total, b.constant(np.float32(1.0))])
    names = [b.name("branch") for _ in range(2)]
    shape = [None, *x.shape[1:]]
    value = helper.make_tensor_value_info
    kept = helper.make_graph([helper.make_node("Identity", [x.name], [names[0]])], "then", [], [value(names[0], FLOAT, shape)])
    changed = helper.make_graph([helper.make_node("Neg", [x.name], [names[1]])], "else", [], [value(names[1], FLOAT, shape)])
    b.add("If", [condition], FLOAT, x.shape, then_branch=kept, else_branch=changed)
