"""One random graph from one seed: its kind, opset, operators, inputs and outputs."""
import hashlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

import control  # noqa: F401  (each import fills the table of operators)
import elementwise  # noqa: F401
import indexing  # noqa: F401
import layers  # noqa: F401
import microsoft  # noqa: F401
import quantized  # noqa: F401
import recurrent  # noqa: F401
import reductions  # noqa: F401
import shapes  # noqa: F401
import text_and_tables  # noqa: F401
import traps  # noqa: F401
from builder import BOOL, FLOAT, FLOAT16, INT64, N, Builder, Skip, Value
from registry import MAKERS, MICROSOFT, ML

OPSETS = tuple(range(7, 27))
IR_VERSION_MAX = 13
# Of four graphs, so many have rows that are independent by construction.
SAFE_SHARE = 0.5


def number_from(*words):
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:6], "little")


class RandomGraph:
    """`builder` holds the parts; `model` is what a file holds."""

    def __init__(self, seed, attempt):
        b = Builder(number_from("graph", seed, attempt), 0, True)
        self.is_safe = b.chance(SAFE_SHARE)
        b.is_safe = self.is_safe
        # One operator that mixes rows, or none, and one output: what the analysis misses there nothing else covers up.
        self.is_focused = not self.is_safe and b.chance(0.6)
        # One operator is set first and decides which opsets are possible, so that no operator is seldom.
        options = [maker for maker in MAKERS if not (maker.is_mixing and self.is_safe)]
        (self.first,) = b.random.choices(options, [maker.weight for maker in options])
        b.opset = b.random.randint(self.first.since, min(self.first.until, OPSETS[-1]))
        b.has_free_sizes = self.first.is_size_free and b.chance(0.2)
        self.builder = b
        self.seed = seed
        self.fill()
        self.outputs = self.choose_outputs()
        self.model = self.assemble()

    def fill(self):
        b = self.builder
        if not self.is_safe and not self.is_focused:
            self.odd_inputs()
        usable = [
            maker
            for maker in MAKERS
            if maker.since <= b.opset <= maker.until and (maker.is_size_free or not b.has_free_sizes)
        ]
        weights = [maker.weight for maker in usable]
        wanted = b.random.randint(1, 4) if self.is_focused else b.random.randint(3, 10)
        first_at = b.random.randint(1, wanted)
        made = tries = 0
        while made < wanted and tries < 60:
            tries += 1
            maker = self.first if tries == first_at else b.random.choices(usable, weights)[0]
            if maker.is_mixing and (self.is_safe or self.is_focused and tries != first_at):
                continue
            # Some operators of graphs that may mix rows do not, so that mixing happens deep inside.
            b.is_safe = self.is_safe or (tries != first_at if self.is_focused else not maker.is_mixing and b.chance(0.6))
            if self.apply(maker):
                made += 1
        b.is_safe = self.is_safe
        if made == 0 or not b.inputs:
            raise Skip

    def apply(self, maker):
        """Adds the operator; what it had begun when it does not fit is taken back."""
        b = self.builder
        marks = [len(part) for part in (b.nodes, b.initializers, b.inputs, b.pool, b.functions)]
        try:
            maker.make(b, maker.operator)
            b.operators.append((maker.domain, maker.operator))
            return True
        except (Skip, TypeError, ValueError, IndexError) as error:
            # Where rows may mix, shapes have N in places that operators do not reckon with.
            if self.is_safe and not isinstance(error, Skip):
                raise
            for part, mark in zip((b.nodes, b.initializers, b.inputs, b.pool, b.functions), marks):
                del part[mark:]
            return False

    def odd_inputs(self):
        """Inputs that a batch cannot take: without N, one number a row, of length zero, with a default."""
        b = self.builder
        if b.chance(0.15):
            b.input(FLOAT, (b.size(), b.size()))
        if b.chance(0.15):
            b.input(FLOAT, (N,))
        if b.chance(0.05):
            b.input(FLOAT, (N, 0, 2))
        if b.chance(0.05):
            b.input(FLOAT, (N, N))
        if b.chance(0.05):
            b.input(FLOAT, (b.size(), N))
        if b.chance(0.1):
            value = b.input(FLOAT, (b.size(),))
            b.inputs[-1].default = b.weights_array(value.shape)

    def choose_outputs(self):
        b = self.builder
        taken = {name for node in b.nodes for name in node.input}
        leaves = [value for value in b.pool if value.name not in taken and self.may_leave(value)]
        others = [value for value in b.pool if value.name in taken and self.may_leave(value)]
        chosen = leaves[-1:] if self.is_focused else leaves[-4:]
        if others and not self.is_focused and b.chance(0.2):
            chosen.append(b.choose(others))
        if not chosen:
            raise Skip
        made = {name for node in b.nodes for name in node.output}
        chosen = [value for value in dict.fromkeys(chosen)]
        b.random.shuffle(chosen)
        results = [self.to_front(value) for value in chosen]
        # An output is an input only on purpose.
        results = [value if value.name in made or self.passes_through() else self.renamed(value) for value in results]
        if not self.is_safe and b.chance(0.08):
            results.append(self.constant_output())
        return list(dict.fromkeys(results))

    def passes_through(self):
        return self.builder.chance(0.5)

    def may_leave(self, value):
        if value.dtype not in (1, 11, 10, 7, 6, 9, 2, 3, 8, 12, 13, 5, 4):
            return False
        if self.is_safe:
            return value.batch is not None and value.is_known and value.shape.count(N) == 1
        return True

    def to_front(self, value):
        if not self.is_safe or value.batch == 0:
            return value
        order = [value.batch] + [axis for axis in range(value.rank) if axis != value.batch]
        shape = [value.shape[axis] for axis in order]
        return self.builder.add("Transpose", [value], value.dtype, shape, perm=order)

    def renamed(self, value):
        return self.builder.add("Identity", [value], value.dtype, value.shape)

    def constant_output(self):
        b = self.builder
        array = b.weights_array([b.size(), b.size()])
        name = b.constant(array)
        return Value(name, FLOAT, array.shape)

    def assemble(self):
        b = self.builder
        nodes, initializers = needed(b.nodes, b.initializers, [value.name for value in self.outputs])
        used = {name for node in nodes for name in names_in(node)} | {value.name for value in self.outputs}
        b.inputs = [entry for entry in b.inputs if entry.value.name in used]
        if not b.inputs:
            raise Skip
        self.input_names = self.dimension_names()
        inputs = [self.declared(entry.value, self.input_names[entry.value.name]) for entry in b.inputs]
        defaults = [numpy_helper.from_array(entry.default, entry.value.name) for entry in b.inputs if entry.default is not None]
        outputs = [self.declared(value, self.row_name, is_output=True) for value in self.outputs]
        graph = helper.make_graph(nodes, f"graph{self.seed}", inputs, outputs, [*initializers, *defaults])
        functions = [function for function in b.functions if any(node.op_type == function.name for node in nodes)]
        imports = [helper.make_opsetid("", b.opset)]
        if any(node.domain == ML for node in nodes):
            imports.append(helper.make_opsetid(ML, self.ml_version(nodes)))
        if any(node.domain == MICROSOFT for node in nodes):
            imports.append(helper.make_opsetid(MICROSOFT, 1))
        if functions:
            imports.append(helper.make_opsetid("oracle.local", 1))
        version = b.random.randint(8, IR_VERSION_MAX)
        return helper.make_model(graph, opset_imports=imports, ir_version=version, functions=functions, producer_name="oracle")

    def ml_version(self, nodes):
        b = self.builder
        if any(node.op_type == "TreeEnsemble" for node in nodes):
            return 5
        return b.choose((2, 3, 4)) if b.opset >= 15 else 2

    def dimension_names(self):
        """The name of N for each input: one for all in most graphs."""
        b = self.builder
        self.row_name = b.choose(("N", "batch", "batch_size", None, "unk__1"))
        is_unequal = not self.is_safe and b.chance(0.2)
        return {entry.value.name: b.name("rows") if is_unequal else self.row_name for entry in b.inputs}

    def declared(self, value, row_name, is_output=False):
        b = self.builder
        hidden = b.has_free_sizes
        shape = []
        for axis, size in enumerate(value.shape):
            if size == N:
                shape.append(row_name)
            elif size is None or (hidden and not (size == 1 and is_output)):
                shape.append(None if is_output or size is None else f"d{axis}_{value.name}")
            else:
                shape.append(int(size))
        return helper.make_tensor_value_info(value.name, value.dtype, shape)


def names_in(node):
    """What a node reads, its subgraphs included."""
    names = list(node.input)
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
            names += [output.name for output in graph.output]
            for inner in graph.node:
                names += names_in(inner)
    return names


def needed(nodes, initializers, wanted):
    """The nodes and initializers that the wanted values depend on, in order."""
    live = set(wanted)
    kept = []
    for node in reversed(nodes):
        if live.intersection(node.output):
            kept.append(node)
            live.update(names_in(node))
    return kept[::-1], [tensor for tensor in initializers if tensor.name in live]
