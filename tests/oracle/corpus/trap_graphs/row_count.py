"""Trap 2: the number of rows used as a value."""

from trap_graphs.trap import Group

traps = Group(2)
MATRIX = "(float[N,4] x) => (float[N,4] y)"
TOKENS = "(float[N,T] x) => (float[N,T] y)"
FREE = "(float[N,4] x) => (float[A,B] y)"
ZERO_ONE = "int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] second = {1}, int64[1] four = {4}"


def rows_and(body):
    return f"s = Shape (x)\nn = Gather (s, zero)\nn1 = Gather (s, first)\nt = Gather (s, one)\n{body}"


def harmful(name, signature, body, **options):
    traps.harmful(name, signature, rows_and(body), constants=ZERO_ONE, **options)


def harmless(name, signature, body, **options):
    traps.harmless(name, signature, rows_and(body), constants=ZERO_ONE, **options)


harmful("shape-cast-div", MATRIX, "f = Cast <to = 1> (n)\ny = Div (x, f)")
harmless("shape-cast-div-by-columns", TOKENS, "f = Cast <to = 1> (t)\ny = Div (x, f)")
harmful("shape-cast-square-add", MATRIX, "c = Cast <to = 1> (n)\nm = Mul (c, c)\ny = Add (x, m)")
harmful("shape-start-0-end-1", MATRIX, "a = Shape <start = 0, end = 1> (x)\nf = Cast <to = 1> (a)\ny = Div (x, f)")
harmful("shape-start-minus-2", MATRIX, "a = Shape <start = -2> (x)\np = ReduceProd (a)\nf = Cast <to = 1> (p)\ny = Div (x, f)")
harmless("shape-start-1", TOKENS, "a = Shape <start = 1> (x)\nf = Cast <to = 1> (a)\ny = Div (x, f)")
harmful("size-cast-div", MATRIX, "a = Size (x)\nf = Cast <to = 1> (a)\ny = Div (x, f)")
harmless("size-of-a-constant", MATRIX, "a = Size (s)\nf = Cast <to = 1> (a)\ny = Div (x, f)")
harmful("size-over-columns", MATRIX, "a = Size (x)\nr = Div (a, t)\nf = Cast <to = 1> (r)\ny = Mul (x, f)")
harmful("shape-greater-where", MATRIX, "c = Greater (n, one)\nr = Relu (x)\ny = Where (c, r, x)")
harmless("shape-of-columns-greater-where", TOKENS, "c = Greater (t, one)\nr = Relu (x)\ny = Where (c, r, x)")

harmful("range-of-rows", MATRIX, "r = Range (zero, n, one)\nf = Cast <to = 1> (r)\nu = Unsqueeze (f, second)\ny = Add (x, u)")
harmless("range-of-columns", TOKENS, "r = Range (zero, t, one)\nf = Cast <to = 1> (r)\ny = Add (x, f)")
nonzero = "ones = ConstantOfShape <value = int64[1] {1}> (%s)\nz = NonZero (ones)\nw = Squeeze (z, first)\nf = Cast <to = 1> (w)\n"
harmful("nonzero-of-rows-as-range", MATRIX, nonzero % "n1" + "u = Unsqueeze (f, second)\ny = Add (x, u)")
harmless("nonzero-of-columns-as-range", TOKENS, "t1 = Gather (s, second)\n" + nonzero % "t1" + "y = Add (x, f)")

traps.harmful(
    "onehot-depth-of-rows",
    "(int64[N] x) => (float[N,B] y)",
    "d = Shape (x)\nm = Add (d, one)\ny = OneHot (x, m, v)",
    constants="int64[1] one = {1}, float[2] v = {0.0, 1.0}",
    data={"x": 2},
)
ONEHOT = "int64 depth = {4}, float[2] v = {0.0, 1.0}"
traps.harmless("onehot-depth-constant", "(int64[N] x) => (float[N,4] y)", "y = OneHot (x, depth, v)", constants=ONEHOT)
traps.harmful("onehot-axis-0", "(int64[N] x) => (float[4,N] y)", "y = OneHot <axis = 0> (x, depth, v)", constants=ONEHOT)

