"""Operators that pick elements: gather, scatter, one-hot, triangles, lists of elements; and Einsum."""
import numpy as np

from builder import BOOL, FLOAT, INT64, N, Skip
from registry import operator

KINDS = (FLOAT, FLOAT, FLOAT, INT64)


@operator("Gather")
def gather(b, op):
    if b.chance(0.3):
        # An embedding: rows are looked up in a table.
        indices = b.input(INT64, b.row_shape(b.random.randint(1, 2)), low=0, high=7)
        width = b.size()
        b.add(op, [b.weights([7, width]), indices], FLOAT, [*indices.shape, width], axis=0)
        return
    x = b.take(b.choose(KINDS), range(2, 5), at_front=False)
    axis = b.axis(x)
    size = 1 if x.shape[axis] == N else x.shape[axis]
    shape = b.choose(([], [1], [2], [3]))
    indices = b.constant(b.numbers.integers(0, size, shape).astype(np.int64))
    b.add(op, [x, indices], x.dtype, [*x.shape[:axis], *shape, *x.shape[axis + 1:]], axis=b.written(axis, x.rank))


@operator("GatherElements")
def gather_elements(b, op):
    x = b.take(FLOAT, range(2, 4))
    if b.is_safe and x.batch != 0 or len(b.inputs) > 4:
        raise Skip
    axis = b.axis(x)
    high = 1 if x.shape[axis] == N else x.shape[axis]
    indices = b.input(INT64, x.shape, low=0, high=high)
    b.add(op, [x, indices], x.dtype, x.shape, axis=b.written(axis, x.rank))


@operator("ScatterElements")
def scatter_elements(b, op):
    x = b.take(FLOAT, range(2, 4))
    same = [v for v in b.pool if v.shape == x.shape and v.dtype == FLOAT]
    axis = b.axis(x)
    if b.is_safe and x.batch != 0:
        raise Skip
    # Each index once: which of two updates wins is not defined.
    if x.shape[axis] == N:
        indices = b.input(INT64, x.shape, low=0, high=1)
    else:
        zeros = b.cast(b.add("Mul", [x, b.constant(np.float32(0))], FLOAT, x.shape), INT64)
        order = np.arange(x.shape[axis]).astype(np.int64)
        b.numbers.shuffle(order)
        line = [-1 if a == axis else 1 for a in range(x.rank)]
        indices = b.add("Add", [zeros, b.constant(order.reshape(line))], INT64, x.shape)
    b.add(op, [x, indices, b.choose(same)], x.dtype, x.shape, axis=axis)


@operator("Scatter", until=10)
def scatter(b, op):
    x = b.take(FLOAT, 2)
    if b.is_safe and x.batch != 0 or x.shape[1] < 1 or x.shape[1] == N:
        raise Skip
    (rows,) = b.node("Mul", [x, b.constant(np.float32(0))])
    (whole,) = b.node("Cast", [rows], to=INT64)
    (indices,) = b.node("Add", [whole, b.constant(np.arange(x.shape[1]).astype(np.int64)[None])])
    b.add(op, [x, indices, x], x.dtype, x.shape, axis=1)


@operator("GatherND")
def gather_nd(b, op):
    if b.opset < 12 and b.is_safe:
        raise Skip
    x = b.take(FLOAT, (2, 3))
    if b.is_safe and x.batch != 0:
        raise Skip
    if b.opset >= 12 and (b.is_safe or b.chance(0.5)):
        indices = b.input(INT64, (N, 1), low=0, high=x.shape[1])
        b.add(op, [x, indices], x.dtype, [N, *x.shape[2:]], batch_dims=1)
    else:
        indices = b.input(INT64, (N, 1), low=0, high=1)
        b.add(op, [x, indices], x.dtype, [N, *x.shape[1:]])


@operator("ScatterND", mixing=True)
def scatter_nd(b, op):
    x = b.take(FLOAT, (2, 3))
    if not b.is_safe:
        indices = b.ints([[0]])
        update = b.weights([1, *[d for d in x.shape[1:]]]) if N not in x.shape[1:] else None
        if update is None:
            raise Skip
        b.add(op, [x, indices, update], x.dtype, x.shape)


@operator("EyeLike", mixing=True)
def eye_like(b, op):
    x = b.take(FLOAT, 2)
    b.add(op, [x], FLOAT, x.shape, k=b.random.randint(-1, 1))


