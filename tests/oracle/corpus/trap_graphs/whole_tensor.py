"""Trap 7: statistics of the whole tensor, rows included."""

from trap_graphs.trap import Group

traps = Group(7)
H, S = traps.harmful, traps.harmless
MATRIX = "(float[N,4] x) => (float[N,4] y)"
IMAGE = "(float[N,2,3,3] x) => (float[N,2,3,3] y)"
WEIGHT = "uint8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, uint8 wz = {4}"

H("dynamicquantizelinear", MATRIX, "q, s, z = DynamicQuantizeLinear (x)\ny = DequantizeLinear (q, s, z)")
H("dynamicquantizelinear-scale", "(float[N,4] x) => (float y)", "q, y, z = DynamicQuantizeLinear (x)")
body = "q, s, z = DynamicQuantizeLinear (x)\ni = MatMulInteger (q, w, z, wz)\nf = Cast <to = 1> (i)\ny = Mul (f, s)"
H("dynamicquantizelinear-matmulinteger", "(float[N,4] x) => (float[N,2] y)", body, constants=WEIGHT)
body = "q = QuantizeLinear (x, s, z)\ni = MatMulInteger (q, w, z, wz)\nf = Cast <to = 1> (i)\ny = Mul (f, s)"
S("quantizelinear-matmulinteger", "(float[N,4] x) => (float[N,2] y)", body, constants=WEIGHT + ", float s = {0.05}, uint8 z = {128}")
S(
    "quantizelinear-dequantizelinear",
    MATRIX,
    "q = QuantizeLinear (x, s, z)\ny = DequantizeLinear (q, s, z)",
    constants="float s = {0.05}, uint8 z = {128}",
)
H("meanvariancenormalization-default-axes", IMAGE, "y = MeanVarianceNormalization (x)")
H("meanvariancenormalization-axes-0", IMAGE, "y = MeanVarianceNormalization <axes = [0, 1]> (x)")
S("meanvariancenormalization-axes-2-3", IMAGE, "y = MeanVarianceNormalization <axes = [2, 3]> (x)")
NORM = "float[2] g = {1.0, 2.0}, float[2] b = {0.0, 0.5}, float[2] m = {0.1, 0.2}, float[2] v = {1.0, 0.5}"
H("batchnormalization-training", IMAGE, "y, rm, rv = BatchNormalization <training_mode = 1> (x, g, b, m, v)", constants=NORM)
S("batchnormalization-inference", IMAGE, "y = BatchNormalization (x, g, b, m, v)", constants=NORM)
S("batchnormalization-9-inference", IMAGE, "y = BatchNormalization (x, g, b, m, v)", constants=NORM, opset=9)
S("instancenormalization", IMAGE, "y = InstanceNormalization (x, g, b)", constants=NORM)
H("lpnormalization-axis-0", MATRIX, "y = LpNormalization <axis = 0> (x)")
H("lpnormalization-default-axis-of-a-vector", "(float[N] x) => (float[N] y)", "y = LpNormalization (x)")
S("lpnormalization-axis-1", MATRIX, "y = LpNormalization <axis = 1> (x)")
for operator in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceLogSumExp", "ReduceSumSquare", "ReduceProd"):
    H(f"{operator.lower()}-no-axes", MATRIX, f"s = {operator} <keepdims = 0> (x)\ny = Sub (x, s)", opset=17)
H("reducelogsum-no-axes", MATRIX, "a = Abs (x)\ns = ReduceLogSum (a)\ny = Sub (x, s)")
S("reducemean-axis-1", MATRIX, "s = ReduceMean <axes = [1]> (x)\ny = Sub (x, s)")
body = "m = ReduceMean <axes = [0]> (x)\nc = Sub (x, m)\nq = Mul (c, c)\nv = ReduceMean <axes = [0]> (q)\nd = Sqrt (v)\ne = Constant <value = float {0.1}> ()\nf = Add (d, e)\ny = Div (c, f)"
H("standardised-over-rows", MATRIX, body)
S("standardised-over-columns", MATRIX, body.replace("[0]", "[1]"))
LOSS = "(float[N,4] x, int64[N] t) => (float%s y)"
H("softmaxcrossentropyloss-mean", LOSS % "", "y = SoftmaxCrossEntropyLoss (x, t)")
S("softmaxcrossentropyloss-none", LOSS % "[N]", 'y = SoftmaxCrossEntropyLoss <reduction = "none"> (x, t)')
H("negativeloglikelihoodloss-sum", LOSS % "", 'y = NegativeLogLikelihoodLoss <reduction = "sum"> (x, t)')
S("negativeloglikelihoodloss-none", LOSS % "[N]", 'y = NegativeLogLikelihoodLoss <reduction = "none"> (x, t)')
S("globalaveragepool", "(float[N,2,3,3] x) => (float[N,2,1,1] y)", "y = GlobalAveragePool (x)")
S("lrn", IMAGE, "y = LRN <size = 3> (x)")
H(
    "reducemax-then-clip",
    MATRIX,
    "m = ReduceMax <keepdims = 0> (x)\nh = Constant <value = float {0.5}> ()\nc = Mul (m, h)\ny = Clip (x, , c)",
)
S("clip-by-constant", MATRIX, "h = Constant <value = float {0.5}> ()\ny = Clip (x, , h)")
H("det-of-gram", "(float[N,2] x) => (float y)", "t = Transpose (x)\ng = MatMul (t, x)\ny = Det (g)")
S("det-of-each", "(float[N,2,2] x) => (float[N] y)", "y = Det (x)")
