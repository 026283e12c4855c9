"""Trap 4: broadcasting aligns from the right, so that rows meet columns; and products that contract over rows."""

from trap_graphs.trap import Group

traps = Group(4)
H, S = traps.harmful, traps.harmless
PAIR = "(float[N] a, float[N,T] x) => (float[N,T] y)"
W = "float[4,2] w = {1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 0.0, 3.0}"
ONE = "int64[1] one = {1}, int64[1] zero = {0}"

H("vector-with-matrix", PAIR, "y = Add (a, x)", sizes={"T": 3})
S("vector-as-column-with-matrix", PAIR, "c = Unsqueeze (a, one)\ny = Add (c, x)", constants=ONE)
H("column-with-row", "(float[N,1] x) => (float[N,A] y)", "t = Transpose (x)\ny = Sub (x, t)")
S("column-with-row-of-each", "(float[N,3,1] x) => (float[N,3,3] y)", "t = Transpose <perm = [0, 2, 1]> (x)\ny = Sub (x, t)")
H("vector-with-constant", "(float[N] x) => (float[N] y)", "y = Add (x, w)", constants="float[3] w = {1.0, 2.0, 3.0}")
S("column-with-constant", "(float[N,1] x) => (float[N,3] y)", "y = Add (x, w)", constants="float[3] w = {1.0, 2.0, 3.0}")
EIGHT = "1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0"
H("constant-of-higher-rank", "(float[N,4] x) => (float[2,N,4] y)", "y = Add (x, w)", constants=f"float[2,1,4] w = {{{EIGHT}}}")
H("constant-of-higher-rank-one", "(float[N,4] x) => (float[1,N,4] y)", "y = Add (x, w)", constants="float[1,1,4] w = {1.0, 2.0, 3.0, 4.0}")
H("constant-of-two-rows", "(float[N,4] x) => (float[N,4] y)", "y = Add (x, w)", constants=f"float[2,4] w = {{{EIGHT}}}")
S("constant-of-one-row", "(float[N,4] x) => (float[N,4] y)", "y = Add (x, w)", constants="float[1,4] w = {1.0, 2.0, 3.0, 4.0}")
H("where-condition-vector", "(bool[N] c, float[N,T] x) => (float[N,T] y)", "z = Neg (x)\ny = Where (c, x, z)", sizes={"T": 3})
S("where-condition-column", "(bool[N,1] c, float[N,T] x) => (float[N,T] y)", "z = Neg (x)\ny = Where (c, x, z)")
H("max-of-vector-and-matrix", PAIR, "y = Max (x, a, x)", sizes={"T": 3})
H("equal-with-transposed", "(int64[N,1] x) => (bool[N,A] y)", "t = Transpose (x)\ny = Equal (x, t)")
H("prelu-slope-of-rows", "(float[N,T] x, float[N] a) => (float[N,T] y)", "y = PRelu (x, a)", sizes={"T": 3})
H("expand-of-a-vector", "(float[N] x) => (float[4,N] y)", "y = Expand (x, d)", constants="int64[2] d = {4, 1}")
S("expand-of-a-column", "(float[N,1] x) => (float[N,4] y)", "y = Expand (x, d)", constants="int64[2] d = {1, 4}")
H("cube-with-matrix-of-rows", "(float[N,3,4] x, float[N,4] a) => (float[N,3,4] y)", "y = Mul (x, a)")
S(
    "cube-with-unsqueezed-matrix",
    "(float[N,3,4] x, float[N,4] a) => (float[N,3,4] y)",
    "u = Unsqueeze (a, one)\ny = Mul (x, u)",
    constants=ONE,
)

