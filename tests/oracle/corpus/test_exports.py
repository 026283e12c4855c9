"""Every model of the export corpus, served without configuration, answers as onnxruntime does: one request alone, and 64 at once."""

import functools

import numpy as np
import pytest

from exports import all_exports
from rows import open_session, rows_difference
from served_groups import ServedGroups
from truth import CALLERS, requests_and_answers, with_scores, wrong

# Each model has a process of its own: a server for each group keeps memory small.
MODELS_A_SERVER = 36
PROTOCOLS = ("json", "binary", "grpc")

EXPORTS = all_exports()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    made = ServedGroups({name: export.model for name, export in EXPORTS.items()}, MODELS_A_SERVER, tmp_path_factory)
    yield made
    made.close()


@pytest.mark.parametrize("name", [name for name, export in EXPORTS.items() if export.is_independent])
def test_rows_claimed_independent_are(name):
    export = EXPORTS[name]
    session = open_session(with_scores(export.model))
    defaults = {tensor.name: 0 for tensor in export.model.graph.initializer}
    for seed in range(3):
        assert rows_difference(session, export.feeds(np.random.default_rng(seed), 4), defaults) is None


def cases():
    """In the order of the models, so that each server is started once."""
    for name, export in EXPORTS.items():
        if export.refusal is not None:
            yield pytest.param(name, None, 0, id=f"{name}-refused")
        else:
            yield from (
                pytest.param(name, protocol, callers, id=f"{name}-{protocol}-{callers}")
                for protocol in PROTOCOLS
                for callers in (1, CALLERS)
            )


@pytest.mark.parametrize(("name", "protocol", "callers"), cases())
def test_answers_as_onnxruntime(served, name, protocol, callers):
    entry, refusal = served.entry(name), EXPORTS[name].refusal
    if refusal is not None:
        assert entry["state"] == "UNAVAILABLE"
        assert refusal in entry["reason"]
        return
    assert entry["state"] == "READY", entry.get("reason")
    requests = requests_and_answers(name)
    if protocol == "json" and any(array.dtype == np.float16 for array in requests[0][0].values()):
        pytest.skip("the protocol has no JSON form of FP16")
    compare = functools.partial(wrong, compares_values=EXPORTS[name].compares_values)
    turns = [requests] if callers == CALLERS else [[one] for one in requests[:3]]
    problems = [problem for turn in turns for problem in served.problems(name, protocol, turn, compare)]
    assert problems == [], f"{len(problems)} wrong, first: {problems[0]}"