@operator("Trilu")
def trilu(b, op):
    x = b.take(FLOAT, range(3 if b.is_safe else 2, 5))
    if b.is_safe and x.batch >= x.rank - 2:
        raise Skip
    inputs = [x] + ([b.constant(np.array(b.random.randint(-1, 1), np.int64))] if b.chance(0.6) else [])
    b.add(op, inputs, x.dtype, x.shape, upper=b.random.randint(0, 1))


@operator("OneHot", size_free=True)
def one_hot(b, op):
    indices = b.input(INT64, b.row_shape(b.random.randint(1, 2)), low=0, high=4)
    values = b.constant(np.array([0, 1], np.float32))
    depth = b.constant(np.array(4, np.int64))
    if b.is_safe or b.chance(0.5):
        b.add(op, [indices, depth, values], FLOAT, [*indices.shape, 4], axis=-1)
    else:
        b.add(op, [indices, depth, values], FLOAT, [4, *indices.shape], axis=0)


@operator("Compress")
def compress(b, op):
    x = b.take(FLOAT, range(2, 4), at_front=False)
    axis = b.axis(x)
    if x.shape[axis] == N:
        b.add(op, [x, b.constant(np.array([True]))], x.dtype, [1 if a == axis else d for a, d in enumerate(x.shape)], axis=axis)
        return
    keep = b.numbers.integers(0, 2, [x.shape[axis]]).astype(np.bool_)
    keep[0] = True
    shape = [int(keep.sum()) if a == axis else d for a, d in enumerate(x.shape)]
    b.add(op, [x, b.constant(keep)], x.dtype, shape, axis=axis)


@operator("DepthToSpace", "SpaceToDepth")
def depth_space(b, op):
    c, h, w = (4 * b.random.randint(1, 2), b.size(1, 3), b.size(1, 3)) if op == "DepthToSpace" else (b.size(1, 3), 2 * b.size(1, 2), 2 * b.size(1, 2))
    x = b.input(FLOAT, (N, c, h, w))
    shape = [N, c // 4, 2 * h, 2 * w] if op == "DepthToSpace" else [N, 4 * c, h // 2, w // 2]
    mode = {"mode": b.choose(("DCR", "CRD"))} if op == "DepthToSpace" and b.opset >= 11 else {}
    b.add(op, [x], x.dtype, shape, blocksize=2, **mode)


@operator("CenterCropPad")
def center_crop(b, op):
    x = b.take(FLOAT, range(3, 5))
    if b.is_safe and x.batch != 0:
        raise Skip
    size = b.size(1, 5)
    b.add(op, [x, b.ints([size])], x.dtype, [*x.shape[:-1], size], axes=[x.rank - 1])


@operator("NonZero", mixing=True)
def non_zero(b, op):
    x = b.take((FLOAT, BOOL), range(1, 4))
    b.add(op, [x], INT64, [x.rank, None])


@operator("Unique", mixing=True)
def unique(b, op):
    x = b.take(FLOAT, range(1, 3))
    if b.chance(0.5):
        b.add(op, [x], FLOAT, [None])
    else:
        names = b.node(op, [x], 4)
        b.keep(names[0], FLOAT, [None])
        b.keep(b.choose(names[1:]), INT64, [None])


@operator("Einsum")
def einsum(b, op):
    x = b.take(FLOAT, 3)
    if b.is_safe and x.batch != 0:
        raise Skip
    _, t, d = x.shape
    width = b.size()
    way = b.random.randint(0, 4)
    if way == 0:
        b.add(op, [x, b.weights([d, width])], FLOAT, [N, t, width], equation="ntd,dw->ntw")
    elif way == 1:
        b.add(op, [x, x], FLOAT, [N, t, t], equation="bij,bkj->bik")
    elif way == 2:
        b.add(op, [x], FLOAT, [N, d, t], equation="...ij->...ji")
    elif way == 3:
        b.add(op, [x], FLOAT, [N, t], equation="bij->bi")
    elif b.is_safe:
        b.add(op, [x, b.weights([t, d])], FLOAT, [t, N], equation="bij,ij->ib")
    else:
        b.add(op, [x, x], FLOAT, [t, d], equation="bij,bij->ij")
