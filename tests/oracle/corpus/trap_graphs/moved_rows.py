"""Trap 6: rows moved, dropped, added or counted, and a new first axis stacked by Loop and Scan."""

from trap_graphs.trap import Group

traps = Group(6)
H, S = traps.harmful, traps.harmless
MATRIX = "(float[N,4] x) => (float[N,4] y)"
FREE = "(float[N,4] x) => (float[A,B] y)"
AXES = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] minus = {-1}, int64[1] big = {9223372036854775807}, int64[1] small = {-9223372036854775807}"


def moved(add, name, signature, body, **options):
    add(name, signature, body, constants=AXES, **options)


moved(H, "slice-rows-from-1", FREE, "y = Slice (x, one, big, zero)")
moved(H, "slice-first-row", FREE, "y = Slice (x, zero, one, zero)")
moved(H, "slice-last-row", FREE, "y = Slice (x, minus, big, zero)")
moved(H, "slice-rows-reversed", MATRIX, "y = Slice (x, minus, small, zero, minus)")
moved(H, "slice-every-second-row", FREE, "y = Slice (x, zero, big, zero, two)")
moved(H, "slice-default-axes", FREE, "y = Slice (x, one, big)")
moved(H, "slice-negative-axis", FREE, "a = Neg (two)\ny = Slice (x, one, big, a)")
H("slice-9-default-axes", FREE, "y = Slice <starts = [1], ends = [100]> (x)", opset=9)
S("slice-9-axes-1", "(float[N,4] x) => (float[N,3] y)", "y = Slice <axes = [1], starts = [1], ends = [100]> (x)", opset=9)
moved(S, "slice-columns", "(float[N,4] x) => (float[N,3] y)", "y = Slice (x, one, big, one)")
moved(S, "slice-all-rows", MATRIX, "y = Slice (x, zero, big, zero)")
moved(S, "slice-columns-reversed", MATRIX, "y = Slice (x, minus, small, one, minus)")
moved(H, "gather-first-row", "(float[N,4] x) => (float[1,4] y)", "y = Gather (x, zero)")
moved(H, "gather-first-row-and-broadcast", MATRIX, "f = Gather (x, zero)\ny = Sub (x, f)")
moved(S, "gather-columns", "(float[N,4] x) => (float[N,1] y)", "y = Gather <axis = 1> (x, one)")
moved(H, "concat-rows", FREE, "y = Concat <axis = 0> (x, x)")
moved(H, "concat-rows-negative-axis", FREE, "y = Concat <axis = -2> (x, x)")
H(
    "concat-token-in-front-of-rows",
    "(float[N,2] x) => (float[A,2] y)",
    "y = Concat <axis = 0> (k, x)",
    constants="float[1,2] k = {1.0, 2.0}",
)
moved(S, "concat-columns", "(float[N,4] x) => (float[N,8] y)", "y = Concat <axis = 1> (x, x)")
moved(H, "roll-rows", MATRIX, "h = Slice (x, zero, one, zero)\nt = Slice (x, one, big, zero)\ny = Concat <axis = 0> (t, h)")
moved(S, "roll-columns", MATRIX, "h = Slice (x, zero, one, one)\nt = Slice (x, one, big, one)\ny = Concat <axis = 1> (t, h)")
H("pad-rows", FREE, "y = Pad (x, p)", constants="int64[4] p = {1, 0, 0, 0}")
H("pad-rows-off", FREE, "y = Pad (x, p)", constants="int64[4] p = {-1, 0, 1, 0}")
H("pad-2-rows", FREE, "y = Pad <pads = [0, 0, 1, 0]> (x)", opset=10)
S("pad-2-columns", "(float[N,4] x) => (float[N,6] y)", "y = Pad <pads = [0, 1, 0, 1]> (x)", opset=10)
H("pad-18-axes-0", FREE, "y = Pad (x, p, , a)", opset=18, constants="int64[2] p = {1, 0}, int64[1] a = {0}")
S("pad-18-axes-1", "(float[N,4] x) => (float[N,6] y)", "y = Pad (x, p, , a)", opset=18, constants="int64[2] p = {1, 1}, int64[1] a = {1}")
S("pad-columns", "(float[N,4] x) => (float[N,5] y)", "y = Pad (x, p)", constants="int64[4] p = {0, 0, 0, 1}")
H("split-default-axis", "(float[N,4] x) => (float[A,4] y, float[B,4] z)", "y, z = Split (x, p)", constants="int64[2] p = {1, 1}")
H("split-18-num-outputs-rows", "(float[N,4] x) => (float[A,4] y, float[B,4] z)", "y, z = Split <num_outputs = 2> (x)", opset=18)
S("split-columns", "(float[N,4] x) => (float[N,2] y, float[N,2] z)", "y, z = Split <axis = 1> (x)", opset=13)
H("compress-rows", FREE, "y = Compress <axis = 0> (x, c)", constants="bool[2] c = {1, 0}")
H("compress-rows-by-rows", "(float[N,4] x, bool[N] c) => (float[A,4] y)", "y = Compress <axis = 0> (x, c)")
H("compress-flattened", "(float[N,4] x) => (float[A] y)", "y = Compress (x, c)", constants="bool[2] c = {1, 1}")
S("compress-columns", "(float[N,4] x) => (float[N,2] y)", "y = Compress <axis = 1> (x, c)", constants="bool[4] c = {1, 0, 1, 0}")
moved(H, "topk-rows", "(float[N,4] x) => (float[1,4] y, int64[1,4] i)", "y, i = TopK <axis = 0> (x, one)")
moved(H, "topk-default-axis-of-a-vector", "(float[N] x) => (float[1] y)", "y, i = TopK (x, one)")
moved(H, "sort-rows-by-topk", MATRIX, "s = Shape (x)\nn = Gather (s, zero)\ny, i = TopK <axis = 0> (x, n)")
moved(S, "topk-columns", "(float[N,4] x) => (float[N,2] y, int64[N,2] i)", "y, i = TopK <axis = -1> (x, two)")
for name, axis, attributes, add in (
    ("rows", 0, "", H),
    ("rows-exclusive", 0, "<exclusive = 1>", H),
    ("rows-reverse", -2, "<reverse = 1>", H),
    ("columns", 1, "", S),
):
    add(f"cumsum-{name}", MATRIX, f"y = CumSum {attributes} (x, a)", constants=f"int64 a = {{{axis}}}")
