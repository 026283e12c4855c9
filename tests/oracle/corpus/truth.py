"""What onnxruntime answers to each request alone."""

import copy
import functools

import numpy as np

from answers import difference
from exports import all_exports
from rows import open_session

CALLERS = 64
ROWS_MAX = 3
SEED = 11


def with_scores(model):
    """The model as it is served: a ZipMap is cut off, and its output is the tensor of scores that it would have wrapped."""
    served = copy.deepcopy(model)
    cut = {}
    for node in served.graph.node:
        if node.op_type == "ZipMap":
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
            cut[node.output[0]] = node.input[0]
    for output in served.graph.output:
        if output.name in cut:
            output.type.Clear()
            output.type.tensor_type.elem_type = 1
    if cut and all(opset.domain != "" for opset in served.opset_import):
        served.opset_import.add(domain="", version=13)
    return served


@functools.lru_cache(maxsize=2)
def requests_and_answers(name):
    """As many requests as there are callers, of one to three rows, and the answer to each by output name."""
    export = all_exports()[name]
    session = open_session(with_scores(export.model))
    names = [output.name for output in session.get_outputs()]
    made = []
    for caller in range(CALLERS):
        feeds = export.feeds(np.random.default_rng([SEED, caller]), 1 + caller % ROWS_MAX)
        made.append((feeds, dict(zip(names, session.run(None, feeds)))))
    return made


def wrong(expected, actual, compares_values=True):
    """None, or what is wrong with the answer."""
    if expected.keys() != actual.keys():
        return f"outputs {sorted(actual)} instead of {sorted(expected)}"
    for name, values in expected.items():
        got = actual[name]
        values = np.asarray(values)
        if not compares_values and values.shape == got.shape and values.dtype == got.dtype:
            continue
        problem = difference(values, got)
        if problem is not None:
            return f"{name}: {problem}"
    return None
