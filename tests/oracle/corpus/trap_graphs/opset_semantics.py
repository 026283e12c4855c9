"""Trap 1: what an operator does depends on its operator set, on defaults, and on axes that are attributes or inputs."""

from trap_graphs.trap import Group

traps = Group(1)
MATRIX = "(float[N,4] x) => (float[N,4] y)"
CUBE = "(float[N,3,4] x) => (float[N,3,4] y)"

for operator in ("Softmax", "LogSoftmax", "Hardmax"):
    low = operator.lower()
    traps.harmful(f"{low}-12-axis-0", MATRIX, f"y = {operator} <axis = 0> (x)", opset=12)
    traps.harmless(f"{low}-12-default-axis", CUBE, f"y = {operator} (x)", opset=12)
    traps.harmful(f"{low}-13-axis-0", MATRIX, f"y = {operator} <axis = 0> (x)", opset=13)
    traps.harmless(f"{low}-13-default-axis", CUBE, f"y = {operator} (x)", opset=13)
traps.harmful("softmax-12-axis-minus-3", CUBE, "y = Softmax <axis = -3> (x)", opset=12)
traps.harmless("softmax-12-axis-2", CUBE, "y = Softmax <axis = 2> (x)", opset=12)
traps.harmful("softmax-13-axis-minus-3", CUBE, "y = Softmax <axis = -3> (x)", opset=13)
traps.harmful("softmax-13-default-axis-of-a-vector", "(float[N] x) => (float[N] y)", "y = Softmax (x)", opset=13)
traps.harmful("argmax-default-axis", "(float[N,4] x) => (int64[4] y)", "y = ArgMax <keepdims = 0> (x)")
traps.harmful("argmin-axis-0-kept", "(float[N,4] x) => (int64[1,4] y)", "y = ArgMin <axis = 0> (x)")
traps.harmless("argmax-axis-1", "(float[N,4] x) => (int64[N] y)", "y = ArgMax <axis = 1, keepdims = 0> (x)")

# Reductions: axes as an attribute, as an input, left out, empty, and empty without effect.
traps.harmful("reducesum-11-axes-0", MATRIX, "s = ReduceSum <axes = [0]> (x)\ny = Sub (x, s)", opset=11)
traps.harmless("reducesum-11-axes-1", MATRIX, "s = ReduceSum <axes = [1]> (x)\ny = Sub (x, s)", opset=11)
traps.harmful("reducesum-11-no-axes", MATRIX, "s = ReduceSum (x)\ny = Sub (x, s)", opset=11)
for axis, is_rows in ((0, True), (-2, True), (1, False), (-1, False)):
    add = traps.harmful if is_rows else traps.harmless
    name = str(axis).replace("-", "minus-")
    body = "s = ReduceSum (x, axes)\ny = Sub (x, s)"
    add(f"reducesum-13-axes-input-{name}", MATRIX, body, opset=13, constants=f"int64[1] axes = {{{axis}}}")
    body = "s = ReduceMean (x, axes)\ny = Sub (x, s)"
    add(f"reducemean-18-axes-input-{name}", MATRIX, body, opset=18, constants=f"int64[1] axes = {{{axis}}}")
traps.harmful("reducemean-17-negative-axis", CUBE, "s = ReduceMean <axes = [-3]> (x)\ny = Sub (x, s)", opset=17)
EMPTY = "int64[0] axes = {}"
traps.harmful("reducemax-18-empty-axes", MATRIX, "s = ReduceMax (x, axes)\ny = Sub (x, s)", opset=18, constants=EMPTY)
body = "s = ReduceSum <noop_with_empty_axes = 1> (x, axes)\ny = Mul (x, s)"
traps.harmless("reducesum-13-empty-axes-noop", MATRIX, body, opset=13, constants=EMPTY)
body = "s = ReduceSum <noop_with_empty_axes = 0> (x, axes)\ny = Mul (x, s)"
traps.harmful("reducesum-13-empty-axes-not-noop", MATRIX, body, opset=13, constants=EMPTY)
body = "s = ReduceMax <noop_with_empty_axes = 1> (x)\ny = Mul (x, s)"
traps.harmless("reducemax-18-no-axes-noop", MATRIX, body, opset=18)
traps.harmful("reducel2-13-no-axes", MATRIX, "s = ReduceL2 (x)\ny = Div (x, s)", opset=13)
body = "a = Cast <to = 7> (f)\ns = ReduceSum (x, a)\ny = Sub (x, s)"
axes = {"f": lambda generator, shape: generator.integers(0, 2, size=shape).astype("float32")}
traps.harmful("reducesum-13-axes-computed", "(float[N,4] x, float[1] f) => (float[N,4] y)", body, opset=13, data=axes, per_row={"f": 0})

