"""Smaller versions of a case: fewer outputs, fewer nodes, fewer requests; the smallest first."""
import json
from types import SimpleNamespace

import numpy as np
import onnx
from onnx import helper, shape_inference

from case import stacked_of
from chunk import DATATYPES
from truth import Truth
from whole_graph import names_in, needed

CANDIDATES_MAX = 40
KINDS = {datatype: np.dtype(name) for name, datatype in DATATYPES.items() if name != "object"}


def smaller_cases(folder, name):
    """Cases that are each one step smaller, with the answers of ONNX Runtime to them."""
    entry = next(one for one in json.loads((folder / "index.json").read_text()) if one["name"] == name)
    model = onnx.load(folder / f"{name}.onnx")
    data = (folder / "data.bin").read_bytes()
    feeds = [{one["name"]: array_from(one, data) for one in request["inputs"]} for request in entry["requests"]]
    graphs = [(smaller, feeds) for smaller in smaller_models(model)]
    parts = [(model, part) for part in smaller_lists(feeds)]
    candidates = sorted(graphs + parts, key=lambda pair: (len(pair[0].graph.node), len(pair[0].graph.output), len(pair[1])))
    made = []
    for candidate, requests in candidates:
        case = case_of(entry, candidate, requests)
        if case is not None:
            made.append(case)
        if len(made) == CANDIDATES_MAX:
            break
    return made


def array_from(entry, data):
    content = data[entry["offset"]:entry["offset"] + entry["bytes"]]
    if entry["datatype"] != "BYTES":
        return np.frombuffer(content, KINDS[entry["datatype"]]).reshape(entry["shape"])
    texts, at = [], 0
    while at < len(content):
        size = int.from_bytes(content[at:at + 4], "little")
        texts.append(content[at + 4:at + 4 + size].decode())
        at += 4 + size
    return np.array(texts, object).reshape(entry["shape"])


def case_of(entry, model, requests):
    if not model.graph.input:
        return None
    taken = {value.name for value in model.graph.input}
    requests = [{name: array for name, array in feeds.items() if name in taken} for feeds in requests]
    try:
        truth = Truth(model.SerializeToString(), entry["half"], set(entry["random"]))
    except Exception:  # noqa: BLE001
        return None
    answered = [(feeds, *truth.answer(feeds)) for feeds in requests]
    right = [(feeds, outputs) for feeds, outputs, error in answered if not error]
    stacked = stacked_of(truth, right)
    return SimpleNamespace(
        seed=entry["seed"], is_safe=entry["independent"], model=model, opset=entry["opset"], is_half=entry["half"], names=truth.names,
        random_outputs=[name for name in entry["random"] if name in truth.names], requests=answered, stacked=stacked,
    )


def smaller_lists(feeds):
    if len(feeds) > 2:
        yield feeds[: len(feeds) // 2]
        yield feeds[len(feeds) // 2:]
        for index in range(len(feeds)):
            yield feeds[:index] + feeds[index + 1:]
    elif len(feeds) == 2:
        yield feeds[:1]
        yield feeds[1:]
    for index, one in enumerate(feeds):
        rows = {array.shape[0] if array.ndim else -1 for array in one.values()}
        if len(rows) == 1 and max(rows) > 1:
            yield [*feeds[:index], {name: array[:1] for name, array in one.items()}, *feeds[index + 1:]]


def smaller_models(model):
    kinds = value_kinds(model)
    outputs = list(model.graph.output)
    if len(outputs) > 1:
        for output in outputs:
            yield with_outputs(model, model.graph.node, [output])
    for node in model.graph.node:
        for name in node.output:
            if name in kinds and [name] != [output.name for output in outputs]:
                yield with_outputs(model, model.graph.node, [kinds[name]])
    for index, node in enumerate(model.graph.node):
        for source in node.input:
            if source in kinds and len(node.output) >= 1 and same_kind(kinds[source], kinds.get(node.output[0])):
                yield bypassed(model, index, source)
                break


def value_kinds(model):
    inferred = shape_inference.infer_shapes(model).graph
    return {value.name: value for value in [*inferred.value_info, *inferred.input, *inferred.output] if value.type.HasField("tensor_type")}


def same_kind(one, other):
    if other is None:
        return False
    first, second = one.type.tensor_type, other.type.tensor_type
    return first.elem_type == second.elem_type and len(first.shape.dim) == len(second.shape.dim)


def bypassed(model, index, source):
    """Without one node: what it made is what it took."""
    target = model.graph.node[index].output[0]
    nodes = [node for at, node in enumerate(model.graph.node) if at != index]
    if target in {output.name for output in model.graph.output}:
        nodes.append(helper.make_node("Identity", [source], [target], name=f"Kept_{target}"))
    else:
        nodes = [renamed(node, target, source) for node in nodes]
    return with_outputs(model, nodes, list(model.graph.output))


def renamed(node, old, new):
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for at, name in enumerate(copy.input):
        if name == old:
            copy.input[at] = new
    return copy


def with_outputs(model, nodes, outputs):
    kept, initializers = needed(nodes, model.graph.initializer, [output.name for output in outputs])
    used = {name for node in kept for name in names_in(node)} | {output.name for output in outputs}
    inputs = [value for value in model.graph.input if value.name in used]
    graph = helper.make_graph(kept, model.graph.name, inputs, outputs, initializers)
    functions = [function for function in model.functions if any(node.op_type == function.name for node in kept)]
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version, functions=functions)
