"""Trap 5: values that name a row, or a place counted from the first row."""

import numpy as np

from trap_graphs.trap import Group

traps = Group(5)
H, S = traps.harmful, traps.harmless
MATRIX = "(float[N,4] x) => (float[N,4] y)"
IMAGE = "float[N,1,4,4] x"
POOL = "<kernel_shape = [2, 2], strides = [2, 2]>"


def boxes(generator, shape):
    corner = generator.uniform(0, 2, size=(*shape[:-1], 2))
    return np.concatenate([corner, corner + 1 + generator.uniform(0, 1, size=corner.shape)], axis=-1).astype(np.float32)


H("maxpool-indices", f"({IMAGE}) => (float[N,1,2,2] y, int64[N,1,2,2] i)", f"y, i = MaxPool {POOL} (x)")
H("maxpool-indices-cast", f"({IMAGE}) => (float[N,1,2,2] y)", f"m, i = MaxPool {POOL} (x)\ny = Cast <to = 1> (i)")
S("maxpool-without-indices", f"({IMAGE}) => (float[N,1,2,2] y)", f"y = MaxPool {POOL} (x)")
S("maxpool-indices-unused", f"({IMAGE}) => (float[N,1,2,2] y)", f"m, i = MaxPool {POOL} (x)\ny = Relu (m)")
S("maxpool-and-maxunpool", f"({IMAGE}) => (float[N,1,4,4] y)", f"m, i = MaxPool {POOL} (x)\ny = MaxUnpool {POOL} (m, i)")
H("nonzero", "(float[N,4] x) => (int64[2,A] y)", "r = Relu (x)\ny = NonZero (r)")
H("nonzero-transposed", "(float[N] x) => (int64[A,1] y)", "r = Relu (x)\nz = NonZero (r)\ny = Transpose (z)")
S("nonzero-of-a-constant", MATRIX, "z = NonZero (k)\ng = Cast <to = 1> (z)\ny = Add (x, g)", constants="float[4] k = {1.0, 1.0, 1.0, 1.0}")
NMS = "int64[1] k = {3}, float[1] iou = {0.5}, float[1] low = {0.0}"
nms = "y = NonMaxSuppression (b, s, k, iou, low)"
H("nonmaxsuppression", "(float[N,3,4] b, float[N,1,3] s) => (int64[A,3] y)", nms, constants=NMS, data={"b": boxes})
H(
    "nonmaxsuppression-of-rows-as-boxes",
    "(float[N,4] b, float[N] s) => (int64[A,3] y)",
    "bu = Unsqueeze (b, z)\nsu = Unsqueeze (s, zz)\ny = NonMaxSuppression (bu, su, k, iou, low)",
    constants=NMS + ", int64[1] z = {0}, int64[2] zz = {0, 1}",
    data={"b": boxes},
)
ROI = "<output_height = 2, output_width = 2, sampling_ratio = 2>"
H(
    "roialign-batch-indices",
    f"({IMAGE}, float[N,4] r, int64[N] b) => (float[N,1,2,2] y)",
    f"y = RoiAlign {ROI} (x, r, b)",
    data={"r": boxes, "b": lambda generator, shape: np.zeros(shape, np.int64)},
)
H(
    "roialign-constant-rois",
    f"({IMAGE}) => (float[2,1,2,2] y)",
    f"y = RoiAlign {ROI} (x, r, b)",
    constants="float[2,4] r = {0.0, 0.0, 2.0, 2.0, 1.0, 1.0, 3.0, 3.0}, int64[2] b = {0, 0}",
)

