"""The graphs of the test models. Each function returns a model that depends on nothing but this file and a seed."""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

OPSET = 21
IR_VERSION = 10

# Every element type that ONNX Runtime in Node can carry, by its name on the wire.
IDENTITY_TYPES = {
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "fp16": TensorProto.FLOAT16,
    "fp32": TensorProto.FLOAT,
    "fp64": TensorProto.DOUBLE,
    "bytes": TensorProto.STRING,
}

SLOW_SIZE = 384
SLOW_STEPS_MAX = 5000


def identity(element_type: int) -> ModelProto:
    shape = ["batch", "size"]
    return model(
        "identity",
        [helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])],
        [helper.make_tensor_value_info("INPUT0", element_type, shape)],
        [helper.make_tensor_value_info("OUTPUT0", element_type, shape)],
    )


def add_sub() -> ModelProto:
    def tensor(name: str):
        return helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", 16])

    nodes = [
        helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
        helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"]),
    ]
    return model("add_sub", nodes, [tensor("INPUT0"), tensor("INPUT1")], [tensor("OUTPUT0"), tensor("OUTPUT1")])


def mlp() -> ModelProto:
    # RandomState's streams are frozen for good; those of numpy's newer generators may change with a version.
    random = np.random.RandomState(20240607)
    sizes = [64, 256, 256, 10]
    nodes, weights = [], []
    value = "input"
    for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        spread = np.sqrt(2.0 / inputs)
        weight = (random.standard_normal((inputs, outputs)) * spread).astype(np.float32)
        bias = (random.standard_normal(outputs) * 0.01).astype(np.float32)
        weights += [constant(f"weight{layer}", weight), constant(f"bias{layer}", bias)]
        nodes.append(helper.make_node("Gemm", [value, f"weight{layer}", f"bias{layer}"], [f"linear{layer}"]))
        value = f"linear{layer}"
        if layer < len(sizes) - 2:
            nodes.append(helper.make_node("Relu", [value], [f"relu{layer}"]))
            value = f"relu{layer}"
    nodes.append(helper.make_node("Softmax", [value], ["probabilities"], axis=-1))
    return model(
        "mlp",
        nodes,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", sizes[0]])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", sizes[-1]])],
        weights,
    )


def image_mean() -> ModelProto:
    nodes = [
        helper.make_node("ReduceMean", ["image", "plane"], ["channel_means"], keepdims=0),
        helper.make_node("ReduceMean", ["channel_means", "channels"], ["brightness"], keepdims=1),
    ]
    return model(
        "image_mean",
        nodes,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 224, 224])],
        [
            helper.make_tensor_value_info("channel_means", TensorProto.FLOAT, ["batch", 3]),
            helper.make_tensor_value_info("brightness", TensorProto.FLOAT, ["batch", 1]),
        ],
        [constant("plane", np.array([2, 3], np.int64)), constant("channels", np.array([1], np.int64))],
    )


def accumulator() -> ModelProto:
    """A running mean. The state is [sum, count]; whoever calls keeps it and gives it back with the next value."""
    nodes = [
        helper.make_node("Concat", ["value", "one"], ["addend"], axis=1),
        helper.make_node("Add", ["state", "addend"], ["next_state"]),
        helper.make_node("Split", ["next_state"], ["sum", "count"], axis=1, num_outputs=2),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
    ]
    # A one for each row, whatever their number.
    ones = [
        helper.make_node("Shape", ["value"], ["value_shape"]),
        helper.make_node(
            "ConstantOfShape",
            ["value_shape"],
            ["one"],
            value=numpy_helper.from_array(np.array([1], np.float32)),
        ),
    ]
    return model(
        "accumulator",
        ones + nodes,
        [
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch", 1]),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", 2]),
        ],
        [
            helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["batch", 1]),
            helper.make_tensor_value_info("next_state", TensorProto.FLOAT, ["batch", 2]),
        ],
    )


def sequence_sum() -> ModelProto:
    """The sum of all values of a sequence. The server keeps the total from one step to the next."""

    def tensor(name: str):
        return helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", 1])

    nodes = [
        helper.make_node("Add", ["INPUT", "TOTAL_IN"], ["OUTPUT"]),
        helper.make_node("Identity", ["OUTPUT"], ["TOTAL_OUT"]),
    ]
    return model("sequence_sum", nodes, [tensor("INPUT"), tensor("TOTAL_IN")], [tensor("OUTPUT"), tensor("TOTAL_OUT")])


