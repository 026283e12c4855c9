"""Sequences and priorities by the unmodified HTTP client."""

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

VALUES = [11, 7, 5, 3, 2, 0, 1]


@pytest.fixture(scope="module")
def client(server_url):
    with triton.InferenceServerClient(server_url, concurrency=8) as opened:
        yield opened


def value_of(value, binary=True):
    one = triton.InferInput("INPUT", [1, 1], "INT32")
    one.set_data_from_numpy(np.array([[value]], np.int32), binary_data=binary)
    return [one]


def total_of(result):
    return result.as_numpy("OUTPUT")[0][0]


def steps(values):
    last = len(values) - 1
    return [(value, {"sequence_start": at == 0, "sequence_end": at == last}) for at, value in enumerate(values)]


def test_the_server_says_what_it_can(client):
    assert {"sequence", "sequence(string_id)", "schedule_policy"} <= set(client.get_server_metadata()["extensions"])
    config = client.get_model_config("sequence_dyna")
    assert config["sequence_batching"]["oldest"]["max_candidate_sequences"] == 1024
    assert [one["name"] for one in client.get_model_metadata("sequence_dyna")["inputs"]] == ["INPUT"]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("sequence_id", [1001, 2**64 - 1, "a name"])
def test_a_sequence_is_summed(client, sequence_id, binary):
    totals = [
        total_of(client.infer("sequence_sum", value_of(value, binary), sequence_id=sequence_id, **flags))
        for value, flags in steps(VALUES)
    ]
    assert totals == np.cumsum(VALUES).tolist()


def test_ids_that_differ_beyond_doubles_are_different(client):
    ids = [2**53, 2**53 + 1]
    for at, sequence_id in enumerate(ids):
        client.infer("sequence_sum", value_of(10 * at), sequence_id=sequence_id, sequence_start=True)
    totals = [
        total_of(client.infer("sequence_sum", value_of(1), sequence_id=sequence_id, sequence_end=True))
        for sequence_id in ids
    ]
    assert totals == [1, 11]


def test_steps_may_be_sent_ahead(client):
    first = client.infer("sequence_dyna", value_of(1), sequence_id=5, sequence_start=True)
    second = client.async_infer("sequence_dyna", value_of(2), sequence_id=5, sequence_end=True)
    assert total_of(first) == 1
    assert total_of(second.get_result(timeout=20)) == 3 + 5


def test_a_start_in_the_middle_begins_anew(client):
    client.infer("sequence_sum", value_of(9), sequence_id=6, sequence_start=True)
    again = client.infer("sequence_sum", value_of(4), sequence_id=6, sequence_start=True)
    last = client.infer("sequence_sum", value_of(1), sequence_id=6, sequence_end=True)
    assert (total_of(again), total_of(last)) == (4, 5)


def test_refusals(client):
    with pytest.raises(InferenceServerException, match="must specify the START flag on the first request"):
        client.infer("sequence_sum", value_of(1), sequence_id=77)
    with pytest.raises(InferenceServerException, match="must specify a non-zero or non-empty correlation ID"):
        client.infer("sequence_sum", value_of(1))
    rows = triton.InferInput("INPUT", [2, 1], "INT32")
    rows.set_data_from_numpy(np.array([[1], [2]], np.int32))
    with pytest.raises(InferenceServerException, match="must specify batch-size 1 due to requirements of sequence batcher"):
        client.infer("sequence_sum", [rows], sequence_id=78, sequence_start=True)


def test_any_priority_is_taken(client):
    for priority in (0, 1, 3):
        result = client.infer(
            "sequence_sum", value_of(1), sequence_id=8, sequence_start=True, sequence_end=True, priority=priority
        )
        assert total_of(result) == 1