PUT = "int64[1,2] i = {0, 1}, float[1] u = {9.0}"
H("scatternd-into-first-row", MATRIX, "y = ScatterND (x, i, u)", constants=PUT)
H("scatternd-indices-of-rows", "(float[N,4] x, int64[N,1] i, float[N,4] u) => (float[N,4] y)", "y = ScatterND (x, i, u)", data={"i": 1})
H(
    "scatternd-rows-as-updates",
    "(float[N] u, int64[N,1] i) => (float[6] y)",
    "y = ScatterND (k, i, u)",
    constants="float[6] k = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}",
    data={"i": 6},
)
S(
    "scatternd-into-a-constant",
    MATRIX,
    "k = ScatterND (t, i, u)\ny = Add (x, k)",
    constants=PUT
    + ", float[2,4] t = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}".replace("[2,4]", "[1,4]").replace(", 5.0, 6.0, 7.0, 8.0", ""),
)
H("scatterelements-axis-0", "(float[N,4] x, int64[N,4] i) => (float[N,4] y)", "y = ScatterElements (x, i, x)", data={"i": 1})
S("scatterelements-axis-1", "(float[N,4] x, int64[N,1] i, float[N,1] u) => (float[N,4] y)", "y = ScatterElements <axis = 1> (x, i, u)")
H("gathernd-constant-indices", "(float[N,4] x) => (float[2,4] y)", "y = GatherND (x, i)", constants="int64[2,1] i = {0, 0}")
H("gathernd-indices-of-rows", "(float[N,4] x, int64[N,1] i) => (float[N,4] y)", "y = GatherND (x, i)", data={"i": 1})
S("gathernd-batch-dims-1", "(float[N,4] x, int64[N,2,1] i) => (float[N,2] y)", "y = GatherND <batch_dims = 1> (x, i)")
S(
    "gathernd-from-a-table",
    "(int64[N,1] i) => (float[N,2] y)",
    "y = GatherND (t, i)",
    constants="float[4,2] t = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}",
)
H("gatherelements-axis-0", "(float[N,4] x, int64[N,4] i) => (float[N,4] y)", "y = GatherElements (x, i)", data={"i": 1})
S("gatherelements-axis-1", "(float[N,4] x, int64[N,2] i) => (float[N,2] y)", "y = GatherElements <axis = 1> (x, i)")
H("gather-rows-named-by-rows", "(float[N,4] x, int64[N] i) => (float[N,4] y)", "y = Gather (x, i)", data={"i": 1})
S(
    "gather-from-a-table",
    "(int64[N] i) => (float[N,2] y)",
    "y = Gather (t, i)",
    constants="float[4,2] t = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}",
)
H(
    "gather-from-a-table-axis-1",
    "(int64[N] i) => (float[4,N] y)",
    "y = Gather <axis = 1> (t, i)",
    constants="float[4,4] t = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}",
)
OWN = "int64 zero = {0}, int64 one = {1}, int64[1] last = {1}"
own = "s = Shape (x)\nn = Gather (s, zero)\nr = Range (zero, n, one)\nru = Unsqueeze (r, last)\ni = Concat <axis = 1> (ru, c)\ny = GatherND (x, i)"
S("gathernd-own-row-by-range", "(float[N,4] x, int64[N,1] c) => (float[N] y)", own, constants=OWN)
H("trilu-on-matrix", MATRIX, "y = Trilu (x)")
H("trilu-lower-on-matrix", MATRIX, "y = Trilu <upper = 0> (x)")
S("trilu-on-cube", "(float[N,4,4] x) => (float[N,4,4] y)", "y = Trilu (x)")
H("eyelike-on-matrix", MATRIX, "e = EyeLike (x)\ny = Add (x, e)")
S(
    "eyelike-of-a-constant",
    "(float[N,2] x) => (float[N,2] y)",
    "e = EyeLike (k)\ny = MatMul (x, e)",
    constants="float[2,2] k = {1.0, 1.0, 1.0, 1.0}",
)
H("unique-of-rows", "(int64[N] x) => (int64[A] y)", "y = Unique (x)")
H("unique-inverse", "(int64[N] x) => (int64[N] y)", "u, f, y, c = Unique (x)")
H("unique-of-columns", "(int64[N,4] x) => (int64[N,A] y)", "y = Unique <axis = 1> (x)", data={"x": 2})
H(
    "segment-sum-by-scatter-add",
    "(float[N,2] x, int64[N,2] i) => (float[3,2] y)",
    'y = ScatterElements <reduction = "add"> (k, i, x)',
    opset=16,
    constants="float[3,2] k = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}",
    data={"i": 3},
)
