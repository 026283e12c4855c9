"""Writes the test models into tests/models/ and their golden answers into tests/make-models/golden/.

    python tests/make-models/make.py            writes the files
    python tests/make-models/make.py --check    writes nothing; fails if a file differs from what would be written

The answers come from ONNX's reference evaluator, which shares no code with the engine that serves the models.
"""

import json
import sys
from pathlib import Path

import graphs
import numpy as np
from onnx import ModelProto, checker
from onnx.reference import ReferenceEvaluator

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "models"
GOLDEN = ROOT / "tests" / "make-models" / "golden"

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

WIRE_NAMES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
}


def identity_config(name: str) -> str:
    kind = "TYPE_STRING" if name == "bytes" else f"TYPE_{name.upper()}"
    return f"""# Gives back what it is given. All identity models share one worker process.
name: "identity_{name}"
platform: "onnxruntime_onnx"
max_batch_size: 64
input {{ name: "INPUT0" data_type: {kind} dims: [ -1 ] }}
output {{ name: "OUTPUT0" data_type: {kind} dims: [ -1 ] }}
dynamic_batching {{ }}
parameters {{ key: "millrace.worker_group" value {{ string_value: "identity" }} }}
"""


ADD_SUB_CONFIG = """# The sum and the difference of two rows of sixteen numbers.
name: "add_sub"
platform: "onnxruntime_onnx"
max_batch_size: 64
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
output [
  { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
dynamic_batching { }
"""

MLP_CONFIG = """# Three dense layers over 64 numbers; ten classes with names.
name: "mlp"
platform: "onnxruntime_onnx"
max_batch_size: 64
input { name: "input" data_type: TYPE_FP32 dims: [ 64 ] }
output { name: "probabilities" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "labels.txt" }
dynamic_batching { }
"""

SLOW_CONFIG = """# As slow as the caller wants: about a millisecond for each step, at most 5000 steps.
name: "slow"
platform: "onnxruntime_onnx"
max_batch_size: 0
input { name: "steps" data_type: TYPE_INT64 dims: [ 1 ] }
output [
  { name: "steps_done" data_type: TYPE_INT64 dims: [ 1 ] },
  { name: "trace" data_type: TYPE_FP32 dims: [ 1 ] }
]
parameters { key: "millrace.run_ms_max" value { string_value: "30000" } }
parameters { key: "millrace.threads" value { string_value: "1" } }
"""


SEQUENCE_GROUP = 'parameters { key: "millrace.worker_group" value { string_value: "sequences" } }'

SEQUENCE_SUM_CONFIG = f"""# The sum of a sequence so far. Its total is kept by the server between two requests.
name: "sequence_sum"
platform: "onnxruntime_onnx"
max_batch_size: 8
input {{ name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }}
output {{ name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }}
sequence_batching {{
  max_sequence_idle_microseconds: 5000000
  direct {{ }}
  state {{
    input_name: "TOTAL_IN"
    output_name: "TOTAL_OUT"
    data_type: TYPE_INT32
    dims: [ 1 ]
    initial_state {{ name: "zero" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true }}
  }}
}}
{SEQUENCE_GROUP}
"""

SEQUENCE_DYNA_CONFIG = f"""# The sum of a sequence, by control inputs; the last answer has the correlation id added to it.
name: "sequence_dyna"
platform: "onnxruntime_onnx"
max_batch_size: 8
input {{ name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }}
output {{ name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }}
sequence_batching {{
  max_sequence_idle_microseconds: 5000000
  oldest {{ max_candidate_sequences: 1024 }}
  control_input [
    {{ name: "START" control {{ kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }} }},
    {{ name: "END" control {{ kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] }} }},
    {{ name: "READY" control {{ kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] }} }},
    {{ name: "CORRID" control {{ kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 }} }}
  ]
  state {{ input_name: "TOTAL_IN" output_name: "TOTAL_OUT" data_type: TYPE_INT32 dims: [ 1 ] }}
}}
{SEQUENCE_GROUP}
"""

SEQUENCE_HISTORY_CONFIG = f"""# All that a sequence was given so far, after a first 0, and its id, which is text.
name: "sequence_history"
platform: "onnxruntime_onnx"
max_batch_size: 8
input {{ name: "INPUT" data_type: TYPE_FP32 dims: [ 1 ] }}
output [
  {{ name: "OUTPUT" data_type: TYPE_FP32 dims: [ -1 ] }},
  {{ name: "ID" data_type: TYPE_STRING dims: [ 1 ] }}
]
sequence_batching {{
  max_sequence_idle_microseconds: 5000000
  oldest {{ max_candidate_sequences: 64 }}
  control_input {{ name: "CORRID" control {{ kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING }} }}
  state {{ input_name: "HISTORY_IN" output_name: "HISTORY_OUT" data_type: TYPE_FP32 dims: [ -1 ] }}
}}
{SEQUENCE_GROUP}
"""


