"""ONNX's node cases and real graphs: the analysis ends for each, proves nothing that is not so, and what is served answers as onnxruntime."""

import functools

import pytest

from node_cases import all_cases, all_variants, mixed_feeds
from rows import open_session, rows_difference, run
from served_groups import ServedGroups, write_repository
from truth import wrong
from verdicts import verdicts_of

# They run within the server's own process, so that hundreds take seconds.
MODELS_A_SERVER = 500
ANALYSIS_MS_MAX = 10_000
CALLERS = 4
SEEDS = (1, 2)
# What the protocol has a name for.
PLAIN_TYPES = {
    f"tensor({name})"
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float", "double", "string")
}  # fmt: skip

CASES = all_cases()
VARIANTS = all_variants()
CANDIDATES = {name: case for name, case in {**CASES, **VARIANTS}.items() if case.feeds is not None}


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory):
    models = {**{name: case.model for name, case in CASES.items()}, **{name: variant.model for name, variant in VARIANTS.items()}}
    paths = write_repository(tmp_path_factory.mktemp("node-cases"), models)
    return dict(zip(models, verdicts_of(paths.values())))


@pytest.fixture(scope="session")
def served(verdicts, tmp_path_factory):
    """The cases as they are, and the variants whose callers may share runs."""
    models = {name: case.model for name, case in CANDIDATES.items() if name in CASES or verdicts[name]["kind"] == "independent"}
    made = ServedGroups(models, MODELS_A_SERVER, tmp_path_factory, {"MILLRACE_LANE": "inline"})
    yield made
    made.close()


@pytest.mark.parametrize("name", [*CASES, *VARIANTS])
def test_the_analysis_ends(verdicts, name):
    assert verdicts[name]["kind"] in ("independent", "dependent", "unknown")
    assert verdicts[name]["ms"] < ANALYSIS_MS_MAX
    assert "could not be analysed" not in verdicts[name].get("reason", "")


@functools.lru_cache(maxsize=4)
def session_of(name):
    """None where onnxruntime has no kernel, or an older version of the standard."""
    try:
        return open_session((CASES.get(name) or VARIANTS[name]).model)
    except Exception:  # onnxruntime has no base class of its own
        return None


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_proven_independent_are(verdicts, name):
    session = session_of(name)
    if session is None:
        pytest.skip("onnxruntime does not load it")
    if verdicts[name]["kind"] != "independent":
        pytest.skip(f"not proven: {verdicts[name]['node']}: {verdicts[name]['reason']}")
    for seed in SEEDS:
        assert rows_difference(session, mixed_feeds(VARIANTS[name], seed)) is None


def is_plain(session):
    return all(value.type in PLAIN_TYPES for value in [*session.get_inputs(), *session.get_outputs()])


@pytest.mark.parametrize("name", CANDIDATES)
def test_answers_as_onnxruntime(served, verdicts, name):
    """A case with its own inputs, from several callers at once; a variant with other rows from each of them."""
    if name in VARIANTS and verdicts[name]["kind"] != "independent":
        pytest.skip("not proven, so that no runs are shared")
    session = session_of(name)
    if session is None:
        pytest.skip("onnxruntime does not load it")
    if not is_plain(session):
        assert served.entry(name)["state"] == "UNAVAILABLE"
        return
    case = CANDIDATES[name]
    names = [output.name for output in session.get_outputs()]
    requests = []
    for caller in range(CALLERS):
        feeds = case.feeds if name in CASES else rows_of_caller(mixed_feeds(case, 3 + caller), caller)
        try:
            requests.append((feeds, dict(zip(names, run(session, feeds)))))
        except Exception:  # what onnxruntime does not answer alone, nobody need answer
            continue
    if not requests:
        pytest.skip("onnxruntime does not answer it")
    entry = served.entry(name)
    assert entry["state"] == "READY", entry.get("reason")
    problems = served.problems(name, "binary", requests, functools.partial(wrong, compares_values=case.compares_values))
    assert problems == [], f"{len(problems)} wrong, first: {problems[0]}"


def rows_of_caller(feeds, caller):
    """One to three rows, as many as there are."""
    return {name: array[: 1 + caller % 3] for name, array in feeds.items()}
