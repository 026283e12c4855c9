"""Audio, graph networks and recommenders: first axes that are samples, frames, nodes, queries."""

import numpy as np
from onnx import TensorProto, helper

from export_models.export import Builder, Export, integers, normal


def waveform():
    """Raw samples on the first axis, frames by a strided convolution."""
    b = Builder(17)
    samples = b.input("samples", "float", ["samples"])
    value = b.unsqueeze(samples, 0, 1)
    value = b.op("Relu", b.op("Conv", value, b.weight(4, 1, 8), kernel_shape=[8], strides=[4]))
    frames = b.op("Transpose", b.squeeze(value, 0))
    b.output(b.linear(frames, 4, 3), "frames", "float", ["frames", 3])
    return b.model()


def denoiser():
    """Samples in, as many samples out: the first axis has the same size on both sides."""
    b = Builder(17)
    samples = b.input("samples", "float", ["samples"])
    value = b.op("Conv", b.unsqueeze(samples, 0, 1), b.weight(1, 1, 5), kernel_shape=[5], pads=[2, 2])
    b.output(b.squeeze(value, 0, 1), "clean", "float", ["samples"])
    return b.model()


def mel_spectrogram():
    b = Builder(17)
    signal = b.input("signal", "float", ["batch", 64])
    spectrum = b.op(
        "STFT",
        b.unsqueeze(signal, 2),
        b.scalar(8, np.int64),
        b.const(np.hanning(16).astype(np.float32)),
        b.scalar(16, np.int64),
        onesided=1,
    )
    power = b.reduce_sum(b.op("Mul", spectrum, spectrum), 3, keepdims=0)
    mel = b.op("MelWeightMatrix", b.scalar(4, np.int64), b.scalar(16, np.int64), b.scalar(8000, np.int64), b.scalar(50.0), b.scalar(3500.0))
    b.output(b.op("Log", b.op("Add", b.op("MatMul", power, mel), b.scalar(1e-3))), "mel", "float", ["batch", "frames", 4])
    return b.model()


def frames_first():
    """Features [frames, bins], pooled by weights over all frames."""
    b = Builder(13)
    frames = b.input("frames", "float", ["frames", 8])
    weights = b.op("Softmax", b.linear(frames, 8, 1), axis=0)
    centred = b.op("Sub", frames, b.reduce_mean(frames, 0))
    b.output(b.op("Mul", centred, weights), "weighted", "float", ["frames", 8])
    return b.model()


def speech_classifier():
    b = Builder(13)
    mel = b.input("mel", "float", ["batch", 8, "frames"])
    value = b.op("Relu", b.op("Conv", mel, b.weight(6, 8, 3), kernel_shape=[3], pads=[1, 1]))
    b.output(b.linear(b.reduce_mean(value, 2, keepdims=0), 6, 4), "scores", "float", ["batch", 4])
    return b.model()


def graph_convolution(scatter):
    """Nodes [nodes, features] and edges [2, edges]: each node adds up what its neighbours send."""
    b = Builder(16)
    nodes, edges = b.input("x", "float", ["num_nodes", 4]), b.input("edge_index", "int64", [2, "num_edges"])
    source, target = (b.op("Gather", edges, b.scalar(row, np.int64), axis=0) for row in (0, 1))
    messages = b.op("Gather", b.linear(nodes, 4, 3), source, axis=0)
    shape = b.op("Concat", b.dim(nodes, 0), b.ints(3), axis=0)
    zeros = b.op("ConstantOfShape", shape)
    if scatter == "elements":
        index = b.op("Expand", b.unsqueeze(target, 1), b.op("Shape", messages))
        summed = b.op("ScatterElements", zeros, index, messages, axis=0, reduction="add")
    else:
        summed = b.op("ScatterND", zeros, b.unsqueeze(target, 1), messages, reduction="add")
    b.output(b.op("Relu", summed), "out", "float", ["num_nodes", 3])
    return b.model()


def graph_feeds(generator, rows):
    nodes = 2 + rows
    return {"x": normal(generator, nodes, 4), "edge_index": integers(generator, nodes, 2, 3 * nodes)}


def graph_pooling():
    """Nodes of several graphs in one tensor, with the graph each belongs to."""
    b = Builder(16)
    nodes, member = b.input("x", "float", ["num_nodes", 4]), b.input("batch", "int64", ["num_nodes"])
    count = b.op("Add", b.op("ReduceMax", member, keepdims=1), b.ints(1))
    zeros = b.op("ConstantOfShape", b.op("Concat", count, b.ints(4), axis=0))
    b.output(b.op("ScatterND", zeros, b.unsqueeze(member, 1), nodes, reduction="add"), "graphs", "float", ["num_graphs", 4])
    return b.model()


def adjacency():
    b = Builder(13)
    nodes, matrix = b.input("x", "float", ["nodes", 4]), b.input("adjacency", "float", ["nodes", "nodes"])
    b.output(b.op("Relu", b.op("MatMul", matrix, b.linear(nodes, 4, 3))), "out", "float", ["nodes", 3])
    return b.model()


