"""The big shapes: a ResNet-50, an encoder like BERT-base, a decoder like Llama. Right in shape and cost, untrained."""

import math

import numpy as np

from zoo.big_shapes.graph import FLOAT, INT64, Graph

RESNET_STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))


def convolution(graph: Graph, x: str, inputs: int, outputs: int, size: int, stride: int = 1, active: bool = True) -> str:
    # Twice the usual variance makes up for the half that the rectifier takes.
    weight = graph.random(outputs, inputs, size, size, scale=math.sqrt(2 / (inputs * size * size)))
    bias = graph.constant(np.zeros(outputs, np.float32))
    x = graph.op("Conv", x, weight, bias, kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2] * 4)
    return graph.op("Relu", x) if active else x


def resnet50(seed: int) -> Graph:
    """`image` [batch, 3, 224, 224] to `logits` [batch, 1000]; batch norm is folded away, as it is when such a model is served."""
    graph = Graph("resnet50", seed)
    x = convolution(graph, graph.input("image", FLOAT, ["batch", 3, 224, 224]), 3, 64, 7, 2)
    x = graph.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inputs = 64
    for stage, (width, blocks) in enumerate(RESNET_STAGES):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = convolution(graph, x, inputs, width, 1)
            y = convolution(graph, y, width, width, 3, stride)
            y = convolution(graph, y, width, 4 * width, 1, active=False)
            if block == 0:
                x = convolution(graph, x, inputs, 4 * width, 1, stride, active=False)
            # Halved, so that random weights do not grow without bound over sixteen blocks.
            x = graph.op("Relu", graph.op("Mul", graph.op("Add", x, y), graph.constant(np.float32(0.5).reshape(1))))
            inputs = 4 * width
    x = graph.op("Flatten", graph.op("GlobalAveragePool", x))
    graph.output(graph.linear(x, inputs, 1000), "logits", FLOAT, ["batch", 1000])
    return graph


def layer_norm(graph: Graph, x: str, width: int) -> str:
    return graph.op(
        "LayerNormalization", x, graph.constant(np.ones(width, np.float32)), graph.constant(np.zeros(width, np.float32)), axis=-1
    )


def attention(graph: Graph, query: str, key: str, value: str, bias: str, size: int) -> str:
    """Heads [batch, heads, length, size] to [batch, length, heads * size]."""
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.op("Mul", scores, graph.constant(np.array([1 / math.sqrt(size)], np.float32)))
    mixed = graph.op("MatMul", graph.op("Softmax", graph.op("Add", scores, bias), axis=-1), value)
    return graph.reshape(graph.op("Transpose", mixed, perm=[0, 2, 1, 3]), 0, 0, -1)


def heads(graph: Graph, x: str, count: int, size: int) -> str:
    return graph.op("Transpose", graph.reshape(x, 0, 0, count, size), perm=[0, 2, 1, 3])


def mask_bias(graph: Graph, attention_mask: str) -> str:
    """1 for a token, 0 for padding, to what is added to the scores: [batch, 1, 1, length]."""
    mask = graph.op("Cast", attention_mask, to=FLOAT)
    mask = graph.op("Unsqueeze", mask, graph.constant(np.array([1, 2], np.int64)))
    return graph.op("Mul", graph.op("Sub", mask, graph.constant(np.ones(1, np.float32))), graph.constant(np.array([1e4], np.float32)))


def bert(seed: int, layers: int = 12, width: int = 768, count: int = 12, vocabulary: int = 30_522, length_max: int = 512) -> Graph:
    """`input_ids`, `attention_mask` [batch, sequence] to `last_hidden_state` [batch, sequence, width] and `pooled` [batch, width]."""
    graph = Graph("bert-base-like", seed)
    ids = graph.input("input_ids", INT64, ["batch", "sequence"])
    bias = mask_bias(graph, graph.input("attention_mask", INT64, ["batch", "sequence"]))
    zero, one = graph.constant(np.array([0], np.int64)), graph.constant(np.array([1], np.int64))
    length = graph.op("Slice", graph.op("Shape", ids), one, graph.constant(np.array([2], np.int64)))
    positions = graph.op("Slice", graph.random(length_max, width, scale=0.02), zero, length, zero)
    x = graph.op("Add", graph.op("Gather", graph.random(vocabulary, width, scale=0.02), ids), positions)
    x = layer_norm(graph, x, width)
    size = width // count
    for _ in range(layers):
        query, key, value = (heads(graph, graph.linear(x, width, width), count, size) for _ in range(3))
        mixed = graph.linear(attention(graph, query, key, value, bias, size), width, width)
        x = layer_norm(graph, graph.op("Add", x, mixed), width)
        inner = graph.linear(x, width, 4 * width)
        half = graph.op("Mul", inner, graph.constant(np.array([0.5], np.float32)))
        curve = graph.op("Erf", graph.op("Mul", inner, graph.constant(np.array([1 / math.sqrt(2)], np.float32))))
        inner = graph.op("Mul", half, graph.op("Add", curve, graph.constant(np.ones(1, np.float32))))
        x = layer_norm(graph, graph.op("Add", x, graph.linear(inner, 4 * width, width)), width)
    first = graph.op("Squeeze", graph.op("Slice", x, zero, one, one), one)
    graph.output(x, "last_hidden_state", FLOAT, ["batch", "sequence", width])
    graph.output(graph.op("Tanh", graph.linear(first, width, width)), "pooled", FLOAT, ["batch", width])
    return graph