# Until operator set 7 these take inputs of one shape only: a constant of one row fits a batch of one.
CONSTANT = "float[1,4] c = {1.0, 0.1, -0.2, 0.3}"
for operator in ("Max", "Mean", "Min", "Sum"):
    low = operator.lower()
    traps.harmful(f"{low}-7-constant-of-one-row", MATRIX, f"y = {operator} (x, c)", opset=7, constants=CONSTANT)
    traps.harmless(f"{low}-7-rows-only", MATRIX, f"a = Abs (x)\ny = {operator} (x, a)", opset=7)
    traps.harmless(f"{low}-8-constant-of-one-row", MATRIX, f"y = {operator} (x, c)", opset=8, constants=CONSTANT)

# Flatten, Squeeze, Unsqueeze.
traps.harmful("flatten-axis-0", "(float[N,4] x) => (float[A,B] y)", "y = Flatten <axis = 0> (x)")
traps.harmful("flatten-axis-2", "(float[N,3,4] x) => (float[A,4] y)", "y = Flatten <axis = 2> (x)")
traps.harmful("flatten-axis-0-then-softmax", MATRIX, "f = Flatten <axis = 0> (x)\ns = Softmax (f)\nn = Shape (x)\ny = Reshape (s, n)")
traps.harmless("flatten-default-axis", "(float[N,3,4] x) => (float[N,12] y)", "y = Flatten (x)")
traps.harmless("flatten-negative-axis", "(float[N,3,4] x) => (float[N,12] y)", "y = Flatten <axis = -2> (x)")
traps.harmful("squeeze-13-no-axes", "(float[N,4,1] x) => (float[N,4] y)", "y = Squeeze (x)", opset=13)
traps.harmful("squeeze-11-no-axes", "(float[N,4,1] x) => (float[N,4] y)", "y = Squeeze (x)", opset=11)
traps.harmful("squeeze-11-axes-0", "(float[N,4] x) => (float[4] y)", "y = Squeeze <axes = [0]> (x)", opset=11)
traps.harmless("squeeze-11-axes-2", "(float[N,4,1] x) => (float[N,4] y)", "y = Squeeze <axes = [2]> (x)", opset=11)
traps.harmless(
    "squeeze-13-axes-minus-1", "(float[N,4,1] x) => (float[N,4] y)", "y = Squeeze (x, a)", opset=13, constants="int64[1] a = {-1}"
)
traps.harmful("unsqueeze-axes-0", "(float[N,4] x) => (float[1,N,4] y)", "y = Unsqueeze (x, a)", constants="int64[1] a = {0}")
traps.harmful("unsqueeze-axes-minus-3", "(float[N,4] x) => (float[1,N,4] y)", "y = Unsqueeze (x, a)", constants="int64[1] a = {-3}")
traps.harmless("unsqueeze-axes-1", "(float[N,4] x) => (float[N,1,4] y)", "y = Unsqueeze (x, a)", constants="int64[1] a = {1}")
body = "u = Unsqueeze (x, zero)\nr = Relu (u)\ny = Squeeze (r, zero)"
traps.harmless("unsqueeze-0-and-back", MATRIX, body, constants="int64[1] zero = {0}")

# Normalisation by axis, and a Scan whose first axis is the batch only in operator set 8.
SCALE = "float[4] g = {1.0, 2.0, 1.0, 0.5}, float[4] b = {0.0, 0.1, 0.0, 0.2}"
traps.harmless("layernormalization-axis-minus-1", CUBE, "y = LayerNormalization <axis = -1> (x, g, b)", constants=SCALE)
scale = "float g = {1.0}"
traps.harmful("layernormalization-axis-0", MATRIX, "y = LayerNormalization <axis = 0> (x, g)", constants=scale)
SCAN_BODY = "b (float[4] s, float[4] i) => (float[4] t, float[4] o) { t = Add (s, i)\no = Identity (t) }"
body = f"last, y = Scan <num_scan_inputs = 1, body = {SCAN_BODY}> (, zeros, x)"
start = "r = ReduceSum <axes = [1], keepdims = 0> (x)\nzeros = Sub (r, r)\n"
traps.harmless("scan-8-first-axis-is-the-batch", CUBE, start + body, opset=8, ir=4)
body = f"last, y = Scan <num_scan_inputs = 1, body = {SCAN_BODY}> (zeros, x)"
traps.harmful("scan-9-first-axis-is-time", MATRIX, body, opset=9, constants="float[4] zeros = {0.0, 0.0, 0.0, 0.0}")
