"""inference.v1.InferenceService/StreamInfer with the stubs of grpcio: texts that survive cuts and kills, and every refusal."""

import json
import queue
import time
import uuid

import grpc
import pytest
from conftest import channel_to

PROMPT = ["Once upon a time, ", "there was a ", "little girl"]
TOKENS = 40
PARAMETERS = {"max_tokens": TOKENS, "temperature": 1, "seed": 7}


def metadata_of(parameters=PARAMETERS, **more):
    fields = [("millrace-parameters", json.dumps(parameters))]
    return fields + [(key.replace("_", "-"), value) for key, value in more.items()]


class Call:
    """One call on a connection of its own."""

    def __init__(self, address, text, metadata, timeout=None):
        self.pb, grpc_stubs = text
        self.channel = channel_to(address)
        self.messages = queue.Queue()
        stub = grpc_stubs.InferenceServiceStub(self.channel)
        self.responses = stub.StreamInfer(iter(self.messages.get, None), metadata=metadata, timeout=timeout)

    def send(self, **fields):
        self.messages.put(self.pb.InferRequest(**fields))

    def prompt(self, stream_id, sequence=0):
        for index, part in enumerate(PROMPT):
            self.send(stream_id=stream_id, sequence=sequence, input_text=part, end_of_prompt=index == len(PROMPT) - 1)

    def half_close(self):
        self.messages.put(None)

    def cut(self):
        self.channel.close()
        self.messages.put(None)


def content(response):
    return response.sequence, response.token, response.end_of_stream


@pytest.fixture
def call(server, text):
    calls = []

    def open_call(metadata=None, **more):
        calls.append(Call(server.addresses["grpc"], text, metadata_of() if metadata is None else metadata, **more))
        return calls[-1]

    yield open_call
    for one in calls:
        one.cut()


@pytest.fixture(scope="module")
def undisturbed(server, text):
    server.wait_until_ready()
    call = Call(server.addresses["grpc"], text, metadata_of())
    stream = str(uuid.uuid4())
    call.prompt(stream)
    responses = list(call.responses)
    call.cut()
    assert {response.stream_id for response in responses} == {stream}
    assert [response.sequence for response in responses] == list(range(1, len(responses) + 1))
    assert [response.end_of_stream for response in responses] == [False] * (len(responses) - 1) + [True]
    assert len(responses) >= TOKENS and "".join(response.token for response in responses).isprintable()
    return [content(response) for response in responses]


def test_the_text_is_that_of_other_calls(server, undisturbed):
    import urllib.request

    body = json.dumps({"text_input": "".join(PROMPT), **PARAMETERS}).encode()
    url = f"http://{server.addresses['http']}/v2/models/storyteller/generate"
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        whole = json.load(answer)["text_output"]
    assert "".join(token for _, token, _ in undisturbed) == whole


def test_every_response_once_through_a_cut_a_worker_and_a_router(server, call, undisturbed):
    stream = str(uuid.uuid4())
    seen = []
    disturbances = {4: "cut", 10: "worker", 22: "router"}
    while not (seen and seen[-1][2]):
        one = call()
        # The whole prompt again, in parts: it is ignored where the stream has it.
        one.prompt(stream, sequence=len(seen))
        try:
            for response in one.responses:
                seen.append(content(response))
                what = disturbances.pop(len(seen), None)
                if what == "cut":
                    break
                if what == "worker":
                    server.kill_workers()
                if what == "router":
                    server.kill_router()
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE, error
            time.sleep(0.1)
        one.cut()
    assert disturbances == {}
    assert seen == undisturbed


def test_resumed_with_an_empty_text_and_without_metadata(server, call, undisturbed):
    server.wait_until_ready()
    stream = str(uuid.uuid4())
    first = call()
    first.prompt(stream)
    seen = [content(next(first.responses)) for _ in range(5)]
    first.cut()
    second = call([])
    second.send(stream_id=stream, sequence=5)
    second.half_close()
    assert seen + [content(response) for response in second.responses] == undisturbed
    # The end is told to whoever comes after it, too.
    third = call([])
    third.send(stream_id=stream, sequence=len(undisturbed))
    assert [content(response) for response in third.responses] == [(len(undisturbed), "", True)]


def test_a_prompt_is_taken_after_a_reconnect_where_the_stream_has_none(call, undisturbed):
    stream = str(uuid.uuid4())
    first = call()
    first.send(stream_id=stream, input_text="A part that nobody ever completes")
    # The head of the answer comes before anything else.
    assert dict(first.responses.initial_metadata())["millrace-protocol-version"] == "V1"
    first.cut()
    second = call()
    second.prompt(stream)
    assert [content(response) for response in second.responses] == undisturbed


def test_a_deadline_detaches_a_stream_with_an_id(call, undisturbed):
    stream = str(uuid.uuid4())
    first = call(timeout=0.2)
    first.send(stream_id=stream, input_text=PROMPT[0])
    with pytest.raises(grpc.RpcError) as passed:
        next(first.responses)
    assert passed.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    second = call()
    second.prompt(stream)
    assert [content(response) for response in second.responses] == undisturbed


