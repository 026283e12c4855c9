"""Builds one random graph: values with their element type and shape, nodes, constants and inputs.

A dimension is a whole number, the letter N (the rows of a request) or None (known only at run time). In graphs whose rows are
independent by construction every value that depends on an input has N exactly once.
"""
import random
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper, numpy_helper

N = "N"
FLOAT, DOUBLE, FLOAT16 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16
INT64, INT32, INT8, UINT8 = TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8
BOOL, STRING = TensorProto.BOOL, TensorProto.STRING
FLOATS = (FLOAT, DOUBLE, FLOAT16)
INTEGERS = (INT64, INT32, INT8, UINT8)
ELEMENTS_MAX = 300

NUMPY = {
    FLOAT: np.float32, DOUBLE: np.float64, FLOAT16: np.float16, INT64: np.int64, INT32: np.int32, INT8: np.int8,
    UINT8: np.uint8, BOOL: np.bool_, STRING: np.object_, TensorProto.UINT16: np.uint16, TensorProto.INT16: np.int16,
    TensorProto.UINT32: np.uint32, TensorProto.UINT64: np.uint64,
}


class Skip(Exception):
    """The operator cannot be applied here; another is tried."""


@dataclass(frozen=True)
class Value:
    name: str
    dtype: int
    shape: tuple

    @property
    def rank(self):
        return len(self.shape)

    @property
    def batch(self):
        return self.shape.index(N) if N in self.shape else None

    @property
    def row_size(self):
        size = 1
        for dimension in self.shape:
            if isinstance(dimension, int):
                size *= dimension
        return size

    @property
    def is_known(self):
        return None not in self.shape


@dataclass
class Input:
    value: Value
    # What the data may be: whole numbers in [low, high), words, or floats.
    low: float = -2.0
    high: float = 2.0
    words: tuple = ()
    default: np.ndarray | None = None


