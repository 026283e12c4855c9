"""Operators of com.microsoft that ONNX Runtime runs on the CPU: what its optimizer and its quantizer write into files."""
import numpy as np
from onnx import helper

from builder import FLOAT, INT32, INT64, INT8, N, STRING, UINT8, Skip
from quantized import byte_value, scale_and_zero
from registry import MICROSOFT, operator


def own(*names, **options):
    return operator(*names, domain=MICROSOFT, **options)


def put(b, op, inputs, dtype, shape, **attributes):
    return b.add(op, inputs, dtype, shape, domain=MICROSOFT, **attributes)


@own("Gelu", "FastGelu", "QuickGelu", size_free=True)
def gelu(b, op):
    x = b.take(FLOAT, range(2, 4), at_front=False)
    put(b, op, [x], FLOAT, x.shape)


@own("BiasGelu")
def bias_gelu(b, op):
    x = b.take(FLOAT, range(2, 4))
    if x.shape[-1] == N:
        raise Skip
    put(b, op, [x, b.weights([x.shape[-1]])], FLOAT, x.shape)


@own("FusedMatMul", "TransposeMatMul")
def fused_matmul(b, op):
    x = b.take(FLOAT, range(2, 4))
    if b.is_safe and x.batch != 0 or x.shape[-1] == N:
        raise Skip
    width = b.size()
    if not b.is_safe and x.rank == 2 and b.chance(0.5):
        put(b, op, [x, x], FLOAT, [N, N], transB=1, alpha=0.5)
    else:
        put(b, op, [x, b.weights([width, x.shape[-1]])], FLOAT, [*x.shape[:-1], width], transB=1, alpha=0.5)


@own("FusedGemm")
def fused_gemm(b, op):
    x = b.take(FLOAT, 2)
    if b.is_safe and x.batch != 0:
        raise Skip
    width = b.size()
    put(b, op, [x, b.weights([x.shape[1], width]), b.weights([width])], FLOAT, [N, width], activation="Relu")


@own("FusedConv")
def fused_conv(b, op):
    x = b.input(FLOAT, (N, 2, 4, 4))
    put(b, op, [x, b.weights([3, 2, 2, 2]), b.weights([3])], FLOAT, [N, 3, 3, 3], activation="Relu", kernel_shape=[2, 2])


