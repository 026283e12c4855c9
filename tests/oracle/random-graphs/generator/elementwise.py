"""Operators that work on each element, with broadcasting."""
import numpy as np
from onnx import TensorProto

from builder import BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, INT8, N, UINT8, Skip
from registry import operator

PLAIN = ("Abs", "Neg", "Floor", "Ceil", "Sin", "Cos", "Atan", "Sigmoid", "Tanh", "Relu", "LeakyRelu", "Elu", "Selu", "HardSigmoid",
         "Softplus", "Softsign", "Sign", "Sinh", "Cosh", "Asinh", "Erf", "Celu", "HardSwish", "Mish", "Gelu", "Identity",
         "ThresholdedRelu", "Shrink", "Round", "Exp")
ATTRIBUTES = {"LeakyRelu": ("alpha",), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "ThresholdedRelu": ("alpha",),
              "Shrink": ("bias", "lambd")}


@operator(*PLAIN, size_free=True)
def plain(b, op):
    dtype = FLOAT16 if op in ("Relu", "Tanh", "Abs") and b.chance(0.1) else FLOAT
    if op in ("Abs", "Neg", "Identity", "Sign") and b.chance(0.2):
        dtype = b.choose((INT64, INT32, DOUBLE))
    x = b.take(dtype, range(1, 6), at_front=False)
    names = ATTRIBUTES.get(op, ())
    attributes = {name: b.random.uniform(0.1, 0.6) for name in names if b.chance(0.6)}
    if op == "Exp":
        x = b.add("Tanh", [x], x.dtype, x.shape)
    b.add(op, [x], x.dtype, x.shape, **attributes)


@operator("Log", "Sqrt", "Reciprocal", "Tan", "Asin", "Acos", "Acosh", "Atanh", size_free=True)
def in_domain(b, op):
    """Operators that are undefined or steep somewhere: kept away from there."""
    x = b.take(FLOAT, range(1, 5), at_front=False)
    if op in ("Tan", "Asin", "Acos", "Atanh"):
        x = b.add("Mul", [b.add("Tanh", [x], x.dtype, x.shape), b.constant(np.float32(0.8))], x.dtype, x.shape)
    else:
        x = b.add("Add", [b.add("Abs", [x], x.dtype, x.shape), b.constant(np.float32(1.25))], x.dtype, x.shape)
    b.add(op, [x], x.dtype, x.shape)


@operator("Clip", size_free=True)
def clip(b, op):
    x = b.take(FLOAT, range(1, 5), at_front=False)
    if b.opset < 11:
        b.add(op, [x], x.dtype, x.shape, min=-0.7, max=0.9)
    else:
        low = b.constant(np.float32(-0.7)) if b.chance(0.7) else ""
        b.add(op, [x, low, b.constant(np.float32(0.9))], x.dtype, x.shape)


@operator("Dropout", size_free=True)
def dropout(b, op):
    x = b.take(FLOAT, range(1, 5), at_front=False)
    if b.opset < 12:
        b.add(op, [x], x.dtype, x.shape, ratio=0.3)
        return
    inputs = [x, b.constant(np.float32(0.3))] if b.chance(0.5) else [x]
    if b.chance(0.3):
        name, mask = b.node(op, inputs, 2)
        b.keep(name, x.dtype, x.shape)
        b.keep(mask, BOOL, x.shape)
    else:
        b.add(op, inputs, x.dtype, x.shape)


@operator("Cast", size_free=True)
def cast(b, op):
    x = b.take((FLOAT, INT64, DOUBLE, INT32, BOOL), range(1, 5), at_front=False)
    target = b.choose((FLOAT, DOUBLE, INT64, INT32, BOOL, FLOAT16))
    b.add(op, [x], target, x.shape, to=target)


@operator("CastLike", size_free=True)
def cast_like(b, op):
    x = b.take((FLOAT, INT64, DOUBLE), range(1, 5), at_front=False)
    target = b.choose((FLOAT, DOUBLE, INT64))
    b.add(op, [x, b.weights([1], target)], target, x.shape)


@operator("IsNaN", "IsInf", size_free=True)
def is_special(b, op):
    x = b.take(FLOAT, range(1, 5), at_front=False)
    b.add(op, [x], BOOL, x.shape)


def partner(b, x, dtype=None, **limits):
    """A second operand that broadcasts to x without touching its rows: weights, one value a row, or a value of the same shape."""
    dtype = x.dtype if dtype is None else dtype
    same = [v for v in b.pool if v.shape == x.shape and v.dtype == dtype and v is not x]
    way = b.random.random()
    if same and way < 0.35:
        return b.choose(same)
    if way < 0.45 and not limits:
        return x
    known = [v for v in b.pool if v.dtype == dtype and v is not x and broadcasts(v, x, b.is_safe)]
    if known and way < 0.6:
        return b.choose(known)
    # Weights: aligned right, with size 1 where x has N.
    keep = b.random.randint(0, x.rank)
    shape = [1 if d == N or b.has_free_sizes or b.chance(0.3) else d for d in x.shape[x.rank - keep:]]
    return b.weights(shape, dtype, 1.0, **limits)


def broadcasts(v, x, is_safe):
    """Whether v broadcasts to the shape of x, N to N alone."""
    if v.rank > x.rank or not v.is_known or not x.is_known:
        return False
    for a, c in zip(reversed(v.shape), reversed(x.shape)):
        if a != c and a != 1:
            return False
        if is_safe and (a == N) != (c == N) and a == N:
            return False
    return True


def operands(b, x, other):
    return [x, other] if b.chance(0.6) else [other, x]


