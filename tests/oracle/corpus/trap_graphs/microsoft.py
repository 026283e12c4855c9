"""Trap 9: operators of com.microsoft. Those without a kernel for the CPU are there to be read, not run."""

import numpy as np

from trap_graphs.trap import Group

traps = Group(9, domains={"com.microsoft": 1})
H, S = traps.harmful, traps.harmless
MATRIX = "(float[N,4] x) => (float[N,4] y)"
TOKENS = "float[N,3,4] x"
_values = np.round(np.random.default_rng(5).standard_normal(48), 2)
EIGHTH = ", ".join(str(value) for value in _values)
ATTENTION = f"float[4,12] w = {{{EIGHTH}}}, float[12] b = {{0.0, 0.1, 0.2, 0.3, 0.0, 0.1, 0.2, 0.3, 0.0, 0.1, 0.2, 0.3}}"
MS = "com.microsoft."


def lengths(generator, shape):
    return generator.integers(1, 4, size=shape).astype(np.int32)


def ends_and_starts(generator, shape):
    """For each row its end, then its start: what one caller with one row sends."""
    ends = generator.integers(2, 4, size=shape[0] // 2)
    return np.stack([ends, generator.integers(0, 2, size=shape[0] // 2)], axis=1).reshape(-1).astype(np.int32)


attention = f"y = {MS}Attention <num_heads = 2> (x, w, b%s)"
S("attention", f"({TOKENS}) => (float[N,3,4] y)", attention % "", constants=ATTENTION)
S("attention-mask-of-rows", f"({TOKENS}, int32[N] m) => (float[N,3,4] y)", attention % ", m", constants=ATTENTION, data={"m": lengths})
S(
    "attention-mask-of-tokens",
    f"({TOKENS}, int32[N,3] m) => (float[N,3,4] y)",
    attention % ", m",
    constants=ATTENTION,
    data={"m": lambda g, shape: np.sort(g.integers(0, 2, size=shape), axis=1)[:, ::-1].copy().astype(np.int32) | (np.arange(3) == 0)},
)
H(
    "attention-mask-of-twice-the-rows",
    f"({TOKENS}, int32[M] m) => (float[N,3,4] y)",
    attention % ", m",
    constants=ATTENTION,
    data={"m": ends_and_starts},
    per_row={"m": 2},
)
H(
    "attention-mask-of-three-times-the-rows",
    f"({TOKENS}, int32[M] m) => (float[N,3,4] y)",
    attention % ", m",
    constants=ATTENTION,
    runs=False,
)
mha = f"y = {MS}MultiHeadAttention <num_heads = 2> (x, x, x%s)"
S("multiheadattention", f"({TOKENS}) => (float[N,3,4] y)", mha % "")
H("multiheadattention-padding-of-three-times-the-rows", f"({TOKENS}, int32[M] m) => (float[N,3,4] y)", mha % ", , m", runs=False)
GQA = f"y, pk, pv = {MS}GroupQueryAttention <num_heads = 2, kv_num_heads = 2> (q, q, q, k, v, l, t)"
EMPTY = "float[N,2,P,8] k, float[N,2,P,8] v"
H(
    "groupqueryattention-total-length",
    f"(float[N,1,16] q, {EMPTY}, int32[N] l, int32 t) => (float[N,1,16] y, float[N,2,A,8] pk, float[N,2,A,8] pv)",
    GQA,
    per_row={"t": 0},
    sizes={"P": 2},
    data={"l": lambda g, shape: np.full(shape, 2, np.int32), "t": lambda g, shape: np.array(3, np.int32)},
)
H("removepadding", f"({TOKENS}, int32[N] l) => (float[A,4] y)", f"y, o, c, m = {MS}RemovePadding (x, l)", runs=False)
H("restorepadding", "(float[N,4] x, int32[B,3] o) => (float[B,3,4] y)", f"y = {MS}RestorePadding (x, o)", runs=False)
H(
    "packedattention",
    "(float[N,4] x, int32[B,3] o, int32[C] c) => (float[N,4] y)",
    f"y = {MS}PackedAttention <num_heads = 2> (x, w, b, o, c)",
    constants=ATTENTION,
    runs=False,
)
H(
    "packedmultiheadattention",
    "(float[N,4] x, int32[B,3] o, int32[C] c) => (float[N,4] y)",
    f"y = {MS}PackedMultiHeadAttention <num_heads = 2> (x, x, x, , o, c)",
    runs=False,
)
decoder = "d (int32[B,T] input_ids) => (float[B,T,4] logits) { logits = Identity (input_ids) }"
search = "<decoder = " + decoder + ", eos_token_id = 3, pad_token_id = 0>"
H(
    "beamsearch",
    "(int32[N,T] x) => (int32[N,A,B] y)",
    f"y = {MS}BeamSearch {search} (x, l, , k, k)",
    constants="int32[1] l = {8}, int32[1] k = {1}",
    runs=False,
)
H("greedysearch", "(int32[N,T] x) => (int32[N,B] y)", f"y = {MS}GreedySearch {search} (x, l)", constants="int32[1] l = {8}", runs=False)
H("sampling", "(int32[N,T] x) => (int32[N,B] y)", f"y = {MS}Sampling {search} (x, l)", constants="int32[1] l = {8}", runs=False)
H(
    "longformerattention",
    "(float[N,4,4] x, float[N,4] m, float[4,12] w, float[12] b, int32[N,4] g) => (float[N,4,4] y)",
    f"y = {MS}LongformerAttention <num_heads = 2, window = 1> (x, w, b, m, w, b, g)",
    runs=False,
)

H("fusedmatmul-transa", "(float[N,4] x) => (float[4,4] y)", f"y = {MS}FusedMatMul <transA = 1> (x, x)")
H("fusedmatmul-transb-of-rows", "(float[N,4] x) => (float[N,A] y)", f"y = {MS}FusedMatMul <transB = 1> (x, x)")
H(
    "fusedmatmul-transbatcha",
    "(float[N,3,4] x) => (float[3,N,4] y)",
    f"y = {MS}FusedMatMul <transBatchA = 1> (x, w)",
    constants=f"float[3,4,4] w = {{{EIGHTH}}}",
)
S(
    "fusedmatmul-transb-of-weights",
    "(float[N,4] x) => (float[N,2] y)",
    f"y = {MS}FusedMatMul <transB = 1, alpha = 0.5> (x, w)",
    constants="float[2,4] w = {1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 0.0, 3.0}",
)
H("transposematmul-transa", "(float[N,4] x) => (float[4,4] y)", f"y = {MS}TransposeMatMul <transA = 1> (x, x)")
H("fusedgemm-transa", "(float[N,4] x) => (float[4,4] y)", f'y = {MS}FusedGemm <transA = 1, activation = "Relu"> (x, x)')
S(
    "fusedgemm",
    "(float[N,4] x) => (float[N,2] y)",
    f'y = {MS}FusedGemm <transB = 1, activation = "Relu"> (x, w)',
    constants="float[2,4] w = {1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 0.0, 3.0}",
)
BYTES = "uint8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float s = {0.1}, uint8 z = {4}"
H("dynamicquantizematmul", "(float[N,4] x) => (float[N,2] y)", f"y = {MS}DynamicQuantizeMatMul (x, w, s, z)", constants=BYTES)
S(
    "matmulintegertofloat",
    "(float[N,4] x) => (float[N,2] y)",
    f"q = QuantizeLinear (x, s, z)\ny = {MS}MatMulIntegerToFloat (q, w, s, s, z, z)",
    constants=BYTES,
)
H("cdist-of-rows", "(float[N,4] x) => (float[N,A] y)", f'y = {MS}CDist <metric = "euclidean"> (x, x)')
S(
    "cdist-to-constants",
    "(float[N,4] x) => (float[N,2] y)",
    f'y = {MS}CDist <metric = "sqeuclidean"> (x, w)',
    constants="float[2,4] w = {1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 0.0, 3.0}",
)
H("microsoft-trilu-on-matrix", MATRIX, f"y = {MS}Trilu (x)")
S("microsoft-trilu-on-cube", "(float[N,4,4] x) => (float[N,4,4] y)", f"y = {MS}Trilu (x)")
H(
    "microsoft-unique",
    "(float[N] x) => (float[A] y)",
    f"y, i, c = {MS}Unique (x)",
    data={"x": lambda g, shape: g.integers(0, 2, size=shape).astype(np.float32)},
)
H(
    "cropandresize",
    "(float[N,1,4,4] x, float[N,4] r, int32[N] b) => (float[N,1,2,2] y)",
    f"y = {MS}CropAndResize (x, r, b, s)",
    constants="int32[2] s = {2, 2}",
    data={"b": 1, "r": lambda g, shape: np.sort(g.uniform(0, 1, size=shape), axis=1).astype(np.float32)},
)
for operator in ("Gelu", "FastGelu", "QuickGelu"):
    S(operator.lower(), MATRIX, f"y = {MS}{operator} (x)")
S("biasgelu", MATRIX, f"y = {MS}BiasGelu (x, b)", constants="float[4] b = {0.0, 0.1, 0.2, 0.3}")
S(
    "skiplayernormalization",
    f"({TOKENS}, float[N,3,4] z) => (float[N,3,4] y)",
    f"y = {MS}SkipLayerNormalization (x, z, g, b)",
    constants="float[4] g = {1.0, 1.0, 2.0, 1.0}, float[4] b = {0.0, 0.1, 0.2, 0.3}",
)
EMBED = f"float[4,4] e = {{{', '.join(str(v) for v in _values[:16])}}}, float[4] g = {{1.0, 1.0, 2.0, 1.0}}, float[4] b = {{0.0, 0.1, 0.2, 0.3}}"
S(
    "embedlayernormalization",
    "(int32[N,3] i, int32[N,3] s) => (float[N,3,4] y)",
    f"y, m = {MS}EmbedLayerNormalization (i, s, e, e, e, g, b)",
    constants=EMBED,
)
S(
    "inverse",
    "(float[N,3,3] x) => (float[N,3,3] y)",
    f"a = Add (x, k)\ny = {MS}Inverse (a)",
    constants="float[3,3] k = {9.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 9.0}",
)
S("murmurhash3", "(int64[N,2] x) => (uint32[N,2] y)", f"y = {MS}MurmurHash3 (x)")
QUANTIZED = "float s = {0.05}, uint8 z = {128}"
S(
    "qlinearadd",
    "(float[N,4] x) => (float[N,4] y)",
    f"q = QuantizeLinear (x, s, z)\na = {MS}QLinearAdd (q, s, z, q, s, z, s, z)\ny = DequantizeLinear (a, s, z)",
    constants=QUANTIZED,
)
S(
    "qlinearsigmoid",
    "(float[N,4] x) => (float[N,4] y)",
    f"q = QuantizeLinear (x, s, z)\na = {MS}QLinearSigmoid (q, s, z, s, z)\ny = DequantizeLinear (a, s, z)",
    constants=QUANTIZED,
)
ROTARY = "float[4,2] cos = {1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}, float[4,2] sin = {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}"
S(
    "rotaryembedding-positions-of-each",
    f"({TOKENS}, int64[N,3] p) => (float[N,3,4] y)",
    f"y = {MS}RotaryEmbedding (x, p, cos, sin)",
    constants=ROTARY,
)
H(
    "rotaryembedding-one-offset",
    f"({TOKENS}, int64[1] p) => (float[N,3,4] y)",
    f"y = {MS}RotaryEmbedding (x, p, cos, sin)",
    constants=ROTARY,
    per_row={"p": 0},
    data={"p": 2},
)
H("expanddims-0", "(float[N,4] x) => (float[1,N,4] y)", f"y = {MS}ExpandDims (x, a)", constants="int32 a = {0}")
H("microsoft-pad-rows", "(float[N,4] x) => (float[A,4] y)", f"y = {MS}Pad (x, p)", constants="int64[4] p = {1, 0, 0, 0}")
H("microsoft-gathernd", "(float[N,4] x, int64[N,1] i) => (float[N,4] y)", f"y = {MS}GatherND (x, i)", data={"i": 1})