def test_a_call_without_an_id_is_answered_and_cannot_be_resumed(server, call, undisturbed):
    whole = call()
    whole.prompt("")
    responses = list(whole.responses)
    assert [content(response) for response in responses] == undisturbed
    cut = call(metadata_of({**PARAMETERS, "max_tokens": 400, "ignore_eos": True}))
    cut.prompt("")
    name = next(cut.responses).stream_id
    cut.responses.cancel()
    # The loss of the call cancels the stream: whoever comes back is told so.
    for _ in range(100):
        back = call([])
        back.send(stream_id=name, sequence=1)
        with pytest.raises(grpc.RpcError) as ended:
            list(back.responses)
        if ended.value.code() == grpc.StatusCode.CANCELLED:
            break
    assert ended.value.code() == grpc.StatusCode.CANCELLED
    assert "its stream has no id" in ended.value.details()


def test_other_models_give_their_text_or_json(call):
    review = call(metadata_of({}, millrace_context="sentiment:1"))
    review.send(stream_id=str(uuid.uuid4()), input_text="The soup was wonderful.", end_of_prompt=True)
    (response,) = review.responses
    assert (response.sequence, response.end_of_stream) == (1, True)
    answer = json.loads(response.token)
    assert answer["label"] == "positive" and 0.5 < answer["probability"] <= 1


# Its id is another in every test.
ONE = {"stream_id": "{new}", "input_text": "a", "end_of_prompt": True}


@pytest.mark.parametrize(
    ("metadata", "messages", "code", "details"),
    [
        ([("millrace-context", "nobody")], [ONE], "NOT_FOUND", "nobody"),
        ([("millrace-context", "a b")], [ONE], "NOT_FOUND", "a b"),
        ([("millrace-context", "digits_tensors")], [ONE], "INVALID_ARGUMENT", "image (FP32)"),
        ([("millrace-parameters", "{")], [ONE], "INVALID_ARGUMENT", "millrace-parameters must be a JSON object"),
        ([("millrace-parameters", '{"temprature": 1}')], [ONE], "INVALID_ARGUMENT", "did you mean temperature"),
        ([("millrace-protocol-versions", "V2, V3")], [ONE], "UNIMPLEMENTED", "speaks version 'V2, V3' of inference.v1"),
        ([], [], "INVALID_ARGUMENT", "the call has no message"),
        ([], [{**ONE, "stream_id": "not an id"}], "INVALID_ARGUMENT", "the stream id 'not an id'"),
        ([], [{"sequence": 3}], "INVALID_ARGUMENT", "sequence is 3 and stream_id is empty"),
        ([], [{"stream_id": "a-stream-nobody-opened", "sequence": 3}], "NOT_FOUND", "there is no stream"),
        ([], [{"stream_id": "e-1", "end_of_prompt": True}], "INVALID_ARGUMENT", "the prompt is empty"),
        ([], [{"stream_id": "e-2", "input_text": "a"}], "INVALID_ARGUMENT", "set end_of_prompt in the last"),
        ([], [{"stream_id": "e-3", "input_text": "a"}, {"stream_id": "e-4"}], "INVALID_ARGUMENT", "a message names 'e-4'"),
        ([], [{**ONE, "stream_id": "e-5", "input_text": "a" * (2**20 + 1)}], "RESOURCE_EXHAUSTED", "1048576"),
        (
            [("millrace-parameters", '{"ignore_eos": true}')],
            [{**ONE, "stream_id": "e-6"}, {"input_text": "more"}],
            "FAILED_PRECONDITION",
            "follows end_of_prompt",
        ),
    ],
)
def test_refused(server, call, metadata, messages, code, details):
    server.wait_until_ready()
    one = call(metadata)
    new = str(uuid.uuid4())
    for message in messages:
        one.send(**{**message, "stream_id": message.get("stream_id", "").replace("{new}", new)})
    one.half_close()
    with pytest.raises(grpc.RpcError) as refused:
        list(one.responses)
    assert (refused.value.code().name, details in refused.value.details()) == (code, True), refused.value


def test_other_parameters_or_another_context_for_a_stream_that_exists_are_refused(call):
    stream = str(uuid.uuid4())
    first = call()
    first.prompt(stream)
    next(first.responses)
    for metadata, details in [
        (metadata_of({"seed": 8}), "opened with other parameters"),
        (metadata_of(millrace_context="sentiment"), "opened with context storyteller, not sentiment"),
    ]:
        other = call(metadata)
        other.prompt(stream)
        with pytest.raises(grpc.RpcError) as refused:
            list(other.responses)
        assert (refused.value.code().name, details in refused.value.details()) == ("ALREADY_EXISTS", True), refused.value


def test_who_resumes_last_has_the_stream_and_who_asks_for_the_future_is_refused(call, undisturbed):
    stream = str(uuid.uuid4())
    first = call(metadata_of({**PARAMETERS, "max_tokens": 400, "ignore_eos": True}))
    first.prompt(stream)
    next(first.responses)
    second = call([])
    second.send(stream_id=stream, sequence=1)
    assert next(second.responses).sequence == 2
    with pytest.raises(grpc.RpcError) as superseded:
        list(first.responses)
    assert superseded.value.code() == grpc.StatusCode.ABORTED
    third = call([])
    third.send(stream_id=stream, sequence=2**32 - 1)
    with pytest.raises(grpc.RpcError) as refused:
        list(third.responses)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT and "resume after one of them" in refused.value.details()


def test_an_unserved_default_context_is_explained(bare_server, text):
    one = Call(bare_server["grpc"], text, [])
    one.prompt(str(uuid.uuid4()))
    with pytest.raises(grpc.RpcError) as refused:
        list(one.responses)
    one.cut()
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND
    assert "the default context 'storyteller' (streams.defaultContext) is not served" in refused.value.details()
