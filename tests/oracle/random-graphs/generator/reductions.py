"""Operators that work along axes: reductions, softmax, normalisation, order."""
import numpy as np

from builder import FLOAT, INT64, N, Skip
from registry import operator

REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
              "ReduceLogSumExp", "ReduceSumSquare")


def axes_as_input(b, op):
    return b.opset >= (13 if op == "ReduceSum" else 18)


@operator(*REDUCTIONS, size_free=True)
def reduction(b, op):
    x = b.take(FLOAT, range(2, 6), at_front=False)
    if op == "ReduceLogSum":
        x = b.add("Add", [b.add("Abs", [x], x.dtype, x.shape), b.constant(np.float32(0.5))], x.dtype, x.shape)
    options = [axis for axis in range(x.rank) if not b.is_safe or axis != x.batch]
    axes = sorted(b.random.sample(options, b.random.randint(1, len(options))))
    if not b.is_safe and b.chance(0.2):
        axes = []
    keep = b.random.randint(0, 1)
    reduced = set(axes) if axes else set(range(x.rank))
    attributes = {"keepdims": keep}
    inputs = [x]
    written = [b.written(axis, x.rank) for axis in axes]
    if axes_as_input(b, op):
        if axes:
            inputs.append(b.ints(written))
        elif b.chance(0.4):
            attributes["noop_with_empty_axes"] = 1
            reduced = set()
        if axes and b.chance(0.1):
            attributes["noop_with_empty_axes"] = 1
    elif axes:
        attributes["axes"] = written
    shape = [1 if axis in reduced else d for axis, d in enumerate(x.shape) if keep or axis not in reduced]
    if not reduced and op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL1", "ReduceL2"):
        shape = x.shape
    b.add(op, inputs, x.dtype, shape, **attributes)


@operator("ArgMax", "ArgMin", size_free=True)
def arg_extreme(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=False)
    axis = b.axis(x)
    keep = b.random.randint(0, 1)
    shape = [1 if a == axis else d for a, d in enumerate(x.shape) if keep or a != axis]
    last = {"select_last_index": 1} if b.opset >= 12 and b.chance(0.2) else {}
    b.add(op, [x], INT64, shape, axis=b.written(axis, x.rank), keepdims=keep, **last)


@operator("Softmax", "LogSoftmax", "Hardmax", size_free=True)
def softmax(b, op):
    if b.opset >= 13:
        x = b.take(FLOAT, range(2, 5), at_front=False)
        axis = b.axis(x)
        written = b.written(axis, x.rank)
        b.add(op, [x], x.dtype, x.shape, **({} if axis == x.rank - 1 and b.chance(0.4) else {"axis": written}))
        return
    # Flattened at the axis: all axes from there on are one.
    x = b.take(FLOAT, range(2, 5), at_front=b.is_safe)
    axis = b.random.randint(1 if b.is_safe else 0, x.rank - 1)
    b.add(op, [x], x.dtype, x.shape, axis=axis)


@operator("CumSum", "CumProd", size_free=True)
def cumulative(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=False)
    axis = b.constant(np.array(b.written(b.axis(x), x.rank), np.int64))
    b.add(op, [x, axis], x.dtype, x.shape, exclusive=b.random.randint(0, 1), reverse=b.random.randint(0, 1))


@operator("LpNormalization", size_free=True)
def lp_normalization(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=False)
    x = b.add("Add", [x, b.constant(np.float32(2.5))], x.dtype, x.shape)
    b.add(op, [x], x.dtype, x.shape, axis=b.written(b.axis(x), x.rank), p=b.choose((1, 2)))


@operator("LayerNormalization", "RMSNormalization")
def layer_normalization(b, op):
    x = b.take(FLOAT, range(2, 5))
    axis = b.random.randint(1 if b.is_safe else 0, x.rank - 1)
    if N in x.shape[axis:]:
        scale = b.weights([1])
        shape = [1]
    else:
        shape = list(x.shape[axis:])
        scale = b.weights(shape, low=0.5, high=1.5)
    inputs = [x, scale] + ([b.weights(shape)] if op == "LayerNormalization" and b.chance(0.6) else [])
    written = axis - x.rank if b.chance(0.5) else axis
    if op == "LayerNormalization" and b.chance(0.2):
        names = b.node(op, inputs, 3, axis=written, epsilon=0.05)
        reduced = [d if a < axis else 1 for a, d in enumerate(x.shape)]
        for name, kept in zip(names, (x.shape, reduced, reduced)):
            b.keep(name, FLOAT, kept)
    else:
        b.add(op, inputs, x.dtype, x.shape, axis=written, epsilon=0.05)


@operator("MeanVarianceNormalization")
def mean_variance(b, op):
    x = b.take(FLOAT, 4)
    axes = sorted(b.random.sample([1, 2, 3] if b.is_safe else [0, 1, 2, 3], b.random.randint(2, 3)))
    if b.is_safe or b.chance(0.5):
        b.add(op, [x], x.dtype, x.shape, axes=axes)
    else:
        b.add(op, [x], x.dtype, x.shape)


@operator("TopK", size_free=True)
def top_k(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=False)
    axis = b.axis(x)
    size = x.shape[axis]
    if size == N or b.has_free_sizes:
        count = 1
    else:
        count = b.random.randint(1, max(1, size))
    attributes = {"axis": b.written(axis, x.rank)}
    if b.opset >= 11:
        attributes.update(largest=b.random.randint(0, 1), sorted=1)
    inputs = [x]
    if b.opset < 10:
        attributes["k"] = count
    else:
        inputs.append(b.ints([count]))
    values, places = b.node(op, inputs, 2, **attributes)
    shape = [count if a == axis else d for a, d in enumerate(x.shape)]
    b.keep(values, FLOAT, shape)
    b.keep(places, INT64, shape)


@operator("Det", often=1.15)
def determinant(b, op):
    x = b.take(FLOAT, (2, 3))
    size = b.random.randint(1, 3)
    x = b.input(FLOAT, (N, size, size))
    b.add(op, [x], FLOAT, [N])


@operator("ReverseSequence")
def reverse_sequence(b, op):
    x = b.take(FLOAT, (2, 3, 4))
    if b.is_safe and x.batch != 0 or not isinstance(x.shape[1], int) or x.shape[1] < 1:
        raise Skip
    if b.is_safe or b.chance(0.4):
        lengths = b.input(INT64, (N,), low=1, high=x.shape[1] + 1)
        b.add(op, [x, lengths], x.dtype, x.shape, batch_axis=0, time_axis=1)
    else:
        # Reversed over the rows.
        b.add(op, [x, b.constant(np.full([x.shape[1]], 1, np.int64))], x.dtype, x.shape, batch_axis=1, time_axis=0)