@own("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_layer_normalization(b, op):
    x = b.take(FLOAT, 3)
    if b.is_safe and x.batch != 0:
        raise Skip
    skip = b.choose([v for v in b.pool if v.shape == x.shape and v.dtype == FLOAT])
    inputs = [x, skip, b.weights([x.shape[-1]], low=0.5, high=1.5)]
    if op == "SkipLayerNormalization":
        inputs.append(b.weights([x.shape[-1]]))
    put(b, op, inputs, FLOAT, x.shape, epsilon=0.05)


@own("EmbedLayerNormalization")
def embed(b, op):
    length = b.size(1, 3)
    words = b.input(INT32, (N, length), low=0, high=6)
    kinds = b.input(INT32, (N, length), low=0, high=2)
    tables = [b.weights([rows, 4]) for rows in (6, 5, 2)]
    names = b.node(op, [words, kinds, *tables, b.weights([4], low=0.5, high=1.5), b.weights([4])], 2, MICROSOFT, epsilon=0.05)
    b.keep(names[0], FLOAT, [N, length, 4])


@own("QLinearAdd", "QLinearMul")
def qlinear_binary(b, op):
    x = byte_value(b)
    other = b.weights([x.shape[-1]] if x.shape[-1] != N else [1], UINT8, low=0, high=255)
    put(b, op, [x, *scale_and_zero(b, 0.02), other, *scale_and_zero(b, 0.03), *scale_and_zero(b, 0.06)], UINT8, x.shape)


@own("QLinearSigmoid", "QLinearLeakyRelu")
def qlinear_unary(b, op):
    x = byte_value(b)
    put(b, op, [x, *scale_and_zero(b, 0.02), *scale_and_zero(b, 0.01)], UINT8, x.shape)


@own("QLinearAveragePool", "QLinearGlobalAveragePool")
def qlinear_pool(b, op):
    x = byte_value(b, (N, 2, 4, 4))
    inputs = [x, *scale_and_zero(b, 0.02), *scale_and_zero(b, 0.02)]
    if op == "QLinearAveragePool":
        put(b, op, inputs, UINT8, [N, 2, 2, 2], kernel_shape=[2, 2], strides=[2, 2])
    else:
        put(b, op, inputs, UINT8, [N, 2, 1, 1], channels_last=0)


@own("QLinearConcat")
def qlinear_concat(b, op):
    x = byte_value(b)
    if x.rank < 2 or x.shape[1] == N:
        raise Skip
    parts = [x, *scale_and_zero(b, 0.02)] * 2
    put(b, op, [*scale_and_zero(b, 0.02), *parts], UINT8, [N, 2 * x.shape[1], *x.shape[2:]], axis=1)


@own("QLinearSoftmax")
def qlinear_softmax(b, op):
    x = byte_value(b, b.row_shape(2))
    put(b, op, [x, *scale_and_zero(b, 0.05), b.constant(np.float32(1 / 256)), b.constant(np.array(0, np.uint8))], UINT8, x.shape, axis=1,
        opset=13)


@own("QLinearWhere")
def qlinear_where(b, op):
    x = byte_value(b, b.row_shape(2))
    chosen = b.weights([x.shape[1]], 9)
    other = b.weights([x.shape[1]], UINT8, low=0, high=255)
    put(b, op, [chosen, x, *scale_and_zero(b, 0.02), other, *scale_and_zero(b, 0.03), *scale_and_zero(b, 0.04)], UINT8, x.shape)


@own("DynamicQuantizeMatMul", mixing=True, often=1.3)
def dynamic_matmul(b, op):
    x = b.take(FLOAT, 2)
    # Without columns ONNX Runtime answers what lies in memory.
    if x.shape[1] == 0 or not isinstance(x.shape[1], int):
        raise Skip
    weights = b.weights([x.shape[1], 3], UINT8, low=0, high=255)
    put(b, op, [x, weights, b.constant(np.float32(0.02)), b.constant(np.array(100, np.uint8))], FLOAT, [x.shape[0], 3])


@own("MatMulIntegerToFloat")
def integer_to_float(b, op):
    x = byte_value(b, b.row_shape(2))
    weights = b.weights([x.shape[1], 3], UINT8, low=0, high=255)
    scales = [b.constant(np.float32(0.02)), b.constant(np.float32(0.01))]
    points = [b.constant(np.array(100, np.uint8)), b.constant(np.array(120, np.uint8))]
    put(b, op, [x, weights, *scales, *points], FLOAT, [N, 3])




@own("QuantizeLinear", "DequantizeLinear")
def quantize(b, op):
    if op == "QuantizeLinear":
        x = b.take(FLOAT, range(2, 4), at_front=False)
        put(b, op, [x, *scale_and_zero(b, 0.04)], UINT8, x.shape)
    else:
        x = byte_value(b)
        put(b, op, [x, *scale_and_zero(b, 0.04)], FLOAT, x.shape)


@own("MatMulNBits", often=1.4)
def matmul_bits(b, op):
    x = b.input(FLOAT, (N, 32))
    weights = b.weights([4, 2, 8], UINT8, low=0, high=255)
    scales = b.weights([8], low=0.05, high=0.2)
    put(b, op, [x, weights, scales], FLOAT, [N, 4], K=32, N=4, bits=4, block_size=16)


@own("Inverse")
def inverse(b, op):
    x = b.input(FLOAT, (N, 2, 2))
    x = b.add("Add", [x, b.constant(np.array([[6, 0], [0, 6]], np.float32))], FLOAT, x.shape)
    put(b, op, [x], FLOAT, x.shape)


@own("CDist", mixing=True)
def distance(b, op):
    x = b.take(FLOAT, 2)
    put(b, op, [x, x], FLOAT, [x.shape[0], x.shape[0]], metric="sqeuclidean")


@own("ExpandDims")
def expand_dims(b, op):
    x = b.take(FLOAT, (2, 3))
    if b.is_safe and x.batch != 0:
        raise Skip
    put(b, op, [x, b.constant(np.array(1, np.int32))], FLOAT, [N, 1, *x.shape[1:]])


@own("Trilu")
def trilu(b, op):
    x = b.take(FLOAT, 3)
    if b.is_safe and x.batch != 0:
        raise Skip
    put(b, op, [x], FLOAT, x.shape, upper=1)


@own("RotaryEmbedding")
def rotary(b, op):
    length = b.size(1, 3)
    x = b.input(FLOAT, (N, 2, length, 4))
    places = b.input(INT64, (N, length), low=0, high=5)
    put(b, op, [x, places, b.weights([5, 2]), b.weights([5, 2])], FLOAT, x.shape)


@own("MurmurHash3")
def hash_(b, op):
    x = b.input(INT32, b.row_shape(2), low=0, high=50)
    put(b, op, [x], INT32, x.shape, positive=0)


@own("QGemm")
def quantized_gemm(b, op):
    x = byte_value(b, b.row_shape(2))
    weights = b.weights([x.shape[1], 3], UINT8, low=0, high=255)
    put(b, op, [x, *scale_and_zero(b, 0.02), weights, *scale_and_zero(b, 0.01), "", *scale_and_zero(b, 0.05)], UINT8, [N, 3], transB=0)


@own("DynamicQuantizeLSTM", mixing=True, often=1.15)
def dynamic_lstm(b, op):
    x = b.input(FLOAT, (N, 2, 3))
    y = b.add("Transpose", [x], FLOAT, [2, N, 3], perm=[1, 0, 2])
    weights = [b.weights([1, size, 8], INT8, low=-100, high=100) for size in (3, 2)]
    scales = [part for _ in range(2) for part in (b.constant(np.array([0.01], np.float32)), b.constant(np.array([0], np.int8)))]
    names = b.node(op, [y, *weights, "", "", "", "", "", *scales], 1, MICROSOFT, hidden_size=2)
    b.keep(names[0], FLOAT, [2, 1, N, 2])


@own("GroupQueryAttention", since=9, often=1.5)
def group_query_attention(b, op):
    length, heads, width = b.size(1, 3), 2, 8
    query = b.input(FLOAT, (N, length, heads * width))
    key = b.input(FLOAT, (N, length, width))
    past = b.input(FLOAT, (N, 1, 0, width)) if not b.is_safe else None
    if past is None:
        (shape,) = b.node("Concat", [b.rows_of(query), b.ints([1, 0, width])], axis=0)
        (past,) = b.node("ConstantOfShape", [shape])
    (rows,) = b.node("Concat", [b.rows_of(query)], axis=0)
    value = helper.make_tensor("value", INT32, [1], [length - 1])
    (lengths,) = b.node("ConstantOfShape", [rows], value=value)
    total = b.constant(np.array(length, np.int32))
    names = b.node(op, [query, key, key, past, past, lengths, total], 3, MICROSOFT, num_heads=heads, kv_num_heads=1)
    b.keep(names[0], FLOAT, query.shape)


@own("Tokenizer", mixing=True)
def tokenizer(b, op):
    x = b.input(STRING, (N,), words=("red green", "blue", "a b c"))
    put(b, op, [x], STRING, [N, None], mark=0, mincharnum=1, pad_value="#", separators=[" "])


@own("Attention", mixing=True)
def masked_attention(b, op):
    """A mask that holds the ends of all rows and then their starts."""
    length, heads = b.size(2, 3), 1
    x = b.input(FLOAT, (N, length, 4))
    ends = b.input(INT32, (N,), low=1, high=length + 1)
    (starts,) = b.node("Sub", [ends, ends])
    (mask,) = b.node("Concat", [ends, starts], axis=0)
    put(b, op, [x, b.weights([4, 12]), b.weights([12]), mask], FLOAT, [N, length, 4], num_heads=heads)
