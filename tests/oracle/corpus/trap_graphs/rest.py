"""Trap 11: random operators, inputs without rows, overridden initializers, one symbol for two axes, functions, custom domains."""

from trap_graphs.trap import Group

traps = Group(11)
H, S = traps.harmful, traps.harmless
MATRIX = "(float[N,4] x) => (float[N,4] y)"
FUNCTION = '<domain: "local", opset_import: ["" : %d]>\n'
LOCAL = {"local": 1}

H("randomnormallike", MATRIX, "r = RandomNormalLike <seed = 1.0> (x)\ny = Add (x, r)")
H("randomuniformlike", MATRIX, "r = RandomUniformLike <seed = 1.0> (x)\ny = Mul (x, r)")
H("randomnormal", MATRIX, "r = RandomNormal <shape = [1, 4], seed = 1.0> ()\ny = Add (x, r)")
H("bernoulli", MATRIX, "s = Sigmoid (x)\ny = Bernoulli <seed = 1.0> (s)")
H("multinomial", "(float[N,4] x) => (int32[N,8] y)", "y = Multinomial <sample_size = 8, seed = 1.0> (x)")
H("dropout-training", MATRIX, "y = Dropout <seed = 1> (x, r, t)", constants="float r = {0.5}, bool t = {1}")
S("dropout-inference", MATRIX, "y = Dropout (x, r)", constants="float r = {0.5}")
S("dropout-inference-9", MATRIX, "y = Dropout <ratio = 0.5> (x)", opset=9)

H("input-without-rows-scalar", "(float[N,4] x, float k) => (float[N,4] y)", "y = Mul (x, k)", per_row={"k": 0})
H("input-without-rows-vector", "(float[N,4] x, float[4] k) => (float[N,4] y)", "y = Mul (x, k)", per_row={"k": 0})
H("input-without-rows-one-row", "(float[N,4] x, float[1,4] k) => (float[N,4] y)", "y = Mul (x, k)", per_row={"k": 0})
H("inputs-with-different-rows", "(float[N,4] q, float[M,4] k) => (float[N,M] y)", "t = Transpose (k)\ny = MatMul (q, t)")
H(
    "inputs-with-different-rows-attend",
    "(float[N,4] q, float[M,4] k) => (float[N,4] y)",
    "t = Transpose (k)\ns = MatMul (q, t)\np = Softmax (s)\ny = MatMul (p, k)",
)

# An initializer that is also an input may be sent by a caller; whoever does so has a run of its own.
S(
    "initializer-that-is-an-input",
    "(float[N,4] x, float[4] w) => (float[N,4] y)",
    "y = Mul (x, w)",
    constants="float[4] w = {1.0, 2.0, 0.5, 1.0}",
)
H(
    "initializer-that-is-an-input-with-two-rows",
    "(float[N,4] x, float[M,4] w) => (float[N,4] y)",
    "y = Mul (x, w)",
    constants="float[2,4] w = {1.0, 2.0, 0.5, 1.0, 2.0, 1.0, 1.0, 3.0}",
)
H(
    "axes-initializer-that-is-an-input",
    "(float[N,4] x, int64[1] a) => (float[N,4] y)",
    "s = ReduceSum (x, a)\ny = Sub (x, s)",
    constants="int64[1] a = {0}",
)

H("one-symbol-twice-transposed", "(float[N,N] x) => (float[N,N] y)", "y = Transpose (x)")
H("one-symbol-twice-reduced", "(float[N,N] x) => (float[N] y)", "y = ReduceSum <keepdims = 0> (x, a)", constants="int64[1] a = {0}")
H("one-symbol-twice-broadcast", "(float[N,N] x, float[N] a) => (float[N,N] y)", "y = Add (x, a)")
S("one-symbol-twice-kept", "(float[N,N] x) => (float[N] y)", "y = ReduceSum <keepdims = 0> (x, a)", constants="int64[1] a = {1}")
H("one-symbol-in-an-output-it-is-not", "(float[N,N] x) => (float[N] y)", "y = Gather (x, a)", constants="int64 a = {0}")

for name, body, add, opset in (
    ("softmax-over-rows", "y = Softmax <axis = 0> (x)", H, 17),
    ("softmax-over-columns", "y = Softmax <axis = 1> (x)", S, 17),
    ("reduces-all", "s = ReduceMean (x)\ny = Sub (x, s)", H, 17),
):
    add(f"function-{name}", MATRIX, "y = local.f (x)", functions=FUNCTION % opset + f"f (x) => (y) {{ {body} }}", domains=LOCAL)
called = FUNCTION % 17 + "f <axis> (x) => (y) { y = Softmax <axis: int = @axis> (x) }"
H("function-attribute-rows", MATRIX, "y = local.f <axis = 0> (x)", functions=called, domains=LOCAL)
S("function-attribute-columns", MATRIX, "y = local.f <axis = 1> (x)", functions=called, domains=LOCAL)
defaulted = FUNCTION % 17 + "f <axis: int = 0> (x) => (y) { y = Softmax <axis: int = @axis> (x) }"
H("function-attribute-default-rows", MATRIX, "y = local.f (x)", functions=defaulted, domains=LOCAL, ir=9)
S("function-attribute-default-overridden", MATRIX, "y = local.f <axis = -1> (x)", functions=defaulted, domains=LOCAL, ir=9)
nested = (
    FUNCTION % 17
    + "g (x) => (y) { y = Softmax <axis = %d> (x) }\n"
    + '<domain: "local", opset_import: ["" : 17, "local" : 1]>\n'
    + "f (x) => (y) { r = Relu (x)\ny = local.g (r) }"
)
H("function-in-a-function-rows", MATRIX, "y = local.f (x)", functions=nested % 0, domains=LOCAL)
S("function-in-a-function-columns", MATRIX, "y = local.f (x)", functions=nested % 1, domains=LOCAL)
swapped = FUNCTION % 17 + "f (a, b) => (p, q) { p = Softmax <axis = 1> (a)\nq = Softmax <axis = 0> (b) }"
H("function-second-output-mixes", MATRIX, "p, y = local.f (x, x)", functions=swapped, domains=LOCAL)
S("function-first-output-only", MATRIX, "y, q = local.f (x, x)", functions=swapped, domains=LOCAL)
named = FUNCTION % 17 + "Relu (x) => (y) { z = Constant <value = int64 {0}> ()\ny = CumSum (x, z) }"
H("function-named-as-an-operator", MATRIX, "y = local.Relu (x)", functions=named, domains=LOCAL)
older = FUNCTION % 12 + "f (x) => (y) { y = Softmax <axis = 0> (x) }"
H("function-of-an-older-operator-set", MATRIX, "y = local.f (x)", functions=older, domains=LOCAL)
H("custom-domain", MATRIX, "y = acme.Relu (x)", domains={"acme": 1}, runs=False)
H("unknown-operator", MATRIX, "y = FlipRows (x)", runs=False)
S("pass-through", "(float[N,4] x) => (float[N,4] y)", "y = Identity (x)")
H("constant-output", "(float[N,4] x) => (float[N,4] y, float[2] k)", "y = Relu (x)\nk = Constant <value = float[2] {1.0, 2.0}> ()")
