"""Durable streams with Triton's own client, unmodified: request parameters open and resume them."""

import queue
import re
import time
import uuid

import numpy as np
import pytest
import tritonclient.grpc as triton
from server import ROOT, killable_server
from tritonclient.utils import InferenceServerException

LAST = 30
MODEL = "listener_tensors"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    (repository / MODEL).symlink_to(ROOT / "models" / MODEL)
    with killable_server(repository) as running:
        yield running


def audio(sequence):
    """Twenty milliseconds of a tone, another for each input; the model keeps state from one to the next."""
    tensor = triton.InferInput("audio", [1, 320], "FP32")
    tensor.set_data_from_numpy(np.sin(np.arange(320, dtype=np.float32) * sequence / 25).reshape(1, 320))
    return [tensor]


class Call:
    """One call of ModelStreamInfer on a connection of its own."""

    def __init__(self, server):
        # A channel of its own: a lost connection must not be found again in a pool.
        options = [("grpc.use_local_subchannel_pool", 1)]
        self.client = triton.InferenceServerClient(server.addresses["grpc"], channel_args=options)
        self.got = queue.Queue()
        self.client.start_stream(lambda result, error: self.got.put((result, error)))

    def send(self, stream, sequence, last=LAST, **parameters):
        parameters = {"stream_id": stream, "stream_sequence": sequence, "stream_end": sequence == last, **parameters}
        self.client.async_stream_infer(MODEL, audio(sequence), request_id=f"r{sequence}", parameters=parameters)

    def resume(self, stream, **parameters):
        """Sends no input."""
        self.client.async_stream_infer(MODEL, [], request_id="resume", parameters={"stream_id": stream, **parameters})

    def take(self):
        """The next response; raises what the server or the connection failed with."""
        result, error = self.got.get(timeout=60)
        if error is not None:
            raise error
        return result.get_response()

    def cut(self):
        self.client.stop_stream(cancel_requests=True)
        self.client.close()

    def end(self):
        """Half-closes, and waits until the server has ended the call."""
        self.client.stop_stream()
        self.client.close()


def number(response, key):
    return response.parameters[key].int64_param


def is_output(response):
    return "stream_output" in response.parameters


def is_end(response):
    return "stream_outcome" in response.parameters


def content(response):
    """What must be the same whenever an output is sent; the id is the request's, which only the call that sent it knows."""
    tensors = [(output.name, tuple(output.shape)) for output in response.outputs]
    return number(response, "stream_output"), number(response, "stream_sequence"), tensors, list(response.raw_output_contents)


def undisturbed(server):
    server.wait_until_ready()
    call = Call(server)
    stream = str(uuid.uuid4())
    for sequence in range(1, LAST + 1):
        call.send(stream, sequence)
    responses = [call.take() for _ in range(LAST)]
    assert [response.id for response in responses] == [f"r{sequence}" for sequence in range(1, LAST + 1)]
    assert all(response.parameters["triton_final_response"].bool_param for response in responses)
    assert all(response.parameters["stream_id"].string_param == stream for response in responses)
    end = call.take()
    assert (end.parameters["stream_outcome"].string_param, number(end, "stream_outputs")) == ("done", LAST)
    call.end()
    assert call.got.empty()
    return [content(response) for response in responses]


def test_every_output_once_through_a_cut_a_worker_and_a_router(server):
    expected = undisturbed(server)
    stream = str(uuid.uuid4())
    seen = []
    disturbances = {5: "cut", 12: "worker", 20: "router"}
    is_done = False
    while not is_done:
        call = Call(server)
        try:
            # All that is not answered is sent again; the server ignores what it has.
            for sequence in range(len(seen) + 1, LAST + 1):
                call.send(stream, sequence, stream_resume_after=len(seen))
            while not is_done:
                response = call.take()
                if is_end(response):
                    is_done = True
                    continue
                seen.append(content(response))
                what = disturbances.pop(len(seen), None)
                if what == "cut":
                    break
                if what == "worker":
                    server.kill_workers()
                if what == "router":
                    server.kill_router()
        except InferenceServerException as error:
            assert "UNAVAILABLE" in str(error.status()), error
            time.sleep(0.1)
        finally:
            call.cut()
    assert disturbances == {}
    assert seen == expected


def test_resumed_without_an_input(server):
    expected = undisturbed(server)
    stream = str(uuid.uuid4())
    first = Call(server)
    for sequence in range(1, LAST + 1):
        first.send(stream, sequence)
    assert content(first.take()) == expected[0]
    first.cut()
    second = Call(server)
    second.resume(stream, stream_resume_after=1)
    attached = second.take()
    assert attached.id == "resume" and not attached.outputs
    # What was not durable when the call was cut is sent again.
    for sequence in range(number(attached, "stream_accepted") + 1, LAST + 1):
        second.send(stream, sequence)
    assert [content(second.take()) for _ in range(LAST - 1)] == expected[1:]
    assert is_end(second.take())
    second.end()


def test_the_end_of_a_call_waits_for_the_answers_and_leaves_the_stream_open(server):
    expected = undisturbed(server)
    stream = str(uuid.uuid4())
    first = Call(server)
    for sequence in range(1, 11):
        first.send(stream, sequence)
    first.end()
    assert [content(first.take()) for _ in range(10)] == expected[:10]
    assert first.got.empty()
    second = Call(server)
    for sequence in range(11, LAST + 1):
        second.send(stream, sequence, stream_resume_after=10)
    second.end()
    assert [content(second.take()) for _ in range(LAST - 10)] == expected[10:]
    assert is_end(second.take())


def test_more_inputs_than_the_credit_and_several_streams_on_one_call(server):
    server.wait_until_ready()
    call = Call(server)
    streams = [str(uuid.uuid4()) for _ in range(3)]
    many = 300
    for sequence in range(1, many + 1):
        for stream in streams:
            call.send(stream, sequence, last=many)
    call.end()
    outputs = {stream: [] for stream in streams}
    ends = []
    while not call.got.empty():
        response = call.take()
        stream = response.parameters["stream_id"].string_param
        if is_output(response):
            outputs[stream].append(number(response, "stream_output"))
        else:
            ends.append((stream, response.parameters["stream_outcome"].string_param))
    assert all(numbers == list(range(1, many + 1)) for numbers in outputs.values())
    assert sorted(ends) == sorted((stream, "done") for stream in streams)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda call: call.resume("a-stream-nobody-opened"), "stream-not-found: "),
        (lambda call: call.resume("not an id"), "invalid-request: the stream id"),
        (lambda call: call.client.async_stream_infer("nobody", audio(1), parameters={"stream_id": "of-an-unknown-model"}), "unknown-model: "),
    ],
    ids=["not there", "no id", "unknown model"],
)
def test_errors_name_their_code_and_the_call_goes_on(server, ask, message):
    server.wait_until_ready()
    call = Call(server)
    ask(call)
    with pytest.raises(InferenceServerException) as refused:
        call.take()
    assert refused.value.message().startswith(message)
    stream = str(uuid.uuid4())
    call.send(stream, 1, last=1)
    assert number(call.take(), "stream_output") == 1
    assert is_end(call.take())
    call.end()


def test_the_example_of_the_reference(server, capsys):
    server.wait_until_ready()
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "reference" / "streams.md").read_text(), re.DOTALL)
    exec(code.replace("localhost:8001", server.addresses["grpc"]), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0].isdigit()] == [str(n) for n in range(1, 11)]
