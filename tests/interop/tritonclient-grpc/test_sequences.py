"""Sequences, streams and priorities by the unmodified gRPC clients, as Triton's documentation and examples use them."""

import asyncio
import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from tritonclient.utils import InferenceServerException

VALUES = [11, 7, 5, 3, 2, 0, 1]
SLOTS = 8


@pytest.fixture(scope="module")
def client(address):
    with triton.InferenceServerClient(address) as one:
        yield one


def value_of(value, dtype=np.int32, datatype="INT32"):
    one = triton.InferInput("INPUT", [1, 1], datatype)
    one.set_data_from_numpy(np.array([[value]], dtype))
    return [one]


def output_of(result):
    return result.as_numpy("OUTPUT")[0].tolist()


def steps(values):
    """Each value with the start and end flags of its position."""
    last = len(values) - 1
    return [(value, {"sequence_start": at == 0, "sequence_end": at == last}) for at, value in enumerate(values)]


class Stream:
    """A stream that collects its answers."""

    def __init__(self, client, **options):
        self.answers = queue.Queue()
        self.client = client
        client.start_stream(callback=lambda result, error: self.answers.put((result, error)), **options)

    def take(self):
        return self.answers.get(timeout=20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stop_stream()


def test_the_server_says_what_it_can(client):
    extensions = client.get_server_metadata().extensions
    assert {"sequence", "sequence(string_id)", "schedule_policy"} <= set(extensions)
    config = client.get_model_config("sequence_sum").config
    assert config.WhichOneof("scheduling_choice") == "sequence_batching"
    assert config.sequence_batching.WhichOneof("strategy_choice") == "direct"
    assert [one.name for one in client.get_model_metadata("sequence_dyna").inputs] == ["INPUT"]


@pytest.mark.parametrize("sequence_id", [1001, 2**62, "a name"])
def test_a_sequence_is_summed(client, sequence_id):
    totals = [
        output_of(client.infer("sequence_sum", value_of(value), sequence_id=sequence_id, **flags))
        for value, flags in steps(VALUES)
    ]
    assert totals == [[total] for total in np.cumsum(VALUES).tolist()]


def test_control_inputs_tell_the_model_where_it_is(client):
    results = [
        output_of(client.infer("sequence_dyna", value_of(value), sequence_id=1007, **flags))
        for value, flags in steps(VALUES)
    ]
    expected = np.cumsum(VALUES).tolist()
    expected[-1] += 1007
    assert results == [[total] for total in expected]


def test_a_state_grows_and_the_id_is_text(client):
    for at, (value, flags) in enumerate(steps([1.5, 2.5, 3.5])):
        result = client.infer("sequence_history", value_of(value, np.float32, "FP32"), sequence_id="my id", **flags)
        assert output_of(result) == [0, 1.5, 2.5, 3.5][: at + 2]
        assert result.as_numpy("ID").tolist() == [[b"my id"]]


@pytest.mark.parametrize(
    "model, options, problem",
    [
        (
            "sequence_sum",
            {"sequence_id": 77},
            "inference request for sequence 77 to model 'sequence_sum' must specify the START flag on the first "
            "request of the sequence",
        ),
        ("sequence_sum", {}, "must specify a non-zero or non-empty correlation ID"),
        ("sequence_dyna", {"sequence_id": "text", "sequence_start": True}, "takes a number as correlation ID"),
        ("sequence_history", {"sequence_id": 5, "sequence_start": True}, "takes a string as correlation ID"),
    ],
)
def test_refusals(client, model, options, problem):
    inputs = value_of(1, np.float32, "FP32") if model == "sequence_history" else value_of(1)
    with pytest.raises(InferenceServerException, match=problem) as failure:
        client.infer(model, inputs, **options)
    assert "INVALID_ARGUMENT" in failure.value.status()


def test_two_sequences_on_one_stream(client):
    with Stream(client) as stream:
        for value, flags in steps(VALUES):
            client.async_stream_infer(
                "sequence_dyna", value_of(value), request_id=f"1_{value}", sequence_id=1000, **flags
            )
            client.async_stream_infer(
                "sequence_dyna", value_of(-value), request_id=f"2_{value}", sequence_id=1001, **flags
            )
        totals = {"1": [], "2": []}
        order = []
        for _ in range(2 * len(VALUES)):
            result, error = stream.take()
            assert error is None
            response = result.get_response()
            assert response.parameters["triton_final_response"].bool_param is True
            order.append(response.id)
            totals[response.id[0]] += output_of(result)
    assert order == [f"{which}_{value}" for value in VALUES for which in (1, 2)]
    sums = np.cumsum(VALUES).tolist()
    assert totals["1"] == sums[:-1] + [sums[-1] + 1000]
    assert totals["2"] == [-total for total in sums[:-1]] + [-sums[-1] + 1001]


def test_a_stream_may_take_turns_between_more_sequences_than_have_slots(client):
    """More of them than a stream has under way otherwise: what waits for a slot must not keep the others from ending."""
    ids = [f"turn {at}" for at in range(SLOTS + 4)]
    values = list(range(1, 41))
    with Stream(client) as stream:
        for value, flags in steps(values):
            for sequence_id in ids:
                client.async_stream_infer(
                    "sequence_sum", value_of(value), request_id=sequence_id, sequence_id=sequence_id, **flags
                )
        totals = {sequence_id: [] for sequence_id in ids}
        for _ in range(len(ids) * len(values)):
            result, error = stream.take()
            assert error is None
            totals[result.get_response().id] += output_of(result)
    assert totals == {sequence_id: np.cumsum(values).tolist() for sequence_id in ids}


def test_errors_do_not_end_a_stream(client):
    with Stream(client) as stream:
        client.async_stream_infer("sequence_sum", value_of(1), request_id="lost", sequence_id=90)
        client.async_stream_infer("nobody", value_of(1), request_id="unknown")
        client.async_stream_infer("sequence_sum", value_of(4), sequence_id=90, sequence_start=True, sequence_end=True)
        assert "must specify the START flag" in str(stream.take()[1])
        assert "Request for unknown model: 'nobody' is not found" in str(stream.take()[1])
        result, error = stream.take()
        assert error is None and output_of(result) == [4]


def test_a_stream_fails_with_a_status_when_asked_to(client):
    with Stream(client, headers={"triton_grpc_error": "true"}) as stream:
        client.async_stream_infer("sequence_sum", value_of(1), sequence_id=91)
        _, error = stream.take()
        assert "must specify the START flag" in error.message()
        assert error.status() == str(grpc.StatusCode.INVALID_ARGUMENT)


def test_plain_models_stream_in_order(client):
    rows = np.arange(64, dtype=np.int32).reshape(1, 64)
    with Stream(client) as stream:
        for at in range(200):
            one = triton.InferInput("INPUT0", [1, 64], "INT32")
            one.set_data_from_numpy(rows + at)
            client.async_stream_infer("identity_int32", [one], request_id=str(at))
        for at in range(200):
            result, error = stream.take()
            assert error is None
            assert result.get_response().id == str(at)
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), rows + at)


