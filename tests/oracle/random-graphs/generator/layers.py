"""Layers: matrix products, convolutions, pools, normalisation, resizing."""
import numpy as np

from builder import FLOAT, INT64, N, Skip
from registry import operator


@operator("MatMul", size_free=True)
def matmul(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=b.is_safe)
    inner, width = x.shape[-1], b.size()
    if inner == N or (b.has_free_sizes and not isinstance(inner, int)):
        raise Skip
    if not b.is_safe and x.rank == 2 and b.chance(0.4):
        # Each row with every other.
        y = b.add("Transpose", [x], x.dtype, x.shape[::-1], perm=[1, 0])
        b.add(op, [x, y], x.dtype, [x.shape[0], x.shape[0]])
        return
    if x.rank >= 3 and b.is_safe and b.chance(0.3):
        order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        y = b.add("Transpose", [x], x.dtype, [x.shape[a] for a in order], perm=order)
        b.add(op, [x, y], x.dtype, [*x.shape[:-1], x.shape[-2]])
        return
    if b.has_free_sizes:
        raise Skip
    if b.chance(0.2):
        b.add(op, [x, b.weights([inner])], x.dtype, x.shape[:-1])
    else:
        b.add(op, [x, b.weights([inner, width])], x.dtype, [*x.shape[:-1], width])


@operator("Gemm")
def gemm(b, op):
    x = b.take(FLOAT, 2, at_front=False)
    width, swap = b.size(), b.random.randint(0, 1)
    if x.batch == 0:
        transposed, inner = 0, x.shape[1]
    elif x.batch == 1:
        transposed, inner = 1, x.shape[0]
    else:
        raise Skip
    if inner == N:
        raise Skip
    weights = b.weights([width, inner] if swap else [inner, width])
    inputs = [x, weights]
    if b.opset < 11 or b.chance(0.7):
        inputs.append(b.weights(b.choose(([width], [1, width], [1]))))
    b.add(op, inputs, x.dtype, [N, width], transA=transposed, transB=swap, alpha=0.7, beta=0.5)


def image(b, channels=None, low=3, high=6, dims=None, dtype=FLOAT, **data):
    """[N, C, sizes…]: an existing value of fitting rank, or an input."""
    dims = b.random.randint(1, 2) if dims is None else dims
    if channels is None and dtype == FLOAT:
        found = [v for v in b.matching((FLOAT,), (dims + 2,), True) if N not in v.shape[2:] and min(v.shape[2:]) >= low]
        if found and b.chance(0.7):
            return b.choose(found)
    sizes = [b.random.randint(low, high) for _ in range(dims)]
    return b.input(dtype, (N, channels or b.size(1, 3), *sizes), **data)