def sequence_dyna() -> ModelProto:
    """The same, told by control inputs where it starts; with the last step the correlation id is added."""

    def tensor(name: str, element_type: int = TensorProto.INT32):
        return helper.make_tensor_value_info(name, element_type, ["batch", 1])

    nodes = [
        helper.make_node("Sub", ["one", "START"], ["continues"]),
        helper.make_node("Mul", ["TOTAL_IN", "continues"], ["before"]),
        helper.make_node("Add", ["before", "INPUT"], ["value"]),
        helper.make_node("Mul", ["value", "READY"], ["TOTAL_OUT"]),
        helper.make_node("Cast", ["CORRID"], ["id"], to=TensorProto.INT32),
        helper.make_node("Mul", ["id", "END"], ["extra"]),
        helper.make_node("Add", ["TOTAL_OUT", "extra"], ["OUTPUT"]),
    ]
    return model(
        "sequence_dyna",
        nodes,
        [
            tensor("INPUT"),
            tensor("START"),
            tensor("END"),
            tensor("READY"),
            tensor("CORRID", TensorProto.UINT64),
            tensor("TOTAL_IN"),
        ],
        [tensor("OUTPUT"), tensor("TOTAL_OUT")],
        [constant("one", np.array([1], np.int32))],
    )


def sequence_history() -> ModelProto:
    """Everything a sequence was given so far, and its id, which is text: a state that grows with every step."""
    nodes = [
        helper.make_node("Concat", ["HISTORY_IN", "INPUT"], ["HISTORY_OUT"], axis=1),
        helper.make_node("Identity", ["HISTORY_OUT"], ["OUTPUT"]),
        helper.make_node("Identity", ["CORRID"], ["ID"]),
    ]
    return model(
        "sequence_history",
        nodes,
        [
            helper.make_tensor_value_info("INPUT", TensorProto.FLOAT, ["batch", 1]),
            helper.make_tensor_value_info("CORRID", TensorProto.STRING, ["batch", 1]),
            helper.make_tensor_value_info("HISTORY_IN", TensorProto.FLOAT, ["batch", "before"]),
        ],
        [
            helper.make_tensor_value_info("OUTPUT", TensorProto.FLOAT, ["batch", "after"]),
            helper.make_tensor_value_info("ID", TensorProto.STRING, ["batch", 1]),
            helper.make_tensor_value_info("HISTORY_OUT", TensorProto.FLOAT, ["batch", "after"]),
        ],
    )


def slow() -> ModelProto:
    """Takes about a millisecond for each step on one core.

    A step multiplies the state by a reflection, which undoes itself in the next step: nothing grows and nothing can
    be left out. The trace tells even from odd: it is the size after an even number of steps, two less after an odd one.
    """
    random = np.random.RandomState(7)
    normal = random.randint(-4, 5, SLOW_SIZE).astype(np.float32)
    mirror = [
        helper.make_node("Mul", ["column", "row"], ["outer"]),
        helper.make_node("ReduceSumSquare", ["row"], ["length"], keepdims=1),
        helper.make_node("Div", ["outer", "length"], ["scaled"]),
        helper.make_node("Mul", ["scaled", "two"], ["doubled"]),
        helper.make_node("EyeLike", ["doubled"], ["identity"], dtype=TensorProto.FLOAT),
        helper.make_node("Sub", ["identity", "doubled"], ["reflection"]),
    ]
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["before", "reflection"], ["after"]),
            helper.make_node("Identity", ["go_on"], ["still_go_on"]),
        ],
        "step",
        [
            helper.make_tensor_value_info("index", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, [SLOW_SIZE, SLOW_SIZE]),
        ],
        [
            helper.make_tensor_value_info("still_go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.FLOAT, [SLOW_SIZE, SLOW_SIZE]),
        ],
    )
    run = [
        helper.make_node("Max", ["steps", "steps_min"], ["at_least"]),
        helper.make_node("Min", ["at_least", "steps_max"], ["bounded"]),
        helper.make_node("Squeeze", ["bounded"], ["count"]),
        helper.make_node("Loop", ["count", "true", "identity"], ["last"], body=body),
        helper.make_node("Mul", ["last", "identity"], ["diagonal"]),
        helper.make_node("ReduceSum", ["diagonal"], ["trace_scalar"], keepdims=0),
        helper.make_node("Unsqueeze", ["trace_scalar", "axis"], ["trace"]),
        helper.make_node("Identity", ["bounded"], ["steps_done"]),
    ]
    return model(
        "slow",
        mirror + run,
        [helper.make_tensor_value_info("steps", TensorProto.INT64, [1])],
        [
            helper.make_tensor_value_info("steps_done", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("trace", TensorProto.FLOAT, [1]),
        ],
        [
            constant("column", normal.reshape(SLOW_SIZE, 1)),
            constant("row", normal.reshape(1, SLOW_SIZE)),
            constant("two", np.array([2], np.float32)),
            constant("steps_min", np.array([0], np.int64)),
            constant("steps_max", np.array([SLOW_STEPS_MAX], np.int64)),
            constant("axis", np.array([0], np.int64)),
            constant("true", np.array(True)),
        ],
    )


def constant(name: str, values: np.ndarray) -> TensorProto:
    return numpy_helper.from_array(values, name)


def model(name: str, nodes, inputs, outputs, weights=()) -> ModelProto:
    graph = helper.make_graph(nodes, name, inputs, outputs, list(weights))
    # No producer version: the bytes must not depend on who made them.
    return helper.make_model(
        graph, producer_name="millrace", ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
    )