def two_tower():
    b = Builder(14)
    user, item, dense = (
        b.input("user_id", "int64", ["batch"]),
        b.input("item_id", "int64", ["batch"]),
        b.input("dense", "float", ["batch", 3]),
    )
    left = b.linear(b.op("Concat", b.op("Gather", b.weight(10, 5, scale=0.5), user), dense, axis=1), 8, 4)
    right = b.linear(b.op("Gather", b.weight(12, 5, scale=0.5), item), 5, 4)
    score = b.reduce_sum(b.op("Mul", left, right), 1, keepdims=0)
    b.output(b.op("Sigmoid", score), "score", "float", ["batch"])
    b.output(left, "user_vector", "float", ["batch", 4])
    return b.model()


def queries_by_items():
    """Scores of every query for every item of the request: two inputs with first dimensions of their own."""
    b = Builder(14)
    queries, items = b.input("queries", "float", ["num_queries", 4]), b.input("items", "float", ["num_items", 4])
    scores = b.op("MatMul", queries, b.op("Transpose", items, perm=[1, 0]))
    b.output(b.op("Softmax", scores, axis=1), "scores", "float", ["num_queries", "num_items"])
    return b.model()


def queries_attend():
    """Object queries of a detector attend to one another along the first axis."""
    b = Builder(14)
    queries = b.input("queries", "float", ["num_queries", 4])
    scores = b.op("MatMul", b.linear(queries, 4, 4), b.op("Transpose", b.linear(queries, 4, 4), perm=[1, 0]))
    b.output(b.op("MatMul", b.op("Softmax", scores, axis=-1), queries), "out", "float", ["num_queries", 4])
    return b.model()


def in_batch_negatives():
    b = Builder(14)
    user, item = b.input("user", "float", ["batch", 4]), b.input("item", "float", ["batch", 4])
    scores = b.op("MatMul", user, b.op("Transpose", item, perm=[1, 0]))
    b.output(b.op("LogSoftmax", scores, axis=1), "scores", "float", ["batch", "batch"])
    return b.model()


def anomaly():
    """A moving sum over readings, by a Scan whose first axis is time."""
    b = Builder(17)
    values = b.input("readings", "float", ["time", 2])
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])  # noqa: E731
    body = helper.make_graph(
        [helper.make_node("Mul", ["state", "half"], ["faded"]), helper.make_node("Add", ["faded", "now"], ["next"]), helper.make_node("Identity", ["next"], ["seen"])],
        "body",
        [info("state"), info("now")],
        [info("next"), info("seen")],
        [helper.make_tensor("half", TensorProto.FLOAT, [], [0.5])],
    )  # fmt: skip
    _, seen = b.op("Scan", b.const(np.zeros(2, np.float32)), values, outputs=2, body=body, num_scan_inputs=1)
    b.output(seen, "smoothed", "float", ["time", 2])
    return b.model()


def exports():
    yield Export("waveform_frames", "audio, first axis samples", waveform(), lambda g, rows: {"samples": normal(g, 16 * rows)}, False)
    yield Export("audio_denoiser", "audio, first axis samples", denoiser(), lambda g, rows: {"samples": normal(g, 8 + rows)}, False)
    yield Export("mel_spectrogram", "audio", mel_spectrogram(), lambda g, rows: {"signal": normal(g, rows, 64)}, True)
    yield Export("frames_first_audio", "audio, first axis time", frames_first(), lambda g, rows: {"frames": normal(g, 3 + rows, 8)}, False)
    yield Export(
        "speech_classifier", "audio", speech_classifier(), lambda g, rows: {"mel": normal(g, rows, 8, int(g.integers(5, 7)))}, True
    )
    yield Export("graph_scatterelements", "graph networks, first axis nodes", graph_convolution("elements"), graph_feeds, False)
    yield Export("graph_scatternd", "graph networks, first axis nodes", graph_convolution("nd"), graph_feeds, False)
    member = lambda g, rows: {"x": normal(g, 2 + rows, 4), "batch": np.sort(integers(g, rows, 2 + rows))}  # noqa: E731
    yield Export("graph_pooling", "graph networks, data-dependent shapes", graph_pooling(), member, False)
    square = lambda g, rows: {"x": normal(g, 1 + rows, 4), "adjacency": normal(g, 1 + rows, 1 + rows)}  # noqa: E731
    yield Export("graph_adjacency", "graph networks, one symbol for two axes", adjacency(), square, False)
    towers = lambda g, rows: {"user_id": integers(g, 10, rows), "item_id": integers(g, 12, rows), "dense": normal(g, rows, 3)}  # noqa: E731
    yield Export("two_tower", "recommendation", two_tower(), towers, True)
    both = lambda g, rows: {"queries": normal(g, rows, 4), "items": normal(g, 2 + rows, 4)}  # noqa: E731
    yield Export("queries_by_items", "first axis queries, unequal first dimensions", queries_by_items(), both, False)
    yield Export("queries_attend", "first axis queries", queries_attend(), lambda g, rows: {"queries": normal(g, 1 + rows, 4)}, False)
    pair = lambda g, rows: {"user": normal(g, rows, 4), "item": normal(g, rows, 4)}  # noqa: E731
    yield Export("in_batch_negatives", "recommendation", in_batch_negatives(), pair, False)
    yield Export("anomaly_scan", "first axis time", anomaly(), lambda g, rows: {"readings": normal(g, 1 + rows, 2)}, False)
