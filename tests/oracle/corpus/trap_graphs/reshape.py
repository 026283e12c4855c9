"""Trap 3: Reshape that folds rows, pairs them, counts them or has their number baked in."""

import numpy as np

from trap_graphs.trap import Group

traps = Group(3)
CUBE = "(float[N,3,4] x) => (float[N,3,4] y)"


def reshape(add, name, shape_in, target, shape_out, attributes="", **options):
    values = ", ".join(str(size) for size in target)
    constants = f"int64[{len(target)}] d = {{{values}}}"
    add(name, f"(float[{shape_in}] x) => (float[{shape_out}] y)", f"y = Reshape {attributes} (x, d)", constants=constants, **options)


H, S = traps.harmful, traps.harmless
reshape(H, "reshape-pairs-rows", "N,4", [-1, 8], "A,8")
reshape(H, "reshape-splits-rows", "N,4", [-1, 2], "A,2")
reshape(H, "reshape-to-a-vector", "N,4", [-1], "A")
reshape(H, "reshape-baked-one", "N,4", [1, -1], "1,A")
reshape(H, "reshape-baked-one-fixed", "N,4", [1, 4], "1,4")
reshape(H, "reshape-baked-one-in-front", "N,4", [1, -1, 4], "1,N,4")
reshape(H, "reshape-baked-one-inside", "N,3,4", [1, 3, 4], "N,3,4")
reshape(H, "reshape-baked-two", "N,4", [2, -1], "2,A")
reshape(H, "reshape-rows-second", "N,4", [4, -1], "4,A")
reshape(H, "reshape-zero-copies-second", "N,3,4", [-1, 0], "A,3")
reshape(H, "reshape-free-columns", "N,T", [-1, 8], "A,8")
reshape(S, "reshape-same", "N,4", [-1, 4], "N,4")
reshape(S, "reshape-zero-and-rest", "N,3,4", [0, -1], "N,12")
reshape(S, "reshape-zero-copies", "N,4", [0, 2, 2], "N,2,2")
reshape(S, "reshape-split-columns", "N,4", [-1, 2, 2], "N,2,2")
reshape(S, "reshape-two-zeros", "N,3,4", [0, 0, -1], "N,3,4")
reshape(S, "reshape-rest-and-zero", "N,4", [-1, 0], "N,4")
reshape(S, "reshape-free-columns-kept", "N,T", [0, -1, 1], "N,T,1")
reshape(S, "reshape-allowzero-rest", "N,4", [-1, 4], "N,4", "<allowzero = 1>")
empty = "e = Slice (x, zero, zero, one)\nd = Constant <value = int64[2] {0, 4}> ()\ny = Reshape <allowzero = %d> (e, d)"
H("reshape-allowzero-empties", "(float[N,4] x) => (float[A,4] y)", empty % 1, constants="int64[1] zero = {0}, int64[1] one = {1}")
body = "e = Slice (x, zero, zero, one)\nd = Constant <value = int64[2] {0, 0}> ()\ny = Reshape (e, d)"
S("reshape-zero-copies-zero", "(float[N,4] x) => (float[N,0] y)", body, constants="int64[1] zero = {0}, int64[1] one = {1}")