H(
    "reversesequence-time-first",
    "(float[N,3] x) => (float[N,3] y)",
    "y = ReverseSequence (x, l)",
    constants="int64[3] l = {1, 1, 1}".replace("1, 1, 1", "2, 2, 1"),
)
S(
    "reversesequence-batch-first",
    "(float[N,4] x, int64[N] l) => (float[N,4] y)",
    "y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l)",
    data={"l": lambda g, shape: g.integers(1, 5, size=shape)},
)
H("transpose", "(float[N,4] x) => (float[4,N] y)", "y = Transpose (x)")
S("transpose-and-back", MATRIX, "t = Transpose (x)\nr = Relu (t)\ny = Transpose (r)")
S("softmax-of-transposed", MATRIX, "t = Transpose (x)\nr = Softmax <axis = 0> (t)\ny = Transpose (r)")
H("softmax-of-transposed-over-rows", MATRIX, "t = Transpose (x)\nr = Softmax <axis = 1> (t)\ny = Transpose (r)")
RESIZE = '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
H("resize-rows", "(float[N,1,2,2] x) => (float[A,1,2,2] y)", f"y = Resize {RESIZE} (x, , s)", constants="float[4] s = {2.0, 1.0, 1.0, 1.0}")
S(
    "resize-columns",
    "(float[N,1,2,2] x) => (float[N,1,4,4] y)",
    f"y = Resize {RESIZE} (x, , s)",
    constants="float[4] s = {1.0, 1.0, 2.0, 2.0}",
)