def rms_norm(graph: Graph, x: str, width: int) -> str:
    mean = graph.op("ReduceMean", graph.op("Mul", x, x), axes=[-1], keepdims=1)
    scale = graph.op("Reciprocal", graph.op("Sqrt", graph.op("Add", mean, graph.constant(np.array([1e-5], np.float32)))))
    return graph.op("Mul", graph.op("Mul", x, scale), graph.constant(np.ones(width, np.float32)))


def turned(graph: Graph, x: str, cosine: str, sine: str, size: int) -> str:
    """Rotary positions."""
    edges = [graph.constant(np.array([place], np.int64)) for place in (0, size // 2, size, 3)]
    first = graph.op("Slice", x, edges[0], edges[1], edges[3])
    second = graph.op("Slice", x, edges[1], edges[2], edges[3])
    left = graph.op("Sub", graph.op("Mul", first, cosine), graph.op("Mul", second, sine))
    right = graph.op("Add", graph.op("Mul", second, cosine), graph.op("Mul", first, sine))
    return graph.op("Concat", left, right, axis=3)


def llama(seed: int, layers: int, width: int, count: int, inner: int, vocabulary: int) -> Graph:
    """The decoder with a cache that the storyteller is a small one of, of any size."""
    graph = Graph("llama-like", seed)
    size = width // count
    ids = graph.input("input_ids", INT64, ["batch", "sequence"])
    mask = graph.input("attention_mask", INT64, ["batch", "total"])
    positions = graph.input("position_ids", INT64, ["batch", "sequence"])
    zero, one, two = (graph.constant(np.array([number], np.int64)) for number in range(3))
    scalar_zero, scalar_one = graph.constant(np.array(0, np.int64)), graph.constant(np.array(1, np.int64))
    length = graph.op("Squeeze", graph.op("Slice", graph.op("Shape", ids), one, two), zero)
    total = graph.op("Squeeze", graph.op("Slice", graph.op("Shape", mask), one, two), zero)
    columns = graph.op("Unsqueeze", graph.op("Range", scalar_zero, total, scalar_one), zero)
    rows = graph.op("Unsqueeze", graph.op("Range", graph.op("Sub", total, length), total, scalar_one), one)
    causal = graph.op("Cast", graph.op("LessOrEqual", columns, rows), to=FLOAT)
    causal = graph.op("Mul", graph.op("Sub", causal, graph.constant(np.ones(1, np.float32))), graph.constant(np.array([1e4], np.float32)))
    bias = graph.op("Add", causal, mask_bias(graph, mask))
    frequencies = (10_000.0 ** -(np.arange(size // 2) / (size // 2))).astype(np.float32)
    angle = graph.op("Unsqueeze", graph.op("Cast", positions, to=FLOAT), graph.constant(np.array([1, 3], np.int64)))
    angle = graph.op("Mul", angle, graph.constant(frequencies))
    cosine, sine = graph.op("Cos", angle), graph.op("Sin", angle)
    table = graph.random(vocabulary, width, scale=0.02)
    x = graph.op("Gather", table, ids)
    present = []
    for layer in range(layers):
        past = [graph.input(f"past_key_values.{layer}.{part}", FLOAT, ["batch", count, "past", size]) for part in ("key", "value")]
        y = rms_norm(graph, x, width)
        query, key, value = (heads(graph, graph.linear(y, width, width, bias=False), count, size) for _ in range(3))
        query, key = turned(graph, query, cosine, sine, size), turned(graph, key, cosine, sine, size)
        key, value = graph.op("Concat", past[0], key, axis=2), graph.op("Concat", past[1], value, axis=2)
        present += [(f"present.{layer}.key", key), (f"present.{layer}.value", value)]
        x = graph.op("Add", x, graph.linear(attention(graph, query, key, value, bias, size), width, width, bias=False))
        y = rms_norm(graph, x, width)
        gate = graph.linear(y, width, inner, bias=False)
        gate = graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), graph.linear(y, width, inner, bias=False))
        x = graph.op("Add", x, graph.linear(gate, inner, width, bias=False))
    logits = graph.op("MatMul", rms_norm(graph, x, width), graph.op("Transpose", table, perm=[1, 0]))
    graph.output(logits, "logits", FLOAT, ["batch", "sequence", vocabulary])
    for name, value in present:
        graph.output(value, name, FLOAT, ["batch", count, "total", size])
    return graph