def window_attributes(b, x, kernel_max=3):
    """Kernel, strides and pads with the sizes that come out of them."""
    sizes = x.shape[2:]
    kernel = [b.random.randint(1, min(kernel_max, d)) for d in sizes]
    strides = [b.random.randint(1, 2) for _ in sizes]
    attributes = {"kernel_shape": kernel, "strides": strides}
    if b.chance(0.3):
        attributes["auto_pad"] = b.choose(("SAME_UPPER", "SAME_LOWER"))
        out = [-(-d // s) for d, s in zip(sizes, strides)]
    else:
        pads = [b.random.randint(0, k // 2) for k in kernel]
        attributes["pads"] = pads + pads
        out = [(d + 2 * p - k) // s + 1 for d, p, k, s in zip(sizes, pads, kernel, strides)]
    return attributes, out


@operator("Conv")
def conv(b, op):
    x = image(b)
    attributes, out = window_attributes(b, x)
    channels = x.shape[1]
    groups = channels if b.chance(0.3) else 1
    width = channels * b.random.randint(1, 2) if groups > 1 else b.size()
    inputs = [x, b.weights([width, channels // groups, *attributes["kernel_shape"]])]
    if b.chance(0.6):
        inputs.append(b.weights([width]))
    b.add(op, inputs, x.dtype, [x.shape[0], width, *out], group=groups, **attributes)


@operator("ConvTranspose")
def conv_transpose(b, op):
    x = image(b, low=2, high=4)
    kernel = [b.random.randint(1, 3) for _ in x.shape[2:]]
    strides = [b.random.randint(1, 2) for _ in kernel]
    width = b.size()
    out = [(d - 1) * s + k for d, s, k in zip(x.shape[2:], strides, kernel)]
    b.add(op, [x, b.weights([x.shape[1], width, *kernel])], x.dtype, [x.shape[0], width, *out], kernel_shape=kernel, strides=strides)


@operator("MaxPool", "AveragePool", "LpPool")
def pool(b, op):
    x = image(b)
    attributes, out = window_attributes(b, x)
    if op == "AveragePool" and b.chance(0.5) and "pads" in attributes:
        attributes["count_include_pad"] = 1
    if op == "MaxPool" and not b.is_safe and b.chance(0.5):
        # Places counted over all rows.
        name, places = b.node(op, [x], 2, **attributes)
        b.keep(name, FLOAT, [x.shape[0], x.shape[1], *out])
        b.keep(places, INT64, [x.shape[0], x.shape[1], *out])
    else:
        b.add(op, [x], x.dtype, [x.shape[0], x.shape[1], *out], **attributes)


@operator("MaxUnpool", mixing=True)
def max_unpool(b, op):
    x = b.input(FLOAT, (N, 1, 4, 4))
    name, places = b.node("MaxPool", [x], 2, kernel_shape=[2, 2], strides=[2, 2])
    b.add(op, [name, places], FLOAT, [N, 1, 4, 4], kernel_shape=[2, 2], strides=[2, 2])


@operator("GlobalLpPool", until=21)
@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(b, op):
    x = b.take(FLOAT, range(3, 5))
    if b.is_safe and x.batch != 0:
        raise Skip
    b.add(op, [x], x.dtype, [x.shape[0], x.shape[1]] + [1] * (x.rank - 2))


@operator("MaxRoiPool", "RoiAlign", mixing=True, until=21)
def regions(b, op):
    x = b.input(FLOAT, (N, 2, 5, 5))
    if op == "MaxRoiPool":
        b.add(op, [x, b.constant(np.array([[0, 0, 0, 3, 3]], np.float32))], FLOAT, [1, 2, 2, 2], pooled_shape=[2, 2])
    else:
        boxes = b.constant(np.array([[0.5, 0.5, 3, 3]], np.float32))
        b.add(op, [x, boxes, b.ints([0])], FLOAT, [1, 2, 2, 2], output_height=2, output_width=2, sampling_ratio=2)


@operator("BatchNormalization")
def batch_normalization(b, op):
    x = b.take(FLOAT, range(2, 5))
    if b.is_safe and x.batch != 0:
        raise Skip
    c = x.shape[1]
    parameters = [b.weights([c], low=0.5, high=1.5), b.weights([c]), b.weights([c]), b.weights([c], low=0.5, high=1.5)]
    if b.is_safe or b.opset < 14 or b.chance(0.5):
        b.add(op, [x, *parameters], x.dtype, x.shape, epsilon=0.01)
    else:
        names = b.node(op, [x, *parameters], 3, training_mode=1, epsilon=0.1)
        b.keep(names[0], FLOAT, x.shape)


@operator("InstanceNormalization")
def instance_normalization(b, op):
    x = b.take(FLOAT, range(3, 5))
    if b.is_safe and x.batch != 0:
        raise Skip
    c = x.shape[1]
    b.add(op, [x, b.weights([c]), b.weights([c])], x.dtype, x.shape, epsilon=0.05)


@operator("GroupNormalization", since=21)
def group_normalization(b, op):
    x = b.take(FLOAT, range(3, 5))
    if b.is_safe and x.batch != 0:
        raise Skip
    c = x.shape[1]
    b.add(op, [x, b.weights([c]), b.weights([c])], x.dtype, x.shape, num_groups=c if b.chance(0.5) else 1, epsilon=0.05)


@operator("LRN")
def lrn(b, op):
    x = b.take(FLOAT, 4)
    if b.is_safe and x.batch != 0:
        raise Skip
    b.add(op, [x], x.dtype, x.shape, size=b.choose((1, 3)))


@operator("Resize", since=11)
def resize(b, op):
    x = image(b, low=2, high=4, dims=2)
    mode = b.choose(("nearest", "linear"))
    if b.chance(0.5):
        out = [2 * d for d in x.shape[2:]]
        scales = b.constant(np.array([1, 1, 2, 2], np.float32))
        roi = "" if b.opset >= 13 else b.constant(np.zeros([0], np.float32))
        b.add(op, [x, roi, scales], FLOAT, [*x.shape[:2], *out], mode=mode, coordinate_transformation_mode="asymmetric")
    else:
        out = [b.random.randint(2, 5) for _ in range(2)]
        roi, scales = ("", "") if b.opset >= 13 else (b.constant(np.zeros([0], np.float32)), b.constant(np.zeros([0], np.float32)))
        if b.opset >= 18 and b.chance(0.5):
            b.add(op, [x, roi, scales, b.ints(out)], FLOAT, [*x.shape[:2], *out], mode=mode, axes=[2, 3])
        else:
            (sizes,) = b.node("Concat", [b.rows_of(x), b.ints([x.shape[1], *out])], axis=0)
            b.add(op, [x, roi, scales, sizes], FLOAT, [*x.shape[:2], *out], mode=mode)


@operator("Upsample", since=7, until=9)
def upsample(b, op):
    x = image(b, low=2, high=4, dims=2)
    out = [2 * d for d in x.shape[2:]]
    if b.opset < 9:
        b.add(op, [x], FLOAT, [*x.shape[:2], *out], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
    else:
        b.add(op, [x, b.constant(np.array([1, 1, 2, 2], np.float32))], FLOAT, [*x.shape[:2], *out], mode="nearest")


@operator("GridSample")
def grid_sample(b, op):
    x = image(b, low=3, high=5, dims=2)
    grid = b.input(FLOAT, (N, 2, 3, 2))
    grid = b.add("Tanh", [grid], FLOAT, grid.shape)
    b.add(op, [x, grid], FLOAT, [N, x.shape[1], 2, 3])


@operator("AffineGrid")
def affine_grid(b, op):
    theta = b.input(FLOAT, (N, 2, 3))
    (size,) = b.node("Concat", [b.rows_of(theta), b.ints([1, 3, 4])], axis=0)
    b.add(op, [theta, size], FLOAT, [N, 3, 4, 2])


@operator("Col2Im")
def col2im(b, op):
    x = b.input(FLOAT, (N, 8, 4))
    b.add(op, [x, b.ints([4, 4]), b.ints([2, 2])], FLOAT, [N, 2, 4, 4], strides=[2, 2])


@operator("DeformConv")
def deform_conv(b, op):
    x = b.input(FLOAT, (N, 1, 4, 4))
    offset = b.input(FLOAT, (N, 8, 3, 3))
    b.add(op, [x, b.weights([2, 1, 2, 2]), offset], FLOAT, [N, 2, 3, 3], kernel_shape=[2, 2])


@operator("DFT", since=17)
def dft(b, op):
    x = b.take(FLOAT, 3)
    if b.is_safe and x.batch != 0:
        raise Skip
    x = b.reshaped(x, [x.row_size, 1])
    if b.opset >= 20:
        b.add(op, [x, "", b.constant(np.array(1, np.int64))], FLOAT, [N, x.shape[1], 2])
    else:
        b.add(op, [x], FLOAT, [N, x.shape[1], 2], axis=1)


@operator("STFT")
def stft(b, op):
    x = b.input(FLOAT, (N, 16))
    step, window = b.constant(np.array(4, np.int64)), b.constant(np.hanning(8).astype(np.float32) + np.float32(0.1))
    b.add(op, [x, step, window], FLOAT, [N, 3, 5, 2], onesided=1)


@operator("HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix")
def windows(b, op):
    x = b.take(FLOAT, (2, 3))
    tail = x.shape[-1]
    if tail == N or not isinstance(tail, int) or tail < 1:
        raise Skip
    if op == "MelWeightMatrix":
        whole = [b.constant(np.array(number, np.int64)) for number in (tail, 2 * (8), 16)]
        bounds = [b.constant(np.array(number, np.float32)) for number in (0.0, 8.0)]
        (matrix,) = b.node(op, [whole[0], whole[1], whole[2], *bounds])
        y = b.input(FLOAT, (N, 9))
        b.add("MatMul", [y, matrix], FLOAT, [N, tail])
        return
    (window,) = b.node(op, [b.constant(np.array(tail, np.int64))])
    b.add("Mul", [x, window], FLOAT, x.shape)


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", since=13)
def loss(b, op):
    x = b.take(FLOAT, 2)
    if b.is_safe and x.batch != 0:
        raise Skip
    target = b.input(INT64, (N,), low=0, high=x.shape[1])
    how = "none" if b.is_safe else b.choose(("none", "mean", "sum"))
    b.add(op, [x, target], FLOAT, [N] if how == "none" else [], reduction=how)
