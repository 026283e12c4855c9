"""Models of text and sequences: encoders with masks, taggers, recurrent networks."""

import numpy as np

from export_models.export import Builder, Export, integers, normal
from export_models.vision import attention, feed_forward

WIDTH, WORDS = 16, 30


def tokens(generator, rows):
    length = int(generator.integers(3, 5))
    mask = np.ones((rows, length), np.int64)
    for row in mask:
        row[int(generator.integers(1, length + 1)) :] = 0
    return {
        "input_ids": integers(generator, WORDS, rows, length),
        "attention_mask": mask,
        "token_type_ids": integers(generator, 2, rows, length),
    }


def encoder(b, layers=2):
    """Word, position and type embeddings, an additive mask, and layers of attention, with the shape arithmetic of exporters."""
    ids, mask, types = (b.input(name, "int64", ["batch", "sequence"]) for name in ("input_ids", "attention_mask", "token_type_ids"))
    keep = b.op("Cast", b.unsqueeze(mask, 1, 2), to=1)
    additive = b.op("Mul", b.op("Sub", b.scalar(1.0), keep), b.scalar(-10000.0))
    positions = b.op("Slice", b.const(np.arange(16)[None]), b.ints(0), b.dim(ids, 1), b.ints(1))
    parts = [b.op("Gather", b.weight(size, WIDTH, scale=0.5), part) for size, part in ((WORDS, ids), (2, types), (16, positions))]
    value = b.layer_norm(b.op("Add", b.op("Add", parts[0], parts[1]), parts[2]), WIDTH)
    for _ in range(layers):
        value = b.layer_norm(b.op("Add", value, attention(b, value, WIDTH, 2, additive)), WIDTH)
        value = b.layer_norm(b.op("Add", value, feed_forward(b, value, WIDTH)), WIDTH)
    return value, mask


def bert(opset):
    b = Builder(opset)
    value, _ = encoder(b)
    pooled = b.op(
        "Tanh", b.op("Gemm", b.op("Gather", value, b.scalar(0, np.int64), axis=1), b.weight(WIDTH, WIDTH), b.weight(WIDTH), transB=1)
    )
    b.output(value, "last_hidden_state", "float", ["batch", "sequence", WIDTH])
    b.output(pooled, "pooler_output", "float", ["batch", WIDTH])
    return b.model()


def sentence_embedding():
    b = Builder(14)
    value, mask = encoder(b, 1)
    keep = b.op("Cast", b.op("Expand", b.unsqueeze(mask, -1), b.op("Shape", value)), to=1)
    total = b.reduce_sum(b.op("Mul", value, keep), 1, keepdims=0)
    count = b.op("Clip", b.reduce_sum(keep, 1, keepdims=0), b.scalar(1e-9), "")
    mean = b.op("Div", total, count)
    length = b.op("Clip", b.op("ReduceL2", mean, axes=[1], keepdims=1), b.scalar(1e-12), "")
    b.output(b.op("Div", mean, b.op("Expand", length, b.op("Shape", mean))), "sentence_embedding", "float", ["batch", WIDTH])
    return b.model()


def token_tagger():
    b = Builder(14)
    value, _ = encoder(b, 1)
    b.output(b.op("ArgMax", b.linear(value, WIDTH, 5), axis=-1, keepdims=0), "tags", "int64", ["batch", "sequence"])
    return b.model()


def causal_model():
    """A decoder with a triangular mask made from the length of the sequence."""
    b = Builder(17)
    ids = b.input("input_ids", "int64", ["batch", "sequence"])
    length = b.dim(ids, 1)
    square = b.op("Concat", length, length, axis=0)
    mask = b.op("Trilu", b.op("Expand", b.scalar(-10000.0), square), b.scalar(1, np.int64), upper=1)
    positions = b.op("Range", b.scalar(0, np.int64), b.squeeze(length, 0), b.scalar(1, np.int64))
    value = b.op("Add", b.op("Gather", b.weight(WORDS, WIDTH, scale=0.5), ids), b.op("Gather", b.weight(16, WIDTH, scale=0.5), positions))
    value = b.op("Add", value, attention(b, b.layer_norm(value, WIDTH), WIDTH, 2, mask))
    b.output(b.linear(b.layer_norm(value, WIDTH), WIDTH, WORDS), "logits", "float", ["batch", "sequence", WORDS])
    return b.model()


def tokens_first():
    """One sentence a request: the first axis is its tokens, which attend to one another."""
    b = Builder(17)
    ids = b.input("tokens", "int64", ["tokens"])
    value = b.unsqueeze(b.op("Gather", b.weight(WORDS, WIDTH, scale=0.5), ids), 0)
    value = b.op("Add", value, attention(b, value, WIDTH, 2))
    b.output(b.squeeze(b.linear(value, WIDTH, 5), 0), "tags", "float", ["tokens", 5])
    return b.model()


def recurrent(operator, b, value, batch, inputs, hidden, bidirectional=False):
    """A recurrent layer over [time, batch, inputs] whose first states are zeros, as many as there are rows."""
    gates, ways = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator], 2 if bidirectional else 1
    shape = b.op("Concat", b.ints(ways), batch, b.ints(hidden), axis=0)
    start = b.op("Expand", b.scalar(0.0), shape)
    weights = (
        b.weight(ways, gates * hidden, inputs, scale=0.4),
        b.weight(ways, gates * hidden, hidden, scale=0.4),
        b.weight(ways, 2 * gates * hidden, scale=0.1),
    )
    states = (start, start) if operator == "LSTM" else (start,)
    extra = {"linear_before_reset": 1} if operator == "GRU" else {}
    direction = "bidirectional" if bidirectional else "forward"
    return b.op(
        operator, value, *weights, "", *states, outputs=3 if operator == "LSTM" else 2, hidden_size=hidden, direction=direction, **extra
    )


