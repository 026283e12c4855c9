"""Decoupled models with Triton's own client, unmodified: none, one and many answers, errors in between, final flags."""

import queue

import numpy as np
import pytest
import tritonclient.grpc as triton
from server import running_server
from tritonclient.utils import InferenceServerException

from conftest import wait_until_ready

PIPELINE = """
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { IN: { datatype: 'INT32', shape: [-1] } },
  outputs: { OUT: { datatype: 'INT32', shape: [1] }, IDX: { datatype: 'UINT32', shape: [1] } },
  async *run({ inputs }) {
    let index = 0;
    for (const value of inputs.IN.data) {
      if (value < 0) throw new Error(`${value} is negative`);
      yield { OUT: { data: Int32Array.of(value) }, IDX: { data: Uint32Array.of(index++) } };
    }
  },
});
"""

ORDINARY = """
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { IN: { datatype: 'INT32', shape: [-1] } },
  outputs: { OUT: { datatype: 'INT32', shape: [1] }, IDX: { datatype: 'UINT32', shape: [1] } },
  async run({ inputs }) {
    return { OUT: { data: Int32Array.of(2 * inputs.IN.data[0]!) }, IDX: { data: Uint32Array.of(0) } };
  },
});
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    folder = repository / "repeat_int32" / "1"
    folder.mkdir(parents=True)
    (folder / "pipeline.ts").write_text(PIPELINE)
    ordinary = repository / "twice" / "1"
    ordinary.mkdir(parents=True)
    (ordinary / "pipeline.ts").write_text(ORDINARY)
    with running_server(repository) as found:
        wait_until_ready(found["grpc"])
        yield found["grpc"]


class Stream:
    """Collects what the callback of a stream is given."""

    def __init__(self, address, **options):
        self.client = triton.InferenceServerClient(address)
        self.got = queue.Queue()
        self.client.start_stream(lambda result, error: self.got.put((result, error)), **options)

    def send(self, values, request_id, model="repeat_int32", **options):
        tensor = triton.InferInput("IN", [len(values)], "INT32")
        tensor.set_data_from_numpy(np.array(values, dtype=np.int32))
        self.client.async_stream_infer(model, [tensor], request_id=request_id, **options)

    def take(self):
        """(id, value, index, is final) of the next answer, or (None, message) of an error."""
        result, error = self.got.get(timeout=20)
        if error is not None:
            return None, error.message()
        response = result.get_response()
        final = response.parameters["triton_final_response"].bool_param
        out = result.as_numpy("OUT")
        return response.id, None if out is None else int(out[0]), None if out is None else int(result.as_numpy("IDX")[0]), final

    def close(self):
        self.client.stop_stream()
        assert self.got.empty()
        self.client.close()


@pytest.fixture
def stream(address):
    opened = Stream(address)
    yield opened
    opened.close()


@pytest.mark.parametrize("values", [[], [7], list(range(50))], ids=["none", "one", "many"])
def test_answers_in_order_with_an_empty_final_response(stream, values):
    stream.send(values, "a", enable_empty_final_response=True)
    taken = [stream.take() for _ in range(len(values) + 1)]
    assert taken[:-1] == [("a", value, index, False) for index, value in enumerate(values)]
    assert taken[-1] == ("a", None, None, True)


def test_without_it_only_answers_are_sent(stream):
    stream.send([4, 5], "a")
    stream.send([], "b")
    stream.send([6], "c", model="twice")
    taken = [stream.take() for _ in range(3)]
    assert [one for one in taken if one[0] == "a"] == [("a", 4, 0, False), ("a", 5, 1, False)]
    assert [one for one in taken if one[0] == "c"] == [("c", 12, 0, True)]


def test_an_error_in_between_ends_its_request_and_not_the_stream(stream):
    stream.send([1, 2, -3, 4], "a")
    assert [stream.take(), stream.take()] == [("a", 1, 0, False), ("a", 2, 1, False)]
    request_id, message = stream.take()
    assert request_id is None and "-3 is negative" in message
    stream.send([9], "b")
    assert stream.take() == ("b", 9, 0, False)


def test_many_requests_at_once_keep_their_own_order(stream):
    for number in range(20):
        stream.send([number, number + 1, number + 2], str(number), enable_empty_final_response=True)
    taken = [stream.take() for _ in range(20 * 4)]
    for number in range(20):
        own = [(value, index, final) for request_id, value, index, final in taken if request_id == str(number)]
        assert own == [(number, 0, False), (number + 1, 1, False), (number + 2, 2, False), (None, None, True)]


def test_a_unary_call_is_refused_in_the_words_of_triton(address):
    with triton.InferenceServerClient(address) as client:
        tensor = triton.InferInput("IN", [1], "INT32")
        tensor.set_data_from_numpy(np.array([1], dtype=np.int32))
        with pytest.raises(InferenceServerException, match="doesn't support models with decoupled transaction policy"):
            client.infer("repeat_int32", [tensor])
        assert client.get_model_config("repeat_int32").config.model_transaction_policy.decoupled
