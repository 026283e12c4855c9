"""Small decoders with random weights, in the forms in which exporters write attention, masks, positions and caches."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY = 40
WIDTH = 32
POSITIONS = 1024
CONTEXT = 512


@dataclass(frozen=True)
class Form:
    """How a decoder is written. The fields that matter are named where they are used."""

    operator: str = "plain"
    heads: int = 4
    cache_heads: int = 4
    head_size: int = 8
    layers: int = 2
    repeat: str = "none"
    repeat_sizes: str = "shape"
    scale: str = "scores-div"
    value_scale: bool = False
    softcap: bool = False
    mask: str = "additive"
    causal: str = "slots"
    sees_mask: bool = True
    window: int = 0
    window_by: str = "slots"
    alibi: str = "none"
    positions: str = "rotary"
    positions_from: str = "input"
    rotated: str = "new"
    sink: bool = False
    also_read: str = "none"
    shared_layers: bool = False
    shared_parts: bool = False
    past_names: str = "past_key_values.{layer}.{part}"
    present_names: str = "present.{layer}.{part}"
    layout: str = "rows heads tokens size"
    named_sizes: bool = False
    present: str = "joined"
    join_axis: str = "positive"
    logits: str = "all"
    type: str = "FP32"
    opset: int = 17
    cache: bool = True
    turned: str = "after"
    ir: int = 8
    quantized: bool = False
    rows: int | str = "batch"
    tokens: int | str = "tokens"


class Graph:
    def __init__(self, form, seed):
        self.form = form
        self.source = np.random.default_rng(seed)
        self.float = np.float16 if form.type == "FP16" else np.float32
        self.float_type = TensorProto.FLOAT16 if form.type == "FP16" else TensorProto.FLOAT
        self.nodes, self.stored, self.inputs, self.outputs = [], [], [], []
        self.count = 0

    def name(self, hint):
        self.count += 1
        return f"/{hint}_{self.count}"

    def op(self, operator, *inputs, outputs=1, output=None, **attributes):
        names = [output] if output else [self.name(operator) for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=self.name("node"), **attributes))
        return names[0] if len(names) == 1 else names

    def constant(self, values, kind=np.int64):
        """As a node or as an initializer, as exporters do both."""
        tensor = numpy_helper.from_array(np.asarray(values, kind), self.name("constant"))
        if self.source.random() < 0.5:
            return self.op("Constant", value=tensor)
        self.stored.append(tensor)
        return tensor.name

    def real(self, values):
        return self.constant(values, self.float)

    def weight(self, *shape, spread=1.0):
        values = self.source.standard_normal(shape) * spread
        tensor = numpy_helper.from_array(values.astype(self.float), self.name("weight"))
        self.stored.append(tensor)
        return tensor.name

    def product(self, x, rows, columns, spread):
        """With weights; of 8 bits: x is quantized by its greatest value in all rows of a run."""
        if not self.form.quantized:
            return self.op("MatMul", x, self.weight(rows, columns, spread=spread))
        weights = self.source.standard_normal([rows, columns]) * spread
        step = np.abs(weights).max() / 127
        stored = self.constant(np.round(weights / step), np.int8)
        bits, scale, zero = self.op("DynamicQuantizeLinear", x, outputs=3)
        sums = self.op("Cast", self.op("MatMulInteger", bits, stored, zero), to=self.float_type)
        return self.op("Mul", sums, self.op("Mul", scale, self.real(step)))

    def unsqueeze(self, tensor, *axes):
        return self.op("Unsqueeze", tensor, self.constant(list(axes)))

    def slice(self, tensor, start, end, axis):
        as_list = lambda value: value if isinstance(value, str) else self.constant([value])
        return self.op("Slice", tensor, as_list(start), as_list(end), self.constant([axis]))

    def size(self, tensor, axis):
        """As a list of one."""
        if self.source.random() < 0.5:
            return self.op("Gather", self.op("Shape", tensor), self.constant([axis]))
        return self.unsqueeze(self.op("Gather", self.op("Shape", tensor), self.constant(axis)), 0)

    def scalar(self, size):
        return self.op("Squeeze", size, self.constant([0]))

    def join(self, *tensors, axis):
        return self.op("Concat", *tensors, axis=axis)


def decoder(form, seed=1):
    return Decoder(Graph(form, seed)).made()


class Decoder:
    def __init__(self, graph):
        self.g = graph
        self.form = graph.form
        order = self.form.layout.split()
        self.order = [["rows", "heads", "tokens", "size"].index(axis) for axis in order]
        self.tokens_axis = order.index("tokens")

    def made(self):
        g, form = self.g, self.form
        self.declare()
        rows, new = g.size("input_ids", 0), g.size("input_ids", 1)
        self.rows, self.new = rows, new
        self.past = g.size(self.past_name(0, "key"), self.tokens_axis) if form.cache else g.constant([0])
        self.all = g.op("Add", self.past, new)
        self.prepare_mask()
        self.prepare_positions()
        x = g.op("Gather", g.weight(VOCABULARY, WIDTH), "input_ids")
        if form.positions == "learned":
            x = g.op("Add", x, g.op("Gather", g.weight(POSITIONS, WIDTH, spread=0.7), self.position_ids))
        joined = None
        for layer in range(form.layers):
            attended, joined = self.attention(layer, g.op("Tanh", x), joined)
            x = g.op("Add", x, attended)
            inner = g.product(g.op("Tanh", x), WIDTH, 2 * WIDTH, 0.3)
            x = g.op("Add", x, g.op("MatMul", g.op("Tanh", inner), g.weight(2 * WIDTH, WIDTH, spread=0.2)))
        self.finish(x)
        shape = [form.rows, form.tokens if form.logits == "all" else "kept", VOCABULARY]
        g.outputs.insert(0, helper.make_tensor_value_info("logits", g.float_type, shape))
        graph = helper.make_graph(g.nodes, "decoder", g.inputs, g.outputs, g.stored)
        opsets = [helper.make_opsetid("", form.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=form.ir)
        return model

    # inputs and outputs

    def past_name(self, layer, part):
        return self.form.past_names.format(layer=layer, part=part, letter=part[0])

    def present_name(self, layer, part):
        return self.form.present_names.format(layer=layer, part=part, letter=part[0])

    def cache_shape(self, tokens):
        form = self.form
        sizes = [form.rows, form.cache_heads, tokens, form.head_size]
        if form.named_sizes:
            sizes = ["batch", "heads", tokens, "size"]
        return [sizes[axis] for axis in self.order]

    def cached_layers(self):
        return 1 if self.form.shared_layers else self.form.layers

    def declare(self):
        g, form = self.g, self.form
        integer = lambda name, shape, kind=TensorProto.INT64: g.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        integer("input_ids", [form.rows, form.tokens])
        if form.sees_mask:
            integer("attention_mask", [form.rows, "all"])
        if form.positions != "none" and form.positions_from == "input":
            integer("position_ids", [form.rows, form.tokens])
        if form.logits == "keep":
            integer("num_logits_to_keep", [])
        if form.operator == "GroupQueryAttention" and not form.sees_mask:
            integer("seqlens_k", ["batch"], TensorProto.INT32)
            integer("total_sequence_length", [], TensorProto.INT32)
        if not form.cache:
            return
        for layer in range(self.cached_layers()):
            for part in ("key", "value"):
                name, shape = self.past_name(layer, part), self.cache_shape("past")
                g.inputs.append(helper.make_tensor_value_info(name, g.float_type, shape))
                name, shape = self.present_name(layer, part), self.cache_shape("present")
                g.outputs.append(helper.make_tensor_value_info(name, g.float_type, shape))

    def finish(self, x):
        g, form = self.g, self.form
        if form.logits == "last":
            x = g.slice(x, -1, 2**62, 1)
        if form.logits == "keep":
            x = g.slice(x, g.unsqueeze(g.op("Neg", "num_logits_to_keep"), 0), 2**62, 1)
        g.op("MatMul", x, g.weight(WIDTH, VOCABULARY, spread=0.6), output="logits")

    # what may be seen, and where it is

    def range(self, start, end):
        return self.g.op("Range", self.g.scalar(start), self.g.scalar(end), self.g.constant(1))

    def prepare_mask(self):
        """Sets `allowed`: [rows or 1, 1, new, all], and numbers of the places of keys and queries."""
        g, form = self.g, self.form
        zero = g.constant([0])
        self.key_slots = g.unsqueeze(self.range(zero, self.all), 0, 1, 2)
        self.query_slots = g.unsqueeze(self.range(self.past, self.all), 0, 1, 3)
        if form.sees_mask:
            mask = "attention_mask"
            if form.present == "last-window":
                # The mask is as long as the text; the cache is not.
                mask = g.slice(mask, g.op("Neg", self.all), 2**62, 1)
            self.mask = mask
            self.counted = g.op("CumSum", mask, g.constant(1))
        if form.operator != "plain":
            return
        if form.present == "new-first":
            old = g.op("GreaterOrEqual", self.key_slots, self.new)
            own = g.op("LessOrEqual", self.key_slots, g.unsqueeze(self.range(zero, self.new), 0, 1, 3))
            allowed = g.op("Or", old, own)
            self.mask = g.join(g.slice(mask, self.past, 2**62, 1), g.slice(mask, 0, self.past, 1), axis=1)
        elif form.causal == "trilu":
            ones = g.op("Expand", g.constant([[1.0]], np.float32), g.join(self.new, self.all, axis=0))
            lower = g.op("Trilu", ones, g.scalar(self.past), upper=0)
            allowed = g.unsqueeze(g.op("Cast", lower, to=TensorProto.BOOL), 0, 1)
        elif form.causal == "stored":
            # All that may be seen in a context, of which a run takes its part.
            table = g.constant(np.tril(np.ones([1, 1, CONTEXT, CONTEXT])), np.bool_)
            allowed = g.slice(g.op("Slice", table, self.past, self.all, g.constant([2])), 0, self.all, 3)
        elif form.causal == "chunks":
            chunks = [g.op("Div", slots, g.constant(form.window)) for slots in (self.key_slots, self.query_slots)]
            allowed = g.op("And", g.op("LessOrEqual", self.key_slots, self.query_slots), g.op("Equal", *chunks))
        elif form.causal == "less":
            allowed = g.op("Not", g.op("Less", self.query_slots, self.key_slots))
        elif form.causal == "positions":
            # Of tokens, by the mask; padding has the place of its neighbour, and is masked below.
            places = g.op("Sub", self.counted, g.constant(1))
            self.key_slots = g.unsqueeze(places, 1, 2)
            self.query_slots = g.unsqueeze(g.slice(places, self.past, 2**62, 1), 1, 3)
            allowed = g.op("LessOrEqual", self.key_slots, self.query_slots)
        else:
            allowed = g.op("LessOrEqual", self.key_slots, self.query_slots)
        if form.window and form.causal != "chunks":
            first = g.op("Sub", self.query_slots, g.constant([form.window]))
            allowed = g.op("And", allowed, g.op("Greater", self.key_slots, first))
        if form.sees_mask:
            allowed = g.op("And", allowed, g.unsqueeze(g.op("Cast", self.mask, to=TensorProto.BOOL), 1, 2))
        self.allowed = allowed
        lowest = float(np.finfo(g.float).min)
        self.lowest = g.real(-np.inf if form.mask == "where-infinite" else lowest)
        if form.mask == "additive":
            self.bias = g.op("Where", allowed, g.real(0), self.lowest)
        if form.mask == "additive-product":
            hidden = g.op("Sub", g.real(1), g.op("Cast", allowed, to=g.float_type))
            self.bias = g.op("Mul", hidden, self.lowest)
        if form.mask == "additive-expanded":
            full = g.op("Expand", g.op("Where", allowed, g.real(0), self.lowest), g.join(self.rows, g.constant([1]), self.new, self.all, axis=0))
            self.bias = full

    def prepare_positions(self):
        g, form = self.g, self.form
        if form.positions == "none":
            return
        if form.positions_from == "input":
            self.position_ids = "position_ids"
        elif form.positions_from == "mask":
            places = g.op("Mul", g.op("Sub", self.counted, g.constant(1)), self.mask)
            self.position_ids = g.slice(places, self.past, 2**62, 1)
        else:
            self.position_ids = g.unsqueeze(self.range(self.past, self.all), 0)
        if form.positions == "rotary":
            half = form.head_size // 2
            angles = np.arange(POSITIONS)[:, None] / 50.0 ** (np.arange(half) / half)
            angles = np.concatenate([angles, angles], axis=1)
            self.cosines, self.sines = g.real(np.cos(angles)), g.real(np.sin(angles))
            self.places = self.turns_at(self.position_ids)
            if form.rotated == "joined":
                self.all_places = self.turns_at(g.unsqueeze(self.range(g.constant([0]), self.all), 0))

    def turns_at(self, ids):
        g = self.g
        return [g.unsqueeze(g.op("Gather", table, ids), 1) for table in (self.cosines, self.sines)]

    def rotated(self, x, places):
        """x: [rows, heads, tokens, size]"""
        g, half = self.g, self.form.head_size // 2
        left, right = g.slice(x, 0, half, 3), g.slice(x, half, 2**62, 3)
        turned = g.join(g.op("Neg", right), left, axis=-1)
        return g.op("Add", g.op("Mul", x, places[0]), g.op("Mul", turned, places[1]))

    # attention

    def projected(self, x, heads, spread):
        g, form = self.g, self.form
        flat = g.product(x, WIDTH, heads * form.head_size, spread)
        return g.op("Transpose", g.op("Reshape", flat, g.constant([0, 0, heads, form.head_size])), perm=[0, 2, 1, 3])

    def attention(self, layer, x, joined_before):
        g, form = self.g, self.form
        if form.operator != "plain":
            return getattr(self, form.operator)(layer, x), None
        query = self.projected(x, form.heads, 0.5)
        is_shared = form.shared_layers and joined_before is not None
        if not is_shared:
            key = self.projected(x, form.cache_heads, 0.5)
            value = self.projected(x, form.cache_heads, 0.4)
        if form.positions == "rotary":
            query = self.rotated(query, self.places)
            if not is_shared and form.rotated == "new":
                key = self.rotated(key, self.places)
        if not is_shared and form.scale == "k-new":
            key = g.op("Mul", key, g.real(form.head_size**-0.5))
        if not is_shared and form.shared_parts:
            value = key
        keys, values = joined_before if is_shared else [self.joined(layer, part, tensor) for part, tensor in (("key", key), ("value", value))]
        joined = (keys, values)
        extra = self.extra_reads(layer, keys)
        if form.positions == "rotary" and form.rotated == "joined":
            keys = self.rotated(keys, self.all_places)
        scores = self.scores(query, keys)
        if form.also_read == "two-products":
            scores = g.op("Add", scores, g.op("Mul", self.scores(self.projected(x, form.heads, 0.5), keys), g.real(0.5)))
        if form.also_read == "one-turn-two-products":
            other = self.projected(x, form.heads, 0.5)
            scores = g.op("Add", scores, g.op("Mul", g.op("MatMul", other, self.last_turned), g.real(0.2)))
        if form.softcap:
            scores = g.op("Mul", g.op("Tanh", g.op("Div", scores, g.real(2.0))), g.real(2.0))
        if form.alibi == "slots":
            scores = g.op("Add", scores, g.op("Mul", self.slopes(), g.op("Cast", g.op("Sub", self.key_slots, self.query_slots), to=g.float_type)))
        if form.alibi == "mask":
            places = g.op("Mul", g.op("Sub", self.counted, g.constant(1)), self.mask)
            scores = g.op("Add", scores, g.op("Mul", self.slopes(), g.op("Cast", g.unsqueeze(places, 1, 2), to=g.float_type)))
        if form.mask.startswith("additive"):
            scores = g.op("Add", scores, self.bias)
        else:
            scores = g.op("Where", self.allowed, scores, self.lowest)
        if form.sink:
            shape = g.join(self.rows, g.constant([form.heads]), self.new, g.constant([1]), axis=0)
            column = g.op("Expand", g.weight(1, form.heads, 1, 1), shape)
            weights = g.op("Softmax", g.join(scores, column, axis=-1), axis=-1)
            weights = g.slice(weights, 0, -1, 3)
        else:
            weights = g.op("Softmax", scores, axis=-1 if form.opset % 2 else 3)
        if form.value_scale:
            values = g.op("Mul", values, g.real([0.7]))
        attended = self.summed(weights, values)
        if extra is not None:
            attended = g.op("Add", attended, extra)
        flat = g.op("Reshape", g.op("Transpose", attended, perm=[0, 2, 1, 3]), g.constant([0, 0, form.heads * form.head_size]))
        return g.op("MatMul", flat, g.weight(form.heads * form.head_size, WIDTH, spread=0.5)), joined

    def slopes(self):
        heads = self.form.heads
        return self.g.real(2.0 ** (-(1 + np.arange(heads))).reshape(1, heads, 1, 1) * (0.05 if self.form.alibi == "slots" and self.form.softcap else 1))

    def joined(self, layer, part, new):
        """The whole cache as [rows, heads, tokens, size]."""
        g, form = self.g, self.form
        if not form.cache:
            return new
        past, present = self.past_name(layer, part), self.present_name(layer, part)
        is_turned = self.order != [0, 1, 2, 3]
        if is_turned:
            new = g.op("Transpose", new, perm=self.order)
        axis = self.tokens_axis if form.join_axis == "positive" else self.tokens_axis - 4
        if form.present == "new-first":
            whole = g.op("Concat", new, past, output=present, axis=axis)
        elif form.present == "joined":
            whole = g.op("Concat", past, new, output=present, axis=axis)
        elif form.present == "copied":
            whole = g.join(past, new, axis=axis)
            g.op("Identity", whole, output=present)
        elif form.present == "three-parts":
            left, right = g.op("Split", new, g.join(g.op("Sub", self.new, g.constant([1])), g.constant([1]), axis=0), outputs=2, axis=axis)
            whole = g.op("Concat", past, left, right, output=present, axis=axis)
        elif form.present == "last-window":
            whole = g.join(past, new, axis=axis)
            g.op("Slice", whole, g.constant([-form.window]), g.constant([2**62]), g.constant([axis]), output=present)
        else:
            raise ValueError(form.present)
        if not is_turned:
            return whole
        return g.op("Transpose", whole, perm=[self.order.index(axis) for axis in range(4)])

    def extra_reads(self, layer, keys):
        g, form = self.g, self.form
        if form.also_read == "shape":
            tokens = g.op("Cast", g.size(keys, 2), to=g.float_type)
            return g.op("Mul", g.op("Div", tokens, tokens), g.real(0.1))
        if form.also_read == "shape-of-tokens":
            tokens = g.op("Cast", g.op("Gather", g.op("Shape", keys), g.constant([2])), to=g.float_type)
            return g.op("Log", tokens)
        if form.also_read == "maximum":
            axes = [2, 3]
            if form.opset >= 18:
                return g.op("ReduceMax", keys, g.constant(axes), keepdims=1)
            return g.op("ReduceMax", keys, axes=axes, keepdims=1)
        if form.also_read == "output":
            name = f"keys_of_{layer}"
            g.op("Identity", keys, output=name)
            g.outputs.append(helper.make_tensor_value_info(name, g.float_type, ["batch", "heads", "present", "size"]))
            return None

    def factor(self, value):
        g, kind = self.g, self.form.scale.partition(":")[2]
        if kind == "sqrt":
            return g.op("Sqrt", g.real(value**2))
        if kind == "pow":
            return g.op("Pow", g.real(value**2), g.real(0.5))
        if kind == "ones":
            return g.real(np.full((1, 1, 1, 1), value))
        return g.real(value)

    def scaled_keys(self, keys, moment):
        g, form = self.g, self.form
        root = form.head_size**0.5
        kind = form.scale.partition(":")[0]
        if kind == f"k-{moment}":
            return g.op("Mul", keys, self.factor(1 / root)) if self.g.source.random() < 0.5 else g.op("Mul", self.factor(1 / root), keys)
        if kind == f"k-{moment}-div":
            return g.op("Div", keys, self.factor(root))
        if kind == f"both-{moment}":
            return g.op("Mul", keys, self.factor(root**-0.5))
        if kind == f"both-{moment}-of-shape":
            size = g.op("Cast", g.slice(g.op("Shape", keys), -1, 2**62, 0) if moment == "joined" else g.constant([form.head_size]), to=g.float_type)
            return g.op("Mul", keys, g.op("Sqrt", g.op("Div", g.real([1]), g.op("Sqrt", size))))
        if kind == f"vector-{moment}":
            shape = {"joined": (form.head_size,), "repeated": (form.head_size,), "turned": (form.head_size, 1)}[moment]
            return g.op("Mul", keys, g.real(self.g.source.uniform(0.2, 0.5, shape)))
        if kind == f"heads-{moment}":
            heads = form.cache_heads if moment == "joined" else form.heads
            return g.op("Mul", keys, g.real(self.g.source.uniform(0.2, 0.5, (1, heads, 1, 1))))
        if kind == f"tokens-{moment}":
            tokens = g.op("Cast", g.size(keys, 2 if moment != "turned" else 3), to=g.float_type)
            return g.op("Mul", keys, g.op("Mul", g.op("Log", tokens), g.real(0.1)))
        if kind == f"inverse-{moment}":
            return g.op("Tanh", g.op("Div", g.real(0.05), keys))
        if kind == f"square-{moment}":
            return g.op("Mul", keys, keys)
        return keys

    def scores(self, query, keys):
        g, form = self.g, self.form
        kind = form.scale.partition(":")[0]
        root = form.head_size**0.5
        if kind == "q":
            query = g.op("Mul", query, self.factor(1 / root))
        if kind == "q-div":
            query = g.op("Div", query, self.factor(root))
        if kind.startswith("both"):
            query = g.op("Mul", query, self.factor(root**-0.5))
        keys = self.scaled_keys(keys, "joined")
        if form.repeat == "five-axes":
            turned = g.unsqueeze(g.op("Transpose", keys, perm=[0, 1, 3, 2]), 2)
            scores = self.ungrouped(g.op("MatMul", self.grouped(query), turned))
        elif form.repeat == "rows":
            turned = g.op("Transpose", keys, perm=[0, 1, 3, 2])
            scores = self.unfolded(g.op("MatMul", self.folded(query), turned), self.all)
        elif form.turned == "before":
            turned = g.op("Transpose", keys, perm=[0, 1, 3, 2])
            scores = g.op("MatMul", query, self.scaled_keys(self.repeated(turned, tokens_axis=3), "turned"))
        elif form.turned == "product":
            # Keys times queries.
            keys = self.scaled_keys(self.repeated(keys), "repeated")
            scores = g.op("Transpose", g.op("MatMul", keys, g.op("Transpose", query, perm=[0, 1, 3, 2])), perm=[0, 1, 3, 2])
        elif form.turned == "twice":
            keys = self.scaled_keys(self.repeated(keys), "repeated")
            turned = g.op("Transpose", g.op("Transpose", keys, perm=[0, 2, 1, 3]), perm=[0, 2, 3, 1])
            scores = g.op("MatMul", query, self.scaled_keys(turned, "turned"))
        else:
            keys = self.scaled_keys(self.repeated(keys), "repeated")
            turned = self.scaled_keys(g.op("Transpose", keys, perm=[0, 1, 3, 2]), "turned")
            self.last_turned = turned
            scores = g.op("MatMul", query, turned)
        if kind == "scores-div":
            scores = g.op("Div", scores, self.factor(root))
        if kind == "scores-mul":
            scores = g.op("Mul", scores, self.factor(1 / root))
        return scores

    def summed(self, weights, values):
        g, form = self.g, self.form
        if form.repeat == "five-axes":
            return self.ungrouped(g.op("MatMul", self.grouped(weights), g.unsqueeze(values, 2)))
        if form.repeat == "rows":
            return self.unfolded(g.op("MatMul", self.folded(weights), values), g.constant([form.head_size]))
        return g.op("MatMul", weights, self.repeated(values))

    def times(self):
        return self.form.heads // self.form.cache_heads

    def grouped(self, x):
        """[rows, cache heads, times, tokens, any]"""
        shape = self.g.join(self.g.constant([0, self.form.cache_heads, self.times(), -1]), self.g.size(x, 3), axis=0)
        return self.g.op("Reshape", x, shape)

    def ungrouped(self, x):
        shape = self.g.join(self.g.constant([0, self.form.heads, -1]), self.g.size(x, 4), axis=0)
        return self.g.op("Reshape", x, shape)

    def folded(self, x):
        return self.g.op("Reshape", x, self.g.constant([0, self.form.cache_heads, -1, 0]))

    def unfolded(self, x, last):
        return self.g.op("Reshape", x, self.g.join(self.g.constant([0, self.form.heads, -1]), last, axis=0))

    def repeated(self, x, tokens_axis=2):
        """Each head of [rows, heads, ., .] as often as queries share it."""
        g, form, times = self.g, self.form, self.times()
        kind = form.repeat
        if kind in ("none", "broadcast"):
            return x
        others = [g.size(x, axis) if form.repeat_sizes == "shape" else None for axis in range(4)]
        one = g.constant([1])
        rows, heads, left, right = [size or one for size in others]
        wanted = g.join(self.rows, g.constant([form.heads]), *(self.tokens_or(x, axis) for axis in (2, 3)), axis=0)
        if form.repeat_sizes == "rest":
            wanted = g.constant([0, form.heads, -1, form.head_size] if tokens_axis == 2 else [0, form.heads, form.head_size, -1])
        if kind == "expand":
            spread = g.op("Expand", g.unsqueeze(x, 2), g.join(rows, heads, g.constant([times]), left, right, axis=0))
            return g.op("Reshape", spread, wanted)
        if kind == "expand-checked":
            # As exporters write expand(): sizes of -1 are replaced by those of the tensor.
            asked = g.join(rows, heads, g.constant([times]), left, right, axis=0)
            ones = g.op("ConstantOfShape", g.constant([5]), value=helper.make_tensor("", TensorProto.INT64, [1], [1]))
            minus = g.op("Mul", ones, g.constant(-1))
            shape = g.op("Where", g.op("Equal", asked, minus), ones, asked)
            return g.op("Reshape", g.op("Expand", g.unsqueeze(x, 2), shape), wanted)
        if kind == "expand-interleaved":
            spread = g.op("Expand", g.unsqueeze(x, 1), g.join(rows, g.constant([times]), heads, left, right, axis=0))
            return g.op("Reshape", spread, wanted)
        if kind == "expand-negative":
            spread = g.op("Expand", g.unsqueeze(x, -3), g.join(rows, heads, g.constant([times]), left, right, axis=0))
            return g.op("Reshape", spread, wanted)
        if kind == "expand-last":
            spread = g.op("Expand", g.unsqueeze(x, 3), g.join(rows, heads, left, g.constant([times]), right, axis=0))
            return g.op("Reshape", g.op("Transpose", spread, perm=[0, 1, 3, 2, 4]), wanted)
        if kind == "expand-mixed":
            # A model that was trained with this order: copies of a head lie between tokens.
            spread = g.op("Expand", g.unsqueeze(x, 3), g.join(rows, heads, left, g.constant([times]), right, axis=0))
            return g.op("Reshape", spread, wanted)
        if kind == "expand-one-head":
            return g.op("Expand", x, g.constant([1, form.heads, 1, 1]))
        if kind == "expand-tokens-first":
            turned = g.op("Transpose", x, perm=[0, 2, 1, 3])
            spread = g.op("Expand", g.unsqueeze(turned, 3), g.constant([1, 1, 1, times, 1]))
            flat = g.op("Reshape", spread, g.constant([0, 0, form.heads, -1]))
            return g.op("Transpose", flat, perm=[0, 2, 1, 3])
        if kind == "expand-rows":
            # Of equal rows: the copies are joined with the rows, and taken apart again.
            spread = g.op("Expand", g.unsqueeze(x, 1), g.constant([1, times, 1, 1, 1]))
            turned = g.op("Transpose", spread, perm=[0, 2, 1, 3, 4])
            return g.op("Reshape", turned, wanted)
        if kind == "tile":
            return g.op("Tile", x, g.constant([1, times, 1, 1]))
        if kind == "tile-unsqueezed":
            return g.op("Reshape", g.op("Tile", g.unsqueeze(x, 2), g.constant([1, 1, times, 1, 1])), wanted)
        if kind == "gather":
            return g.op("Gather", x, g.constant(np.repeat(np.arange(form.cache_heads), times)), axis=1)
        if kind == "concat":
            return g.join(*[x] * times, axis=1)
        if kind == "concat-unsqueezed":
            return g.op("Reshape", g.join(*[g.unsqueeze(x, 2)] * times, axis=2), wanted)
        raise ValueError(kind)

    def tokens_or(self, x, axis):
        return self.g.size(x, axis)

    # operators of ONNX Runtime

    def flat(self, x, heads, spread):
        return self.g.op("MatMul", x, self.g.weight(WIDTH, heads * self.form.head_size, spread=spread))

    def parts(self, layer, x):
        form = self.form
        query = self.flat(x, form.heads, 0.5)
        key, value = self.flat(x, form.cache_heads, 0.5), self.flat(x, form.cache_heads, 0.4)
        caches = [self.past_name(layer, part) for part in ("key", "value")]
        presents = [self.present_name(layer, part) for part in ("key", "value")]
        return query, key, value, caches, presents

    def output_of(self, attended):
        width = self.form.heads * self.form.head_size
        return self.g.op("MatMul", attended, self.g.weight(width, WIDTH, spread=0.5))

    def GroupQueryAttention(self, layer, x):
        g, form = self.g, self.form
        query, key, value, caches, presents = self.parts(layer, x)
        if form.sees_mask:
            lengths = g.op("ReduceSum", "attention_mask", g.constant([1]), keepdims=0)
            lengths = g.op("Cast", g.op("Sub", lengths, g.constant(1)), to=TensorProto.INT32)
            total = g.op("Cast", g.scalar(g.size("attention_mask", 1)), to=TensorProto.INT32)
        else:
            lengths, total = "seqlens_k", "total_sequence_length"
        rotary = []
        attributes = {"local_window_size": form.window} if form.window else {}
        if form.positions == "rotary":
            half = form.head_size // 2
            angles = np.arange(POSITIONS)[:, None] / 50.0 ** (np.arange(half) / half)
            rotary = [g.real(np.cos(angles)), g.real(np.sin(angles))]
            attributes["do_rotary"] = 1
        if form.softcap:
            attributes["softcap"] = 2.0
        attended = g.name("attended")
        g.nodes.append(
            helper.make_node(
                "GroupQueryAttention", [query, key, value, *caches, lengths, total, *rotary], [attended, *presents],
                domain="com.microsoft", num_heads=form.heads, kv_num_heads=form.cache_heads, **attributes,
            )
        )
        return self.output_of(attended)

    def MultiHeadAttention(self, layer, x):
        g, form = self.g, self.form
        query, key, value, caches, presents = self.parts(layer, x)
        slots = g.op("LessOrEqual", self.key_slots, self.query_slots)
        allowed = g.op("And", slots, g.unsqueeze(g.op("Cast", "attention_mask", to=TensorProto.BOOL), 1, 2))
        bias = g.op("Where", allowed, g.real(0), g.real(float(np.finfo(g.float).min)))
        attended = g.name("attended")
        g.nodes.append(
            helper.make_node(
                "MultiHeadAttention", [query, key, value, "", "", bias, *caches], [attended, *presents],
                domain="com.microsoft", num_heads=form.heads,
            )
        )
        return self.output_of(attended)

    def MultiHeadAttentionOfHeads(self, layer, x):
        """Joined outside, with keys and values in their heads, as some optimisers leave it."""
        g, form = self.g, self.form
        query = self.flat(x, form.heads, 0.5)
        keys, values = (self.joined(layer, part, self.projected(x, form.cache_heads, 0.5)) for part in ("key", "value"))
        slots = g.op("LessOrEqual", self.key_slots, self.query_slots)
        allowed = g.op("And", slots, g.unsqueeze(g.op("Cast", "attention_mask", to=TensorProto.BOOL), 1, 2))
        bias = g.op("Where", allowed, g.real(0), g.real(float(np.finfo(g.float).min)))
        attended = g.name("attended")
        g.nodes.append(
            helper.make_node("MultiHeadAttention", [query, keys, values, "", "", bias], [attended], domain="com.microsoft", num_heads=form.heads)
        )
        return self.output_of(attended)

    def Attention(self, layer, x):
        """Of ONNX itself, since its version 23."""
        g, form = self.g, self.form
        query = self.projected(x, form.heads, 0.5)
        key, value = self.projected(x, form.cache_heads, 0.5), self.projected(x, form.cache_heads, 0.4)
        caches = [self.past_name(layer, part) for part in ("key", "value")]
        presents = [self.present_name(layer, part) for part in ("key", "value")]
        slots = g.op("LessOrEqual", self.key_slots, self.query_slots)
        allowed = g.op("And", slots, g.unsqueeze(g.op("Cast", "attention_mask", to=TensorProto.BOOL), 1, 2))
        attended = g.name("attended")
        g.nodes.append(helper.make_node("Attention", [query, key, value, allowed, *caches], [attended, *presents]))
        flat = g.op("Reshape", g.op("Transpose", attended, perm=[0, 2, 1, 3]), g.constant([0, 0, form.heads * form.head_size]))
        return self.output_of(flat)