class Builder:
    def __init__(self, seed, opset, is_safe, has_free_sizes=False):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.opset = opset
        self.is_safe = is_safe
        # Sizes other than N are declared as free: operators may not depend on them.
        self.has_free_sizes = has_free_sizes
        self.nodes = []
        self.initializers = []
        self.inputs = []
        self.pool = []
        self.domains = set()
        self.operators = []
        self.functions = []
        self.count = 0
        self.inputs_max = 4

    # Names and choices

    def name(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, options):
        return self.random.choice(list(options))

    def size(self, low=1, high=4):
        return self.random.randint(low, high)

    # Nodes

    def node(self, operator, inputs, outputs=1, domain="", **attributes):
        """Adds a node; the names of its outputs."""
        names = [self.name() for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        taken = [value.name if isinstance(value, Value) else value for value in inputs]
        while taken and taken[-1] == "":
            taken.pop()
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(
            helper.make_node(operator, taken, names, name=f"{operator}_{len(self.nodes)}", domain=domain, **attributes)
        )
        if domain:
            self.domains.add(domain)
        return names

    def add(self, operator, inputs, dtype, shape, domain="", **attributes):
        """Adds a node with one output, a value that later nodes may take."""
        (name,) = self.node(operator, inputs, 1, domain, **attributes)
        return self.keep(name, dtype, shape)

    def keep(self, name, dtype, shape):
        value = Value(name, dtype, tuple(shape))
        if value.row_size > ELEMENTS_MAX * 8:
            raise Skip
        self.pool.append(value)
        return value

    # Constants

    def constant(self, array, as_node=None):
        array = np.asarray(array)
        name = self.name("c")
        tensor = numpy_helper.from_array(array, name)
        if as_node is None:
            as_node = self.chance(0.25)
        if as_node:
            self.nodes.append(helper.make_node("Constant", [], [name], name=f"Constant_{len(self.nodes)}", value=tensor))
        else:
            self.initializers.append(tensor)
        return name

    def ints(self, numbers):
        return self.constant(np.array(numbers, np.int64))

    def weights(self, shape, dtype=FLOAT, scale=1.0, low=None, high=None):
        return self.constant(self.weights_array(shape, dtype, scale, low, high))

    def weights_array(self, shape, dtype=FLOAT, scale=1.0, low=None, high=None):
        if dtype in FLOATS:
            low, high = (-1.0, 1.0) if low is None else (low, high)
            return (self.numbers.uniform(low, high, shape) * scale).astype(NUMPY[dtype])
        if dtype == BOOL:
            return self.numbers.integers(0, 2, shape).astype(np.bool_)
        low, high = (1, 5) if low is None else (low, high)
        return self.numbers.integers(low, high, shape).astype(NUMPY[dtype])

    # Inputs and values to work on

    def input(self, dtype, shape, **data):
        if len(self.inputs) >= self.inputs_max + (2 if data else 0) or not isinstance(data.get("high", 1), int):
            raise Skip
        value = Value(self.name("x"), dtype, tuple(shape))
        self.inputs.append(Input(value, **data))
        self.pool.append(value)
        return value

    def row_shape(self, rank):
        shape = [N] + [self.size() for _ in range(rank - 1)]
        while Value("", 0, tuple(shape)).row_size > ELEMENTS_MAX:
            shape[self.random.randrange(1, rank)] = 1
        return tuple(shape)

    def matching(self, dtypes, ranks, at_front):
        return [
            value
            for value in self.pool
            if value.dtype in dtypes
            and value.rank in ranks
            and value.is_known
            and (value.batch is not None or not self.is_safe)
            and (not at_front or value.batch == 0 or (not self.is_safe and value.rank > 0))
            and (0 not in value.shape or not self.is_safe)
        ]

    def take(self, dtype=FLOAT, rank=(1, 2, 3, 4), at_front=True, fresh=0.15):
        """A value of one of these types and ranks: one that exists, one made from such, or a new input."""
        dtypes = (dtype,) if isinstance(dtype, int) else tuple(dtype)
        ranks = (rank,) if isinstance(rank, int) else tuple(rank)
        options = self.matching(dtypes, ranks, at_front)
        can_add = len(self.inputs) < self.inputs_max
        if options and not (can_add and self.chance(fresh)):
            # Mostly the newest, so that chains form.
            return options[-1] if self.chance(0.6) else self.choose(options)
        if can_add and (not self.pool or self.chance(0.6) or self.has_free_sizes):
            usable = [entry for entry in dtypes if entry != FLOAT16] or dtypes
            return self.input(usable[0] if self.chance(0.7) else self.choose(usable), self.row_shape(self.choose(ranks)))
        if self.has_free_sizes:
            raise Skip
        return self.adapted(dtypes, ranks)

    def adapted(self, dtypes, ranks):
        options = self.matching((FLOAT, DOUBLE, INT64, INT32), range(1, 6), False)
        if not options:
            raise Skip
        value = options[-1] if self.chance(0.5) else self.choose(options)
        if value.batch is None:
            raise Skip
        if value.dtype not in dtypes:
            value = self.cast(value, dtypes[0])
        if value.batch != 0:
            order = [value.batch] + [axis for axis in range(value.rank) if axis != value.batch]
            value = self.add("Transpose", [value], value.dtype, [value.shape[axis] for axis in order], perm=order)
        if value.rank not in ranks:
            value = self.reshaped(value, self.factored(value.row_size, self.choose(ranks) - 1))
        return value

    def cast(self, value, dtype):
        if dtype == STRING or value.dtype == STRING:
            raise Skip
        return self.add("Cast", [value], dtype, value.shape, to=dtype)

    def factored(self, size, count):
        """`count` sizes with this product."""
        if count == 0:
            if size != 1:
                raise Skip
            return []
        sizes = []
        for _ in range(count - 1):
            divisors = [number for number in (1, 2, 3, 4, 5) if size % number == 0]
            sizes.append(self.choose(divisors))
            size //= sizes[-1]
        sizes.append(size)
        self.random.shuffle(sizes)
        return sizes

    def reshaped(self, value, sizes):
        """The rows of a value with N in front in another shape, the target written in one of the usual ways."""
        ways = ["minus-one", "shape"] + (["zero"] if sizes else [])
        way = self.choose(ways)
        sizes = [int(entry) for entry in sizes]
        if way == "minus-one" and value.row_size > 0:
            target = self.ints([-1, *sizes])
        elif way == "zero":
            free = list(sizes)
            if self.chance(0.5) and 0 not in sizes:
                free[self.random.randrange(len(free))] = -1
            target = self.ints([0, *free])
        else:
            target = self.node("Concat", [self.rows_of(value), self.ints(sizes)], axis=0)[0] if sizes else self.rows_of(value)
        return self.add("Reshape", [value, target], value.dtype, [N, *sizes])

    def rows_of(self, value, axis=None):
        """The name of a tensor [1] that holds N at run time."""
        axis = value.batch if axis is None else axis
        if axis is None:
            raise Skip
        if self.opset >= 15 and self.chance(0.3):
            return self.node("Shape", [value], start=axis, end=axis + 1)[0]
        (shape,) = self.node("Shape", [value])
        if self.chance(0.5):
            return self.node("Gather", [shape, self.ints([axis])], axis=0)[0]
        if self.chance(0.5):
            (scalar,) = self.node("Gather", [shape, self.constant(np.array(axis, np.int64))], axis=0)
            if self.opset >= 13:
                return self.node("Unsqueeze", [scalar, self.ints([0])])[0]
            return self.node("Unsqueeze", [scalar], axes=[0])[0]
        if self.opset >= 10:
            return self.node("Slice", [shape, self.ints([axis]), self.ints([axis + 1]), self.ints([0])])[0]
        return self.node("Slice", [shape], starts=[axis], ends=[axis + 1], axes=[0])[0]

    # Axes

    def axis(self, value, include_batch=None):
        """An axis that does not touch the rows, or any where rows may mix."""
        may_mix = not self.is_safe if include_batch is None else include_batch
        options = [axis for axis in range(value.rank) if may_mix or axis != value.batch]
        if not options:
            raise Skip
        return self.choose(options)

    def written(self, axis, rank):
        """The axis as a model may write it: from the end, too, where its opset has that."""
        return axis - rank if self.opset >= 13 and self.chance(0.3) else axis
