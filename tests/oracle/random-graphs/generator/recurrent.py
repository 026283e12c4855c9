"""Recurrent layers and attention."""
import numpy as np

from builder import FLOAT, INT32, INT64, N, Skip
from registry import MICROSOFT, operator

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@operator("LSTM", "GRU", "RNN")
def recurrent(b, op):
    """Time first, rows on axis 1; or the first axis is time and has the name N, where rows may mix."""
    features, hidden, ways = b.size(1, 3), b.size(1, 3), b.random.randint(1, 2)
    if b.is_safe or b.chance(0.5):
        steps = b.size(1, 4)
        x = b.input(FLOAT, (N, steps, features))
        y = b.add("Transpose", [x], FLOAT, [steps, N, features], perm=[1, 0, 2])
        shape = [steps, N]
    else:
        y = b.input(FLOAT, (N, 2, features))
        shape = [N, 2]
    weights = [b.weights([ways, GATES[op] * hidden, size]) for size in (features, hidden)]
    inputs = [y, *weights]
    if b.chance(0.6):
        inputs.append(b.weights([ways, 2 * GATES[op] * hidden]))
    direction = "bidirectional" if ways == 2 else b.choose(("forward", "reverse"))
    if b.is_safe and b.chance(0.2):
        lengths = b.input(INT32, (N,), low=1, high=shape[0] + 1)
        inputs = inputs + [""] * (4 - len(inputs)) + [lengths]
    extra = {"linear_before_reset": b.random.randint(0, 1)} if op == "GRU" else {}
    names = b.node(op, inputs, 3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, **extra)
    b.keep(names[0], FLOAT, [shape[0], ways, shape[1], hidden])
    b.keep(names[1], FLOAT, [ways, shape[1], hidden])


@operator("Attention", since=23)
def attention(b, op):
    heads, length, width = b.size(1, 2), b.size(1, 3), b.choose((2, 4))
    x = b.input(FLOAT, (N, length, heads * width))
    y = x if b.chance(0.5) else b.input(FLOAT, (N, length, heads * width))
    b.add(op, [x, y, y], FLOAT, x.shape, q_num_heads=heads, kv_num_heads=heads, is_causal=b.random.randint(0, 1))


@operator("RotaryEmbedding", since=23)
def rotary(b, op):
    heads, length, width = b.size(1, 2), b.size(1, 3), 4
    x = b.input(FLOAT, (N, heads, length, width))
    places = b.input(INT64, (N, length), low=0, high=5)
    b.add(op, [x, b.weights([5, width // 2]), b.weights([5, width // 2]), places], FLOAT, x.shape)


@operator("Attention", domain=MICROSOFT)
def microsoft_attention(b, op):
    length, heads, width = b.size(1, 3), b.size(1, 2), 4
    x = b.input(FLOAT, (N, length, 3))
    hidden = heads * width
    inputs = [x, b.weights([3, 3 * hidden]), b.weights([3 * hidden])]
    way = b.random.randint(0, 2)
    if way == 1:
        inputs.append(b.input(INT32, (N, length), low=1, high=2))
    elif way == 2 and not b.is_safe:
        inputs.append(b.input(INT32, (N,), low=1, high=length + 1))
    b.add(op, inputs, FLOAT, [N, length, hidden], domain=MICROSOFT, num_heads=heads)


@operator("MultiHeadAttention", domain=MICROSOFT)
def multi_head(b, op):
    length, heads, width = b.size(1, 3), b.size(1, 2), 4
    x = b.input(FLOAT, (N, length, heads * width))
    b.add(op, [x, x, x], FLOAT, x.shape, domain=MICROSOFT, num_heads=heads)


@operator("SelfAttentionPattern", since=13)
def attention_pattern(b, op):
    """Attention as exporters write it: projections, heads by Reshape and Transpose, scores, softmax, and back."""
    length, heads, width = b.size(1, 3), b.size(1, 2), b.size(1, 3)
    hidden = heads * width
    x = b.input(FLOAT, (N, length, hidden))
    split = []
    for _ in range(3):
        y = b.add("MatMul", [x, b.weights([hidden, hidden])], FLOAT, x.shape)
        y = b.reshaped(y, [length, heads, width])
        split.append(b.add("Transpose", [y], FLOAT, [N, heads, length, width], perm=[0, 2, 1, 3]))
    keys = b.add("Transpose", [split[1]], FLOAT, [N, heads, width, length], perm=[0, 1, 3, 2])
    scores = b.add("MatMul", [split[0], keys], FLOAT, [N, heads, length, length])
    scores = b.add("Div", [scores, b.constant(np.float32(width ** 0.5))], FLOAT, scores.shape)
    if b.chance(0.5):
        mask = b.input(FLOAT, (N, 1, 1, length))
        scores = b.add("Add", [scores, mask], FLOAT, scores.shape)
    shares = b.add("Softmax", [scores], FLOAT, scores.shape, axis=-1)
    y = b.add("MatMul", [shares, split[2]], FLOAT, [N, heads, length, width])
    y = b.add("Transpose", [y], FLOAT, [N, length, heads, width], perm=[0, 2, 1, 3])
    b.reshaped(y, [length, hidden])


@operator("FoldedRows", since=7)
def folded(b, op):
    """Rows and time folded into one axis, a layer on it, and unfolded, as exporters write linear layers over time."""
    x = b.take(FLOAT, 3)
    if b.is_safe and x.batch != 0:
        raise Skip
    _, length, width = x.shape
    wide = b.size()
    (flat,) = b.node("Reshape", [x, b.ints([-1, width])])
    (layer,) = b.node("Gemm", [flat, b.weights([width, wide]), b.weights([wide])])
    (active,) = b.node(b.choose(("Relu", "Tanh", "Sigmoid")), [layer])
    if b.is_safe or b.chance(0.5):
        b.add("Reshape", [active, b.ints([-1, length, wide])], FLOAT, [N, length, wide])
    else:
        b.add("Reshape", [active, b.ints([length, -1, wide])], FLOAT, [length, N, wide])