TEN = "int64 k = {2}, bool t = {1}"
BODY = "b (int64 i, bool c, float[N,4] a) => (bool d, float[N,4] e, float[N,4] f) { d = Identity (c)\ne = Add (a, a)\nf = Identity (e) }"
H("loop-stacks-a-new-axis", "(float[N,4] x) => (float[A,N,4] y)", f"l, y = Loop <body = {BODY}> (k, t, x)", constants=TEN)
S(
    "loop-stack-transposed",
    "(float[N,4] x) => (float[N,A,4] y)",
    f"l, z = Loop <body = {BODY}> (k, t, x)\ny = Transpose <perm = [1, 0, 2]> (z)",
    constants=TEN,
)
S("loop-last-state", MATRIX, f"y, z = Loop <body = {BODY}> (k, t, x)", constants=TEN)
SCAN = "b (float[A] s, float[A] i) => (float[A] u, float[A] o) { u = Add (s, i)\no = Identity (u) }"
ZEROS = "float[4] z = {0.0, 0.0, 0.0, 0.0}"
H("scan-rows-as-time", MATRIX, f"l, y = Scan <num_scan_inputs = 1, body = {SCAN}> (z, x)", constants=ZEROS)
state = "s = Shape (x)\nn = Gather (s, zero)\nz = ConstantOfShape (n)\n"
moved(
    S,
    "scan-columns-as-time",
    MATRIX,
    state + f"l, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = {SCAN}> (z, x)",
)
moved(
    H,
    "scan-columns-stacked-first",
    "(float[N,4] x) => (float[4,N] y)",
    state + f"l, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = {SCAN}> (z, x)",
)
H("scan-rows-reversed", MATRIX, f"l, y = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = {SCAN}> (z, x)", constants=ZEROS)
MAP = "b (float[A] s, float[4] i) => (float[A] u, float[4] o) { u = Identity (s)\no = Relu (i) }"
H("scan-output-reversed", MATRIX, f"l, y = Scan <num_scan_inputs = 1, scan_output_directions = [1], body = {MAP}> (z, x)", constants=ZEROS)

RNN = "float[1,2,2] w = {1.0, 0.5, 0.2, 1.0}, float[1,2,2] r = {0.1, 0.2, 0.3, 0.4}"
H("rnn-rows-as-time", "(float[N,1,2] x) => (float[N,1,1,2] y)", "y = RNN <hidden_size = 2> (x, w, r)", constants=RNN)
S(
    "rnn-transposed",
    "(float[N,T,2] x) => (float[N,2] y)",
    "t = Transpose <perm = [1, 0, 2]> (x)\no, h = RNN <hidden_size = 2> (t, w, r)\nz = Constant <value = int64[1] {0}> ()\ny = Squeeze (h, z)",
    constants=RNN,
)
H(
    "rnn-last-state-not-squeezed",
    "(float[N,T,2] x) => (float[1,N,2] y)",
    "t = Transpose <perm = [1, 0, 2]> (x)\no, y = RNN <hidden_size = 2> (t, w, r)",
    constants=RNN,
)
H(
    "sequence-at-first-row",
    "(float[N,4] x) => (float[A,4] y)",
    "q = SplitToSequence <axis = 0> (x, p)\nz = Constant <value = int64 {0}> ()\ny = SequenceAt (q, z)",
    constants="int64 p = {1}",
)
H("dft-rows", "(float[N,4,1] x) => (float[N,4,2] y)", "y = DFT <axis = 0> (x)")
S("dft-columns", "(float[N,4,1] x) => (float[N,4,2] y)", "y = DFT <axis = 1> (x)")
H(
    "concat-from-sequence-new-axis",
    "(float[N,4] x) => (float[2,N,4] y)",
    "q = SequenceConstruct (x, x)\ny = ConcatFromSequence <axis = 0, new_axis = 1> (q)",
)
LIST = "int64 last = {-1}, int64 before = {-2}, float[2,4] k = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}"
listed = "q = SequenceConstruct (k, k)\nr = SequenceInsert (q, x, last)\ny = SequenceAt (r, %s)"
H("sequence-insert-before-the-last", "(float[N,4] x) => (float[A,4] y)", listed % "last", constants=LIST)
S("sequence-insert-and-pick", MATRIX, listed % "before", constants=LIST)
H(
    "sequence-erase-the-last",
    "(float[N,4] x) => (float[A,4] y)",
    "q = SequenceConstruct (k, x)\nr = SequenceErase (q, last)\ny = SequenceAt (r, last)",
    constants=LIST,
)