@operator("Add", "Sub", "Mul", size_free=True)
def arithmetic(b, op):
    x = b.take(b.choose((FLOAT, FLOAT, FLOAT, INT64, DOUBLE, INT32)), range(1, 6), at_front=False)
    b.add(op, operands(b, x, partner(b, x)), x.dtype, x.shape)


@operator("Div", size_free=True)
def division(b, op):
    x = b.take(b.choose((FLOAT, FLOAT, DOUBLE)), range(1, 5), at_front=False)
    b.add(op, [x, partner(b, x, low=1.0, high=3.0)], x.dtype, x.shape)


@operator("Pow", size_free=True)
def power(b, op):
    x = b.take(FLOAT, range(1, 4), at_front=False)
    b.add(op, [x, b.constant(np.float32(b.choose((2, 3))))], x.dtype, x.shape)


@operator("Mod", size_free=True)
def modulo(b, op):
    if b.chance(0.5):
        x = b.take((INT64, INT32), range(1, 4), at_front=False)
        b.add(op, [x, partner(b, x, low=2, high=5)], x.dtype, x.shape)
    else:
        x = b.take(FLOAT, range(1, 4), at_front=False)
        b.add(op, [x, partner(b, x, low=1.0, high=2.0)], x.dtype, x.shape, fmod=1)


@operator("Max", "Min", "Sum", "Mean", size_free=True)
def variadic(b, op):
    x = b.take(FLOAT, range(1, 5), at_front=False)
    others = [partner(b, x) for _ in range(b.random.randint(0, 2))]
    b.add(op, [x, *others], x.dtype, x.shape)


@operator("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", size_free=True)
def comparison(b, op):
    if b.opset < 9 and op in ("Less", "Greater") and not b.chance(1):
        raise Skip
    dtype = b.choose((INT64, INT32)) if op == "Equal" else b.choose((FLOAT, FLOAT, INT64, DOUBLE))
    if b.opset < 9 and dtype not in (FLOAT, DOUBLE) and op != "Equal":
        dtype = FLOAT
    x = b.take(dtype, range(1, 5), at_front=False)
    b.add(op, operands(b, x, partner(b, x)), BOOL, x.shape)


def booleans(b):
    """A boolean value, made by a comparison where there is none."""
    known = [v for v in b.pool if v.dtype == BOOL and v.batch is not None and v.is_known]
    if known and b.chance(0.8):
        return b.choose(known)
    x = b.take(FLOAT, range(1, 5), at_front=False)
    return b.add("Greater", [x, b.weights([1])], BOOL, x.shape)


@operator("And", "Or", "Xor", size_free=True)
def logic(b, op):
    x = booleans(b)
    b.add(op, operands(b, x, partner(b, x)), BOOL, x.shape)


@operator("Not", size_free=True)
def negation(b, op):
    x = booleans(b)
    b.add(op, [x], BOOL, x.shape)


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor", size_free=True)
def bits(b, op):
    x = b.take((INT64, INT32), range(1, 4), at_front=False)
    b.add(op, operands(b, x, partner(b, x)), x.dtype, x.shape)


@operator("BitwiseNot", size_free=True)
def bits_not(b, op):
    x = b.take((INT64, INT32), range(1, 4), at_front=False)
    b.add(op, [x], x.dtype, x.shape)


@operator("BitShift", size_free=True)
def bit_shift(b, op):
    x = b.take((INT64, INT32), range(1, 4), at_front=False)
    kind = b.choose((TensorProto.UINT32, TensorProto.UINT64))
    x = b.cast(x, kind)
    b.add(op, [x, b.weights([1], kind, low=1, high=4)], kind, x.shape, direction=b.choose(("LEFT", "RIGHT")))


@operator("BitCast", size_free=True)
def bit_cast(b, op):
    x = b.take(FLOAT, range(1, 4), at_front=False)
    y = b.add("Round", [x], FLOAT, x.shape)
    b.add(op, [y], INT32, x.shape, to=INT32)


@operator("PRelu", size_free=True)
def prelu(b, op):
    x = b.take(FLOAT, range(2, 5), at_front=False)
    slope = [1 if d == N or b.has_free_sizes else d for d in x.shape[1:]]
    b.add(op, [x, b.weights(slope)], x.dtype, x.shape)


@operator("Where", size_free=True)
def where(b, op):
    condition = booleans(b)
    same = [v for v in b.pool if v.shape == condition.shape and v.dtype == FLOAT]
    if not same:
        same = [b.cast(condition, FLOAT)]
    x = b.choose(same)
    other = partner(b, x)
    b.add(op, [condition, *operands(b, x, other)], x.dtype, x.shape)


@operator("QuantizeLinear", size_free=True)
def quantize(b, op):
    x = b.take(FLOAT, range(1, 5), at_front=False)
    kind = b.choose((UINT8, INT8))
    zero = {UINT8: 128, INT8: 0}[kind]
    point = b.constant(np.array(zero, np.uint8 if kind == UINT8 else np.int8))
    b.add(op, [x, b.constant(np.float32(0.05)), point], kind, x.shape)


@operator("DequantizeLinear", size_free=True)
def dequantize(b, op):
    known = [v for v in b.pool if v.dtype in (UINT8, INT8) and v.batch is not None]
    if not known:
        quantize(b, "QuantizeLinear")
        known = [b.pool[-1]]
    x = b.choose(known)
    point = b.constant(np.array(3, np.uint8 if x.dtype == UINT8 else np.int8))
    b.add(op, [x, b.constant(np.float32(0.07)), point], FLOAT, x.shape)