def identity_values(name: str) -> np.ndarray:
    if name == "bool":
        return np.array([[True, False, True], [False, False, True]])
    if name == "bytes":
        return np.array([["", "plain", "zwölf Grüße"], ["日本語", "\U0001f980", "a\nb\tc"]], dtype=object)
    dtype = np.dtype({"fp16": "float16", "fp32": "float32", "fp64": "float64"}.get(name, name))
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        return np.array([[0, -0.5, 1.5], [limits.max, limits.min, limits.smallest_normal]], dtype)
    limits = np.iinfo(dtype)
    return np.array([[0, 1, 2], [limits.min, limits.max, 42]], dtype)


def repeated(pattern: np.ndarray, shape: list[int]) -> np.ndarray:
    return np.resize(pattern, shape)


def cases() -> dict[str, tuple[ModelProto, dict[str, str], list[dict]]]:
    """For each model: the graph, the files beside it, and the inputs that get golden answers."""
    random = np.random.RandomState(11)
    made = {}
    for name, element_type in graphs.IDENTITY_TYPES.items():
        made[f"identity_{name}"] = (
            graphs.identity(element_type),
            {"config.pbtxt": identity_config(name)},
            [{"INPUT0": identity_values(name)}],
        )
    rows = random.randint(-1000, 1000, (2, 2, 16)).astype(np.int32)
    made["add_sub"] = (
        graphs.add_sub(),
        {"config.pbtxt": ADD_SUB_CONFIG},
        [{"INPUT0": rows[0], "INPUT1": rows[1]}, {"INPUT0": rows[0][:1], "INPUT1": rows[0][:1]}],
    )
    vectors = random.standard_normal((3, 64)).astype(np.float32)
    made["mlp"] = (
        graphs.mlp(),
        {"config.pbtxt": MLP_CONFIG, "labels.txt": "\n".join(DIGITS) + "\n"},
        [{"input": vectors}, {"input": np.zeros((1, 64), np.float32)}],
    )
    pattern = np.array([0, 0.25, 0.5, 1, 0.75, 0.125, -1], np.float32)
    made["image_mean"] = (graphs.image_mean(), {}, [{"image": (pattern, [2, 3, 224, 224])}])
    made["accumulator"] = (
        graphs.accumulator(),
        {},
        [
            {"value": np.array([[3]], np.float32), "state": np.array([[0, 0]], np.float32)},
            {"value": np.array([[5], [-2]], np.float32), "state": np.array([[3, 1], [10, 4]], np.float32)},
        ],
    )
    # Their answers depend on what came before: tests/interop and packages/router hold them, not golden files.
    made["sequence_sum"] = (graphs.sequence_sum(), {"config.pbtxt": SEQUENCE_SUM_CONFIG}, [])
    made["sequence_dyna"] = (graphs.sequence_dyna(), {"config.pbtxt": SEQUENCE_DYNA_CONFIG}, [])
    made["sequence_history"] = (graphs.sequence_history(), {"config.pbtxt": SEQUENCE_HISTORY_CONFIG}, [])
    made["slow"] = (
        graphs.slow(),
        {"config.pbtxt": SLOW_CONFIG},
        [{"steps": np.array([steps], np.int64)} for steps in (0, 1, 8, -3)],
    )
    return made


def as_json(values: np.ndarray, dtype_name: str) -> list:
    flat = values.reshape(-1).tolist()
    # JSON readers would round these.
    return [str(value) for value in flat] if dtype_name in ("INT64", "UINT64") else flat


def tensor_json(name: str, values) -> dict:
    """`repeat` stands for its elements over and over until the shape is full."""
    pattern, shape = values if isinstance(values, tuple) else (values, list(values.shape))
    datatype = "BYTES" if pattern.dtype == object else WIRE_NAMES[pattern.dtype.name]
    key = "repeat" if isinstance(values, tuple) else "data"
    return {"name": name, "datatype": datatype, "shape": shape, key: as_json(pattern, datatype)}


def golden(model: ModelProto, inputs: list[dict]) -> str:
    evaluator = ReferenceEvaluator(model)
    names = [output.name for output in model.graph.output]
    answers = []
    for given in inputs:
        feeds = {name: repeated(*value) if isinstance(value, tuple) else value for name, value in given.items()}
        outputs = evaluator.run(None, feeds)
        answers.append(
            {
                "inputs": [tensor_json(name, value) for name, value in given.items()],
                "outputs": [tensor_json(name, np.asarray(value)) for name, value in zip(names, outputs)],
            }
        )
    return json.dumps({"relative_tolerance": 1e-4, "cases": answers}, ensure_ascii=False, indent=1) + "\n"


def files() -> dict[Path, bytes]:
    made = {}
    for name, (model, beside, inputs) in cases().items():
        checker.check_model(model, full_check=True)
        made[MODELS / name / "1" / "model.onnx"] = model.SerializeToString(deterministic=True)
        for filename, text in beside.items():
            made[MODELS / name / filename] = text.encode()
        if inputs:
            made[GOLDEN / f"{name}.json"] = golden(model, inputs).encode()
    return made


def main() -> int:
    made = files()
    if "--check" in sys.argv[1:]:
        stale = [path for path, data in made.items() if not path.exists() or path.read_bytes() != data]
        for path in stale:
            print(f"{path.relative_to(ROOT)} differs from what make.py writes", file=sys.stderr)
        return 1 if stale else 0
    for path, data in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(made)} files, {sum(map(len, made.values()))} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