H("product-with-own-transpose", "(float[N,4] x) => (float[N,A] y)", "t = Transpose (x)\ny = MatMul (x, t)")
S("product-with-own-transpose-of-each", "(float[N,3,4] x) => (float[N,3,3] y)", "t = Transpose <perm = [0, 2, 1]> (x)\ny = MatMul (x, t)")
H(
    "self-attention-over-rows",
    "(float[N,4] x) => (float[N,4] y)",
    "t = Transpose (x)\ns = MatMul (x, t)\np = Softmax (s)\ny = MatMul (p, x)",
)
S(
    "self-attention-over-tokens",
    "(float[N,T,4] x) => (float[N,T,4] y)",
    "t = Transpose <perm = [0, 2, 1]> (x)\ns = MatMul (x, t)\np = Softmax (s)\ny = MatMul (p, x)",
)
H("gemm-transa-gram", "(float[N,4] x) => (float[4,4] y)", "y = Gemm <transA = 1> (x, x)")
H("gemm-transa-of-transposed-weights", "(float[N,4] x, float[N,2] z) => (float[4,2] y)", "y = Gemm <transA = 1> (x, z)")
H("gemm-transb-of-rows", "(float[N,4] x) => (float[N,A] y)", "y = Gemm <transB = 1> (x, x)")
S(
    "gemm-transb-of-weights",
    "(float[N,4] x) => (float[N,2] y)",
    "y = Gemm <transB = 1> (x, w)",
    constants="float[2,4] w = {1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 0.0, 3.0}",
)
S("gemm-transa-of-transposed-input", "(float[N,4] x) => (float[N,2] y)", "t = Transpose (x)\ny = Gemm <transA = 1> (t, w)", constants=W)
H("gemm-bias-of-rows", "(float[N,4] x, float[N] c) => (float[N,2] y)", "y = Gemm (x, w, c)", constants=W)
S("gemm-bias-column", "(float[N,4] x, float[N,1] c) => (float[N,2] y)", "y = Gemm (x, w, c)", constants=W)
H("matmul-vector-with-rows", "(float[N] a, float[N,4] x) => (float[4] y)", "y = MatMul (a, x)")
H("matmul-vector-with-itself", "(float[N] x) => (float y)", "y = MatMul (x, x)")
S("matmul-with-vector-of-weights", "(float[N,4] x) => (float[N] y)", "y = MatMul (x, w)", constants="float[4] w = {1.0, 2.0, 0.5, 0.0}")
S(
    "matmul-weights-in-front",
    "(float[N,4,3] x) => (float[N,2,3] y)",
    "y = MatMul (w, x)",
    constants="float[2,4] w = {1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 0.0, 3.0}",
)
H("matmul-weights-by-rows", "(float[N,4] x) => (float[4,4] y)", "t = Transpose (x)\ny = MatMul (t, x)")
H("matmul-matrix-meets-cube", "(float[N,3] x, float[N,3,2] z) => (float[N,A,2] y)", "y = MatMul (x, z)")
S(
    "matmul-unsqueezed-meets-cube",
    "(float[N,3] x, float[N,3,2] z) => (float[N,1,2] y)",
    "u = Unsqueeze (x, one)\ny = MatMul (u, z)",
    constants=ONE,
)
H("matmul-cube-meets-vector-of-rows", "(float[N,2,T] x, float[N] a) => (float[N,2] y)", "y = MatMul (x, a)", sizes={"T": 3})

for name, equation, add, inputs, output in (
    ("drops-rows", "ij,ij->j", H, "float[N,4] x, float[N,4] z", "4"),
    ("sums-all", "ij->", H, "float[N,4] x", ""),
    ("pairs-rows", "ij,kj->ik", H, "float[N,4] x, float[N,4] z", "N,A"),
    ("transposes", "ij->ji", H, "float[N,4] x", "4,N"),
    ("implicit-sorts-letters", "ba", H, "float[N,4] x", "4,N"),
    ("rows-second", "nij->inj", H, "float[N,3,4] x", "3,N,4"),
    ("sums-columns", "ij->i", S, "float[N,4] x", "N"),
    ("implicit-keeps-order", "ab", S, "float[N,4] x", "N,4"),
    ("batched", "nij,njk->nik", S, "float[N,3,4] x, float[N,4,2] z", "N,3,2"),
    ("outer-of-each", "ni,nj->nij", S, "float[N,4] x, float[N,3] z", "N,4,3"),
    ("ellipsis", "...i,...i->...", S, "float[N,3,4] x, float[N,3,4] z", "N,3"),
):  # fmt: skip
    names = "x, z" if " z" in inputs else "x"
    shape = f"[{output}]" if output else ""
    add(f"einsum-{name}", f"({inputs}) => (float{shape} y)", f'y = Einsum <equation = "{equation}"> ({names})')
S("einsum-with-weights", "(float[N,4] x) => (float[N,2] y)", 'y = Einsum <equation = "ij,jk->ik"> (x, w)', constants=W)
