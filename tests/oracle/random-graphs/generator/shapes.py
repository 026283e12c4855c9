"""Operators that move elements: reshape, transpose, slice, gather, scatter, pad, concatenate."""
import numpy as np
from onnx import helper

from builder import FLOAT, INT64, N, Skip
from elementwise import broadcasts
from registry import operator

KINDS = (FLOAT, FLOAT, FLOAT, INT64)


def axes_input(b, axes, since=13):
    """The axes as an input or as an attribute, as the opset has it."""
    return ([b.ints(axes)], {}) if b.opset >= since else ([], {"axes": list(axes)})


@operator("Reshape")
def reshape(b, op):
    x = b.take(b.choose(KINDS), range(2, 6))
    if b.is_safe and x.batch != 0:
        raise Skip
    if b.is_safe or b.chance(0.4):
        b.reshaped(x, b.factored(x.row_size, b.random.randint(1, 4)))
        return
    # Rows paired or mixed: only right where the numbers divide.
    size = x.row_size
    wide = b.choose([size * 2, size, max(1, size // 2), 1])
    b.add(op, [x, b.ints([-1, wide])], x.dtype, [N if wide == size else None, wide])


@operator("Flatten", size_free=True)
def flatten(b, op):
    x = b.take(FLOAT, range(2, 5))
    axis = b.random.randint(0, x.rank) if not b.is_safe else 1
    if axis == 1 and x.batch == 0:
        b.add(op, [x], x.dtype, [N, None if b.has_free_sizes else x.row_size], axis=axis)
    elif b.is_safe:
        raise Skip
    else:
        b.add(op, [x], x.dtype, [None, None], axis=axis)


@operator("Transpose", size_free=True)
def transpose(b, op):
    x = b.take(b.choose(KINDS), range(2, 5), at_front=False)
    order = list(range(x.rank))
    b.random.shuffle(order)
    if b.chance(0.15):
        b.add(op, [x], x.dtype, x.shape[::-1])
    else:
        b.add(op, [x], x.dtype, [x.shape[axis] for axis in order], perm=order)


@operator("Unsqueeze", size_free=True)
def unsqueeze(b, op):
    x = b.take(b.choose(KINDS), range(1, 5), at_front=False)
    axis = b.random.randint(0, x.rank)
    inputs, attributes = axes_input(b, [b.written(axis, x.rank + 1)])
    b.add(op, [x, *inputs], x.dtype, [*x.shape[:axis], 1, *x.shape[axis:]], **attributes)


@operator("Squeeze", size_free=True)
def squeeze(b, op):
    ones = [v for v in b.pool if 1 in v.shape and v.is_known and (v.batch is not None or not b.is_safe)]
    if not ones or b.has_free_sizes and not ones:
        unsqueeze(b, "Unsqueeze")
        ones = [b.pool[-1]]
    x = b.choose(ones)
    if not b.is_safe and b.chance(0.3):
        # Without axes: drops N too where it is 1.
        b.add(op, [x], x.dtype, [d for d in x.shape if d != 1])
        return
    axis = b.choose([axis for axis, d in enumerate(x.shape) if d == 1])
    inputs, attributes = axes_input(b, [b.written(axis, x.rank)])
    b.add(op, [x, *inputs], x.dtype, [d for a, d in enumerate(x.shape) if a != axis], **attributes)


@operator("Concat", size_free=True)
def concat(b, op):
    x = b.take(b.choose(KINDS), range(2, 5), at_front=False)
    axis = b.axis(x)
    alike = [
        v
        for v in b.pool
        if v.dtype == x.dtype and v.rank == x.rank and v.is_known
        and all(a == axis or d == e for a, (d, e) in enumerate(zip(v.shape, x.shape)))
        and (v.shape[axis] != N or x.shape[axis] == N) and (x.shape[axis] != N or v.shape[axis] == N)
    ]
    parts = [b.choose([x, *alike]) for _ in range(b.random.randint(1, 2))] + [x]
    total = None if x.shape[axis] == N else sum(v.shape[axis] for v in parts)
    b.add(op, parts, x.dtype, [total if a == axis else d for a, d in enumerate(x.shape)], axis=b.written(axis, x.rank))


@operator("Split")
def split(b, op):
    x = b.take(b.choose(KINDS), range(2, 5), at_front=False)
    options = [a for a, d in enumerate(x.shape) if isinstance(d, int) and d >= 2]
    if not options:
        raise Skip
    axis = b.choose(options)
    size = x.shape[axis]
    first = b.random.randint(1, size - 1)
    parts = [first, size - first]
    inputs, attributes = ([x, b.ints(parts)], {}) if b.opset >= 13 else ([x], {"split": parts})
    names = b.node(op, inputs, 2, axis=b.written(axis, x.rank), **attributes)
    for name, part in zip(names, parts):
        b.keep(name, x.dtype, [part if a == axis else d for a, d in enumerate(x.shape)])


@operator("Slice", size_free=True)
def slice_(b, op):
    x = b.take(b.choose(KINDS), range(2, 5), at_front=False)
    axis = b.axis(x)
    size = x.shape[axis]
    start, end, step = 0, 1, 1
    kept = 1
    if isinstance(size, int) and size > 1 and not b.has_free_sizes:
        start = b.random.randint(0, size - 1)
        end = b.random.randint(start + 1, size)
        kept = end - start
        if b.opset >= 10 and b.chance(0.3):
            start, end, step = size - 1, -size - 1, -1
            kept = size
    if size == N:
        start, end = b.choose(((0, 1), (1, 2), (0, 1000), (-1, 1000)))
        kept = None if (start, end) != (0, 1000) else N
    shape = [kept if a == axis else d for a, d in enumerate(x.shape)]
    if b.opset >= 10:
        inputs = [b.ints([start]), b.ints([end]), b.ints([b.written(axis, x.rank)])]
        if step != 1 or b.chance(0.3):
            inputs.append(b.ints([step]))
        b.add(op, [x, *inputs], x.dtype, shape)
    else:
        b.add(op, [x], x.dtype, shape, starts=[start], ends=[end], axes=[axis])


@operator("Pad", size_free=True)
def pad(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=False)
    axis = b.axis(x)
    if x.shape[axis] != N and not isinstance(x.shape[axis], int):
        raise Skip
    before, after = b.random.randint(0, 2), b.random.randint(0, 2)
    pads = [0] * (2 * x.rank)
    pads[axis], pads[axis + x.rank] = before, after
    if x.shape[axis] == N:
        size = N if before == after == 0 else None
    else:
        size = x.shape[axis] + before + after
    shape = [size if a == axis else d for a, d in enumerate(x.shape)]
    if b.opset < 11:
        b.add(op, [x], x.dtype, shape, pads=pads, value=0.5)
    else:
        b.add(op, [x, b.ints(pads), b.constant(np.float32(0.5))], x.dtype, shape, mode="constant")


@operator("Expand")
def expand(b, op):
    x = b.take(FLOAT, range(2, 5))
    if b.chance(0.5):
        # Constants for every row, as class tokens are made.
        tail = [b.size() for _ in range(b.random.randint(1, 2))]
        (target,) = b.node("Concat", [b.rows_of(x), b.ints(tail)], axis=0)
        b.add(op, [b.weights([1, *tail]), target], FLOAT, [N, *tail])
        return
    if b.is_safe and x.batch != 0:
        raise Skip
    sizes = [b.size() if d == 1 else d for d in x.shape[1:]]
    if b.chance(0.5):
        target = b.ints([1, *sizes])
    else:
        (target,) = b.node("Concat", [b.rows_of(x), b.ints(sizes)], axis=0)
    b.add(op, [x, target], x.dtype, [N, *sizes])


@operator("Tile")
def tile(b, op):
    x = b.take(FLOAT, range(2, 4))
    if b.chance(0.4):
        # Constants for every row.
        width, repeat = b.size(), b.random.randint(1, 2)
        (target,) = b.node("Concat", [b.rows_of(x), b.ints([repeat])], axis=0)
        b.add(op, [b.weights([1, width]), target], FLOAT, [N, width * repeat])
        return
    repeats = [1 if d == N else b.random.randint(1, 2) for d in x.shape]
    if not b.is_safe and b.chance(0.4):
        repeats[0] = 2
    shape = [d if r == 1 else None if d == N else d * r for d, r in zip(x.shape, repeats)]
    b.add(op, [x, b.ints(repeats)], x.dtype, shape)


@operator("ConstantOfShape", size_free=True)
def constant_of_shape(b, op):
    x = b.take(FLOAT, range(2, 5))
    value = helper.make_tensor("value", FLOAT, [1], [b.choose((0.0, 1.0, 0.5))])
    if b.chance(0.5) and x.batch is not None:
        (shape,) = b.node("Shape", [x])
        y = b.add(op, [shape], FLOAT, x.shape, value=value)
    else:
        tail = [b.size()]
        (shape,) = b.node("Concat", [b.rows_of(x), b.ints(tail)], axis=0)
        y = b.add(op, [shape], FLOAT, [N, *tail], value=value)
    if broadcasts(y, x, b.is_safe):
        b.add("Add", [x, y], FLOAT, x.shape)


@operator("Shape")
def shape_as_value(b, op):
    """Shapes used for sizes only: the value itself is the same in every row only where N is not in it."""
    x = b.take(FLOAT, range(2, 5))
    if b.is_safe and x.batch != 0:
        raise Skip
    (shape,) = b.node(op, [x])
    if b.is_safe:
        b.add("Reshape", [x, shape], x.dtype, x.shape)
    else:
        (number,) = b.node("Cast", [shape], to=FLOAT)
        (total,) = b.node("ReduceSum", [number], keepdims=0)
        b.add(b.choose(("Mul", "Add")), [x, total], x.dtype, x.shape)


@operator("Size", mixing=True)
def size(b, op):
    x = b.take(FLOAT, range(2, 5))
    (number,) = b.node(op, [x])
    (real,) = b.node("Cast", [number], to=FLOAT)
    b.add(b.choose(("Mul", "Add", "Div")), [x, real], x.dtype, x.shape)


@operator("Range", since=11)
def range_(b, op):
    x = b.take(FLOAT, range(2, 4))
    if b.is_safe:
        tail = x.shape[-1]
        if tail == N or not isinstance(tail, int):
            raise Skip
        # Positions along the last axis, as position embeddings are made.
        (shape,) = b.node("Shape", [x])
        (last,) = b.node("Gather", [shape, b.constant(np.array(x.rank - 1, np.int64))], axis=0)
        zero, one = (b.constant(np.array(number, np.int64)) for number in (0, 1))
        (places,) = b.node(op, [zero, last, one])
        (real,) = b.node("Cast", [places], to=FLOAT)
        b.add("Add", [x, real], x.dtype, x.shape)
        return
    zero, one = (b.constant(np.array(number, np.int64)) for number in (0, 1))
    (rows,) = b.node("Squeeze", [b.rows_of(x), b.ints([0])]) if b.opset >= 13 else b.node("Squeeze", [b.rows_of(x)], axes=[0])
    (places,) = b.node(op, [zero, rows, one])
    value = b.add("Cast", [places], FLOAT, [N], to=FLOAT)
    line = b.add("Reshape", [value, b.ints([-1] + [1] * (x.rank - 1))], FLOAT, [N] + [1] * (x.rank - 1))
    b.add("Add", [x, line], x.dtype, x.shape)