def recurrent_tagger(operator, bidirectional):
    b = Builder(14)
    ids = b.input("ids", "int64", ["batch", "time"])
    value = b.op("Transpose", b.op("Gather", b.weight(WORDS, 8, scale=0.5), ids), perm=[1, 0, 2])
    states = recurrent(operator, b, value, b.dim(ids, 0), 8, 6, bidirectional)[0]
    width = 12 if bidirectional else 6
    value = b.op("Transpose", states, perm=[2, 0, 1, 3])
    value = b.op("Reshape", value, b.ints(0, 0, -1))
    b.output(b.op("LogSoftmax", b.linear(value, width, 4), axis=-1), "tags", "float", ["batch", "time", 4])
    return b.model()


def recurrent_classifier(operator):
    b = Builder(14)
    series = b.input("series", "float", ["batch", "time", 3])
    value = b.op("Transpose", series, perm=[1, 0, 2])
    last = recurrent(operator, b, value, b.dim(series, 0), 3, 6)[1]
    b.output(b.op("Gemm", b.squeeze(last, 0), b.weight(2, 6), b.weight(2), transB=1), "scores", "float", ["batch", 2])
    return b.model()


def time_first():
    b = Builder(14)
    series = b.input("series", "float", ["time", "batch", 3])
    states = recurrent("LSTM", b, series, b.dim(series, 1), 3, 6)[0]
    b.output(b.linear(b.squeeze(states, 1), 6, 2), "scores", "float", ["time", "batch", 2])
    return b.model()


def time_only():
    """A sensor's readings in one tensor [time, channels]: what is first is time."""
    b = Builder(14)
    series = b.input("series", "float", ["time", 3])
    states = recurrent("GRU", b, b.unsqueeze(series, 1), b.ints(1), 3, 6)[0]
    b.output(b.linear(b.squeeze(states, 1, 2), 6, 2), "scores", "float", ["time", 2])
    return b.model()


def stateful_lstm():
    """States go in and out: [layers, batch, hidden], beside an input that is [batch, time, features]."""
    b = Builder(14)
    series, state, cell = (
        b.input("series", "float", ["batch", 4, 3]),
        b.input("h0", "float", [1, "batch", 6]),
        b.input("c0", "float", [1, "batch", 6]),
    )
    value = b.op("Transpose", series, perm=[1, 0, 2])
    out = b.op("LSTM", value, b.weight(1, 24, 3, scale=0.4), b.weight(1, 24, 6, scale=0.4), "", "", state, cell, outputs=3, hidden_size=6)
    b.output(b.op("Transpose", b.squeeze(out[0], 1), perm=[1, 0, 2]), "y", "float", ["batch", 4, 6])
    b.output(out[1], "hn", "float", [1, "batch", 6])
    b.output(out[2], "cn", "float", [1, "batch", 6])
    return b.model()


def series(generator, rows):
    return {"series": normal(generator, rows, int(generator.integers(3, 5)), 3)}


def exports():
    for opset in (11, 14, 17):
        yield Export(f"bert_like_opset_{opset}", "BERT", bert(opset), tokens, True)
    yield Export("sentence_embedding", "pooled embeddings", sentence_embedding(), tokens, True)
    yield Export("token_tagger", "taggers", token_tagger(), tokens, True)
    yield Export(
        "causal_model", "decoder", causal_model(), lambda g, rows: {"input_ids": integers(g, WORDS, rows, int(g.integers(3, 6)))}, True
    )
    yield Export(
        "tokens_first_tagger", "first axis tokens", tokens_first(), lambda g, rows: {"tokens": integers(g, WORDS, 2 + rows)}, False
    )
    ids = lambda g, rows: {"ids": integers(g, WORDS, rows, int(g.integers(3, 5)))}  # noqa: E731
    yield Export("lstm_tagger", "taggers, recurrent", recurrent_tagger("LSTM", False), ids, True)
    yield Export("bilstm_tagger", "taggers, recurrent", recurrent_tagger("LSTM", True), ids, True)
    yield Export("gru_tagger", "taggers, recurrent", recurrent_tagger("GRU", False), ids, True)
    yield Export("lstm_classifier", "recurrent", recurrent_classifier("LSTM"), series, True)
    yield Export("gru_classifier", "recurrent", recurrent_classifier("GRU"), series, True)
    yield Export("rnn_classifier", "recurrent", recurrent_classifier("RNN"), series, True)
    yield Export("time_first_lstm", "first axis time", time_first(), lambda g, rows: {"series": normal(g, 2 + rows, 2, 3)}, False)
    yield Export("time_only_gru", "first axis time", time_only(), lambda g, rows: {"series": normal(g, 2 + rows, 3)}, False)
    yield Export(
        "stateful_lstm",
        "recurrent, states in and out",
        stateful_lstm(),
        lambda g, rows: {"series": normal(g, rows, 4, 3), "h0": normal(g, 1, rows, 6), "c0": normal(g, 1, rows, 6)},
        False,
    )