def test_a_stream_that_is_cancelled_stops(client):
    answers = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put(error))
    one = triton.InferInput("steps", [1], "INT64")
    one.set_data_from_numpy(np.array([3000], np.int64))
    client.async_stream_infer("slow", [one])
    client.stop_stream(cancel_requests=True)
    error = answers.get(timeout=20)
    assert error is not None and "CANCELLED" in str(error.status())
    # The worker is free again long before the cancelled run would have been through.
    one.set_data_from_numpy(np.array([1], np.int64))
    assert client.infer("slow", [one], client_timeout=30).as_numpy("steps_done").tolist() == [1]


def test_a_sequence_waits_for_a_slot_no_longer_than_its_timeout(client):
    ids = range(3001, 3001 + SLOTS)
    for sequence_id in ids:
        client.infer("sequence_sum", value_of(1), sequence_id=sequence_id, sequence_start=True)
    with pytest.raises(InferenceServerException, match="timeout of the corresponding sequence has been expired") as late:
        client.infer("sequence_sum", value_of(1), sequence_id=4000, sequence_start=True, timeout=200_000)
    assert "UNAVAILABLE" in late.value.status()
    waiting = queue.Queue()
    client.async_infer(
        "sequence_sum",
        value_of(5),
        callback=lambda result, error: waiting.put((result, error)),
        sequence_id=4001,
        sequence_start=True,
        sequence_end=True,
    )
    for sequence_id in ids:
        client.infer("sequence_sum", value_of(1), sequence_id=sequence_id, sequence_end=True)
    result, error = waiting.get(timeout=20)
    assert error is None and output_of(result) == [5]


def test_any_priority_is_taken(client):
    rows = np.ones((1, 16), np.int32)
    for priority in (0, 1, 3, 2**63):
        inputs = [triton.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
        for one in inputs:
            one.set_data_from_numpy(rows)
        result = client.infer("add_sub", inputs, priority=priority)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), rows * 2)


def test_aio_streams(address):
    async def scenario():
        async def requests():
            for value, flags in steps(VALUES):
                yield {
                    "model_name": "sequence_sum",
                    "inputs": value_of(value),
                    "sequence_id": "aio",
                    "sequence_start": flags["sequence_start"],
                    "sequence_end": flags["sequence_end"],
                }

        async with triton_aio.InferenceServerClient(address) as client:
            totals = []
            async for result, error in client.stream_infer(inputs_iterator=requests(), stream_timeout=30):
                assert error is None
                totals += output_of(result)
            assert totals == np.cumsum(VALUES).tolist()

    asyncio.run(scenario())
