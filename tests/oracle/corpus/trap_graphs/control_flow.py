"""Trap 8: branches and trip counts decided by all rows together, and values captured from the outer scope."""

import numpy as np

from trap_graphs.trap import Group

traps = Group(8)
H, S = traps.harmful, traps.harmless
MATRIX = "(float[N,4] x) => (float[N,4] y)"
TOKENS = "(float[N,T] x) => (float[N,T] y)"
IF = "y = If (c) <then_branch = a () => (float[N,4] p) { p = Relu (x) }, else_branch = b () => (float[N,4] q) { q = Neg (x) }>"
IF_TOKENS = IF.replace("[N,4]", "[N,T]")
ZERO = "float zero = {0.0}"
INTEGERS = "int64 first = {0}, int64 second = {1}, int64 two = {2}, bool yes = {1}"

H("if-on-a-sum", MATRIX, f"s = ReduceSum <keepdims = 0> (x)\nc = Greater (s, zero)\n{IF}", constants=ZERO)
H(
    "if-on-a-maximum",
    MATRIX,
    f"m = ReduceMax <keepdims = 0> (x)\nc = Less (m, zero)\nd = Not (c)\n{IF.replace('(c)', '(d)')}",
    constants="float zero = {1.0}",
)
H("if-on-the-number-of-rows", MATRIX, f"s = Shape (x)\nn = Gather (s, first)\nc = Greater (n, second)\n{IF}", constants=INTEGERS)
S("if-on-the-number-of-columns", TOKENS, f"s = Shape (x)\nn = Gather (s, second)\nc = Greater (n, two)\n{IF_TOKENS}", constants=INTEGERS)
H("if-on-a-scalar-input", "(float[N,4] x, bool c) => (float[N,4] y)", IF, per_row={"c": 0})
S("if-on-a-constant", MATRIX, IF, constants="bool c = {1}")
S(
    "where-instead-of-if",
    MATRIX,
    "s = ReduceSum <keepdims = 1> (x, a)\nc = Greater (s, zero)\nr = Relu (x)\nn = Neg (x)\ny = Where (c, r, n)",
    constants=ZERO + ", int64[1] a = {1}",
)
mean = "m = ReduceMean <keepdims = 0> (x)\n"
CAPTURE = "y = If (c) <then_branch = a () => (float[N,4] p) { p = Sub (x, m) }, else_branch = b () => (float[N,4] q) { q = Add (x, m) }>"
H("if-captures-a-mean-of-all", MATRIX, mean + CAPTURE, constants="bool c = {1}")
S("if-captures-a-mean-of-each", MATRIX, "m = ReduceMean <axes = [1]> (x)\n" + CAPTURE, constants="bool c = {1}")
one_bad = "y = If (c) <then_branch = a () => (float[N,4] p) { p = Relu (x) }, else_branch = b () => (float[N,4] q) { q = Softmax <axis = 0> (x) }>"
H("if-only-else-mixes-rows", TOKENS.replace("T", "4"), one_bad, constants="bool c = {0}")
reduce_inside = "y = If (c) <then_branch = a () => (float[N,4] p) { r = ReduceMax <keepdims = 0> (x)\np = Sub (x, r) }, else_branch = b () => (float[N,4] q) { q = Identity (x) }>"
H("if-reduces-inside", MATRIX, reduce_inside, constants="bool c = {1}")
squeezed = "s = Shape (x)\nn = Gather (s, %s)\nc = Equal (n, second)\ny = If (c) <then_branch = a () => (float[A] p) { k = Constant <value = int64[1] {%s}> ()\np = Squeeze (x, k) }, else_branch = b () => (float[A,B] q) { q = Identity (x) }>"
H("if-squeezes-one-row", "(float[N,4] x) => (float[A,B] y)", squeezed % ("first", "0"), constants=INTEGERS)
S("if-squeezes-one-column", "(float[N,T] x) => (float[N,B] y)", squeezed % ("second", "1"), constants=INTEGERS)
nested = "y = If (c) <then_branch = a () => (float[N,4] p) { s = ReduceSum <keepdims = 0> (x)\nd = Greater (s, zero)\np = If (d) <then_branch = e () => (float[N,4] g) { g = Relu (x) }, else_branch = f () => (float[N,4] h) { h = Neg (x) }> }, else_branch = b () => (float[N,4] q) { q = Identity (x) }>"
H("nested-if-on-a-sum", MATRIX, nested, constants="bool c = {1}, " + ZERO)
S(
    "nested-if-on-constants",
    MATRIX,
    nested.replace("s = ReduceSum <keepdims = 0> (x)\nd = Greater (s, zero)", "d = Not (c)"),
    constants="bool c = {1}",
)
H(
    "if-returns-the-sum",
    "(float[N,4] x) => (float y)",
    "y = If (c) <then_branch = a () => (float p) { p = ReduceSum <keepdims = 0> (x) }, else_branch = b () => (float q) { q = ReduceMax <keepdims = 0> (x) }>",
    constants="bool c = {1}",
)
H(
    "if-returns-a-captured-constant",
    "(float[N,4] x) => (float[A,4] y)",
    "y = If (c) <then_branch = a () => (float[1,4] p) { p = Identity (k) }, else_branch = b () => (float[N,4] q) { q = Identity (x) }>",
    constants="bool c = {1}, float[1,4] k = {1.0, 2.0, 3.0, 4.0}",
)

