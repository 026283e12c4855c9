"""Layers on whole numbers of eight bits."""
import numpy as np

from builder import FLOAT, INT32, INT8, N, UINT8
from registry import operator


@operator("ConvInteger")
def conv_integer(b, op):
    x = b.input(UINT8, (N, b.size(1, 2), 4, 4), low=0, high=255)
    b.add(op, [x, b.weights([2, x.shape[1], 2, 2], UINT8, low=0, high=255), b.constant(np.array(7, np.uint8))], INT32, [N, 2, 3, 3])


@operator("MatMulInteger")
def matmul_integer(b, op):
    x = b.input(UINT8, (N, b.size(2, 5)), low=0, high=255)
    width = b.size()
    b.add(op, [x, b.weights([x.shape[1], width], INT8, low=-100, high=100), b.constant(np.array(3, np.uint8))], INT32, [N, width])


def byte_value(b, shape=None):
    known = [v for v in b.pool if v.dtype == UINT8 and v.batch == 0 and v.rank >= 2 and v.is_known]
    if known and shape is None and b.chance(0.6):
        return b.choose(known)
    return b.input(UINT8, shape or b.row_shape(2), low=0, high=255)


def scale_and_zero(b, scale):
    return [b.constant(np.float32(scale)), b.constant(np.array(120, np.uint8))]


@operator("QLinearMatMul")
def qlinear_matmul(b, op):
    x = byte_value(b, b.row_shape(2))
    width = b.size()
    weights = b.weights([x.shape[-1], width], UINT8, low=0, high=255)
    b.add(op, [x, *scale_and_zero(b, 0.02), weights, *scale_and_zero(b, 0.01), *scale_and_zero(b, 0.05)], UINT8, [*x.shape[:-1], width])


@operator("QLinearConv")
def qlinear_conv(b, op):
    x = byte_value(b, (N, 2, 4, 4))
    weights = b.weights([3, 2, 2, 2], UINT8, low=0, high=255)
    b.add(op, [x, *scale_and_zero(b, 0.02), weights, *scale_and_zero(b, 0.01), *scale_and_zero(b, 0.05)], UINT8, [N, 3, 3, 3])


@operator("DynamicQuantizeLinear", mixing=True)
def dynamic_quantize(b, op):
    x = b.take(FLOAT, range(1, 4))
    y, scale, zero = b.node(op, [x], 3)
    b.add("DequantizeLinear", [y, scale, zero], FLOAT, x.shape)