square = "d = Concat <axis = 0> (n1, n1)\nones = ConstantOfShape <value = float[1] {1.0}> (d)\ny = MatMul (ones, x)"
harmful("constantofshape-rows-by-rows", MATRIX, square)
harmless("constantofshape-like-input", MATRIX, "c = ConstantOfShape <value = float[1] {1.0}> (s)\ny = Add (x, c)")
harmful("constantofshape-cumsum", MATRIX, "c = ConstantOfShape <value = float[1] {1.0}> (s)\nr = CumSum (c, zero)\ny = Add (x, r)")
harmless(
    "constantofshape-cumsum-of-columns", MATRIX, "c = ConstantOfShape <value = float[1] {1.0}> (s)\nr = CumSum (c, one)\ny = Add (x, r)"
)

harmful("tile-by-rows", FREE, "r = Concat <axis = 0> (n1, second)\ny = Tile (x, r)")
harmful("tile-columns-by-rows", FREE, "r = Concat <axis = 0> (second, n1)\ny = Tile (x, r)")
harmless(
    "tile-constant-to-rows",
    MATRIX,
    "k = Constant <value = float[1,4] {1.0, 2.0, 3.0, 4.0}> ()\nr = Concat <axis = 0> (n1, second)\nw = Tile (k, r)\ny = Add (x, w)",
)
traps.harmful("tile-rows-twice", FREE, "y = Tile (x, r)", constants="int64[2] r = {2, 1}")
traps.harmless("tile-columns-twice", "(float[N,4] x) => (float[N,8] y)", "y = Tile (x, r)", constants="int64[2] r = {1, 2}")
harmful("expand-rows-by-rows", "(float[N,4] x) => (float[A,N,4] y)", "d = Concat <axis = 0> (n1, s)\ny = Expand (x, d)")
harmful("expand-to-two-rows", FREE, "d = Constant <value = int64[2] {2, 4}> ()\ny = Expand (x, d)")
harmless("expand-constant-to-rows", MATRIX, "k = Constant <value = float[1,4] {1.0, 2.0, 3.0, 4.0}> ()\nw = Expand (k, s)\ny = Add (x, w)")
harmless("expand-columns", "(float[N,1] x) => (float[N,4] y)", "d = Concat <axis = 0> (second, four)\ny = Expand (x, d)")
harmful("slice-up-to-rows-less-one", FREE, "m = Sub (n1, second)\ny = Slice (x, first, m, first)")
harmful("slice-columns-by-rows", "(float[N,6] x) => (float[N,B] y)", "y = Slice (x, first, n1, second)")
harmless("slice-up-to-rows", MATRIX, "y = Slice (x, first, n1, first)")
harmful(
    "trip-count-of-rows",
    MATRIX,
    "t_ = Cast <to = 9> (one)\ny = Loop <body = b (int64 i, bool c, float[N,4] a) => (bool d, float[N,4] e) { d = Identity (c)\ne = Add (a, a) }> (n, t_, x)",
)
harmful("topk-k-of-rows", "(float[N,6] x) => (float[N,B] y)", "y, i = TopK (x, n1)")
harmful("pad-columns-by-rows", FREE, "p = Concat <axis = 0> (first, first, first, n1)\ny = Pad (x, p)")
harmful(
    "eyelike-of-rows",
    MATRIX,
    "d = Concat <axis = 0> (n1, n1)\nc = ConstantOfShape (d)\ne = EyeLike <dtype = 1, k = 1> (c)\ny = MatMul (e, x)",
)
harmful("reshape-columns-by-rows", FREE, "m = Neg (second)\nd = Concat <axis = 0> (m, n1)\ny = Reshape (x, d)")
harmless(
    "reshape-rows-by-shape",
    "(float[N,4] x) => (float[N,2,2] y)",
    "two = Add (second, second)\nd = Concat <axis = 0> (n1, two, two)\ny = Reshape (x, d)",
)