BODY = "body (int64 i, bool c, float[N,4] a) => (bool d, float[N,4] e) { %s }"
loop = "y = Loop <body = " + BODY + "> (%s, yes, x)"
H(
    "loop-trip-count-of-a-maximum",
    "(float[N,4] x, int64[N] k) => (float[N,4] y)",
    "m = ReduceMax <keepdims = 0> (k)\n" + loop % ("d = Identity (c)\ne = Add (a, x)", "m"),
    constants=INTEGERS,
    data={"k": 6},
)
H(
    "loop-trip-count-of-rows",
    MATRIX,
    "s = Shape (x)\nn = Gather (s, first)\n" + loop % ("d = Identity (c)\ne = Add (a, x)", "n"),
    constants=INTEGERS,
)
H(
    "loop-trip-count-input",
    "(float[N,4] x, int64 k) => (float[N,4] y)",
    loop % ("d = Identity (c)\ne = Add (a, x)", "k"),
    constants=INTEGERS,
    per_row={"k": 0},
)
S("loop-constant-trip-count", MATRIX, loop % ("d = Identity (c)\ne = Add (a, x)", "two"), constants=INTEGERS)
S(
    "loop-trip-count-of-columns",
    "(float[N,4] x) => (float[N,4] y)",
    "s = Shape (x)\nn = Gather (s, second)\n" + loop % ("d = Identity (c)\ne = Add (a, x)", "n"),
    constants=INTEGERS,
)
until = "k = Constant <value = float {0.5}> ()\ne = Mul (a, k)\nb = Abs (e)\nm = ReduceMax <keepdims = 0> (b)\nl = Constant <value = float {0.1}> ()\nd = Greater (m, l)"
H("loop-until-all-rows-are-done", MATRIX, loop % (until, "ten"), constants="int64 ten = {10}, bool yes = {1}")
H(
    "loop-cumulates-over-rows",
    MATRIX,
    loop % ("d = Identity (c)\nz = Constant <value = int64 {0}> ()\ne = CumSum (a, z)", "two"),
    constants=INTEGERS,
)
H(
    "loop-mixes-in-the-second-turn",
    MATRIX,
    "r = Sub (x, x)\ny, last = Loop <body = body (int64 i, bool c, float[N,4] a, float[N,4] s) => (bool d, float[N,4] e, float[N,4] t) { d = Identity (c)\ne = Add (x, s)\nz = Constant <value = int64 {0}> ()\nt = CumSum (a, z) }> (two, yes, x, r)",
    constants=INTEGERS,
)
H(
    "loop-state-becomes-mixed-through-a-swap",
    MATRIX,
    "r = ReduceMean <axes = [0]> (x)\nk = Sub (x, r)\ny, last = Loop <body = body (int64 i, bool c, float[N,4] a, float[N,4] s) => (bool d, float[N,4] e, float[N,4] t) { d = Identity (c)\ne = Identity (s)\nt = Identity (a) }> (three, yes, x, k)",
    constants="int64 three = {3}, bool yes = {1}",
)
S(
    "loop-state-swapped",
    MATRIX,
    "k = Neg (x)\ny, last = Loop <body = body (int64 i, bool c, float[N,4] a, float[N,4] s) => (bool d, float[N,4] e, float[N,4] t) { d = Identity (c)\ne = Identity (s)\nt = Identity (a) }> (three, yes, x, k)",
    constants="int64 three = {3}, bool yes = {1}",
)
H(
    "loop-state-transposed",
    "(float[N,4] x) => (float[A,B] y)",
    (loop % ("d = Identity (c)\ne = Transpose (a)", "one")).replace("[N,4]", "[A,B]"),
    constants="int64 one = {1}, bool yes = {1}",
)
H("loop-captures-a-mean-of-all", MATRIX, mean + loop % ("d = Identity (c)\ne = Sub (a, m)", "two"), constants=INTEGERS)
S(
    "loop-captures-a-mean-of-each",
    MATRIX,
    "m = ReduceMean <axes = [1]> (x)\n" + loop % ("d = Identity (c)\ne = Sub (a, m)", "two"),
    constants=INTEGERS,
)
H(
    "loop-reads-one-row-a-turn",
    "(float[N,4] x) => (float[A,4] y)",
    "z = Constant <value = float[4] {0.0, 0.0, 0.0, 0.0}> ()\ns = Shape (x)\nn = Gather (s, first)\nl, y = Loop <body = body (int64 i, bool c, float[4] a) => (bool d, float[4] e, float[4] o) { d = Identity (c)\nr = Gather (x, i)\ne = Add (a, r)\no = Identity (e) }> (n, yes, z)",
    constants=INTEGERS,
)
SCAN = "r = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = b (float[N] s, float[N] i) => (float[N] u) { %s }> (z, x)\n"
start = "f = Constant <value = int64[1] {0}> ()\nh = Shape (x)\nn = Gather (h, f)\nz = ConstantOfShape (n)\n"
tail = "k = Constant <value = int64[1] {1}> ()\nc = Unsqueeze (r, k)\ny = Add (x, c)"
H("scan-captures-a-mean-of-all", MATRIX, mean + start + SCAN % "w = Add (s, i)\nu = Sub (w, m)" + tail)
S("scan-sums-columns", MATRIX, start + SCAN % "u = Add (s, i)" + tail)
ids = {"k": lambda generator, shape: generator.integers(1, 5, size=shape).astype(np.int64)}
H(
    "if-on-all-of-a-mask",
    "(float[N,4] x, bool[N] k) => (float[N,4] y)",
    f"i = Cast <to = 6> (k)\nm = ReduceMin <keepdims = 0> (i)\nc = Cast <to = 9> (m)\n{IF}",
)
H(
    "slice-up-to-the-longest-row",
    "(float[N,4] x, int64[N] k) => (float[N,A] y)",
    "m = ReduceMax <keepdims = 1> (k)\na = Constant <value = int64[1] {0}> ()\nb = Constant <value = int64[1] {1}> ()\ny = Slice (x, a, m, b)",
    data=ids,
)