# Rows folded with another axis, and unfolded again, or not, or otherwise.
FOLD = "int64[2] flat = {-1, 4}, int64[3] back = {-1, 3, 4}, int64[3] other = {3, -1, 4}, int64[2] eights = {-1, 8}, float[4,4] w = {1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0}"
S("fold-and-unfold", CUBE, "f = Reshape (x, flat)\ng = MatMul (f, w)\ny = Reshape (g, back)", constants=FOLD)
H("fold-and-not-unfold", "(float[N,3,4] x) => (float[A,4] y)", "f = Reshape (x, flat)\ny = MatMul (f, w)", constants=FOLD)
H("fold-softmax-unfold", CUBE, "f = Reshape (x, flat)\ng = Softmax <axis = 0> (f)\ny = Reshape (g, back)", constants=FOLD)
H(
    "fold-cumsum-unfold",
    CUBE,
    "f = Reshape (x, flat)\nz = Constant <value = int64 {0}> ()\ng = CumSum (f, z)\ny = Reshape (g, back)",
    constants=FOLD,
)
H("fold-unfold-other-axis-first", "(float[N,3,4] x) => (float[3,N,4] y)", "f = Reshape (x, flat)\ny = Reshape (f, other)", constants=FOLD)
H("fold-unfold-and-transpose", CUBE, "f = Reshape (x, flat)\ng = Reshape (f, other)\ny = Transpose <perm = [1, 0, 2]> (g)", constants=FOLD)
body = "t = Transpose <perm = [1, 0, 2]> (x)\nf = Reshape (t, flat)\ng = Relu (f)\n"
H("fold-with-rows-inside", CUBE, body + "y = Reshape (g, back)", constants=FOLD)
S("fold-with-rows-inside-and-back", CUBE, body + "h = Reshape (g, other)\ny = Transpose <perm = [1, 0, 2]> (h)", constants=FOLD)
FOLD_46 = "int64[2] eights = {-1, 8}, int64[2] back = {-1, 24}, int64[2] nines = {-1, 9}"
S(
    "fold-by-other-factor",
    "(float[N,4,6] x) => (float[N,24] y)",
    "f = Reshape (x, eights)\ng = Softmax (f)\ny = Reshape (g, back)",
    constants=FOLD_46,
)
H(
    "fold-across-rows",
    "(float[N,4,6] x) => (float[N,24] y)",
    "f = Reshape (x, nines)\ng = Softmax (f)\ny = Reshape (g, back)",
    constants=FOLD_46,
)

# Shapes computed from the input, as exporters of attention layers write them.
SHAPED = "int64 zero = {0}, int64 one = {1}, int64[1] axis = {0}, int64[1] rest = {-1}, int64[1] two = {2}, int64[1] four = {4}"
HEAD = "s = Shape (x)\nn = Gather (s, zero)\nt = Gather (s, one)\nnu = Unsqueeze (n, axis)\ntu = Unsqueeze (t, axis)\n"
S(
    "reshape-to-heads",
    "(float[N,T,4] x) => (float[N,T,2,B] y)",
    HEAD + "d = Concat <axis = 0> (nu, tu, two, rest)\ny = Reshape (x, d)",
    constants=SHAPED,
)
H(
    "reshape-to-heads-rows-and-tokens-swapped",
    "(float[N,T,4] x) => (float[A,B,2,2] y)",
    HEAD + "d = Concat <axis = 0> (tu, nu, two, two)\ny = Reshape (x, d)",
    constants=SHAPED,
    sizes={"T": 3},
)
H(
    "reshape-rows-as-last",
    "(float[N,4] x) => (float[A,B] y)",
    "s = Shape (x)\nn = Gather (s, axis)\nd = Concat <axis = 0> (rest, n)\ny = Reshape (x, d)",
    constants=SHAPED,
)
product = HEAD + "p = Mul (n, t)\npu = Unsqueeze (p, axis)\nd = Concat <axis = 0> (pu, four)\nf = Reshape (x, d)\nr = Relu (f)\n"
S("reshape-by-product-and-back", "(float[N,T,4] x) => (float[N,T,4] y)", product + "y = Reshape (r, s)", constants=SHAPED)
H("reshape-by-product", "(float[N,T,4] x) => (float[A,4] y)", product + "y = Identity (r)", constants=SHAPED)
half = "s = Shape (x)\nn = Gather (s, axis)\nh = Div (n, two)\nd = Concat <axis = 0> (h, rest)\ny = Reshape (x, d)"
H("reshape-by-half-the-rows", "(float[N,4] x) => (float[A,B] y)", half, constants=SHAPED)
H(
    "reshape-to-input",
    "(float[N,4] x, int64[2] d) => (float[A,B] y)",
    "y = Reshape (x, d)",
    data={"d": lambda generator, shape: np.array([-1, 4])},
    per_row={"d": 0},
)
H(
    "flatten-as-reshape-of-two-inputs",
    "(float[N,4] x, float[N,4] z) => (float[N,4] y)",
    "c = Concat <axis = 1> (x, z)\nd = Constant <value = int64[2] {-1, 4}> ()\nf = Reshape (c, d)\nn = Shape (x)\na = Constant <value = int64[1] {0}> ()\ne = Gather (n, a)\ny = Slice (f, a, e, a)",
)
