"""realtime.inference.InferenceService with the stubs of grpcio: every content type, versions, streams that survive kills, refusals."""

import json
import queue
import time
import uuid

import grpc
import pytest
from conftest import ROOT, channel_to
from grpc_status import rpc_status

PICTURE = (ROOT / "tests" / "interop" / "tritonclient" / "three.jpg").read_bytes()
REVIEW = b"The soup was wonderful."


class Client:
    def __init__(self, address, realtime):
        self.pb, stubs = realtime
        self.channel = channel_to(address)
        self.stub = stubs.InferenceServiceStub(self.channel)

    def request(self, context="", payload=b"", version="V2", end=False, **metadata):
        fields = {key.replace("_", "-"): str(value) for key, value in metadata.items()}
        return self.pb.InferenceRequest(
            version=self.pb.ProtocolVersion.Value(version) if isinstance(version, str) else version,
            context_id=context,
            payload=payload,
            metadata=fields,
            end_of_stream=end,
        )

    def predict(self, *args, call_metadata=(), timeout=None, **more):
        response = self.stub.Predict(self.request(*args, **more), metadata=call_metadata, timeout=timeout)
        assert response.error_message == "" and response.latency_ms >= 0
        return json.loads(response.result_json)

    def stream(self, call_metadata=(), timeout=None):
        messages = queue.Queue()
        call = self.stub.PredictStream(iter(messages.get, None), metadata=call_metadata, timeout=timeout)
        return messages, call

    def close(self):
        self.channel.close()


@pytest.fixture
def client(server, realtime):
    server.wait_until_ready()
    made = Client(server.addresses["grpc"], realtime)
    yield made
    made.close()


def golden(model, name):
    return json.loads((ROOT / "models" / model / "golden" / name).read_text())


class TestContentTypes:
    def test_text(self, client):
        answer = client.predict("sentiment:1", REVIEW, content_type="text/plain; charset=utf-8")
        assert answer["label"] == "positive" and answer["millrace"] == {"model": "sentiment", "version": "1"}

    def test_image(self, client):
        answer = client.predict("digits", PICTURE, content_type="image/jpeg")
        assert (answer["label"], answer["digit"]) == ("three", 3)

    def test_audio(self, client):
        silence = bytes(16000 * 2)
        head = b"RIFF" + (36 + len(silence)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
        head += (1).to_bytes(2, "little") + (1).to_bytes(2, "little") + (16000).to_bytes(4, "little")
        head += (32000).to_bytes(4, "little") + (2).to_bytes(2, "little") + (16).to_bytes(2, "little")
        head += b"data" + len(silence).to_bytes(4, "little")
        assert client.predict("listener", head + silence, content_type="audio/wav")["word"] == []

    def test_json(self, client):
        answer = client.predict("sentiment", json.dumps({"text": ["Awful.", "Great!"]}).encode(), content_type="application/json")
        assert answer["label"] == ["negative", "positive"] and len(answer["probability"]) == 2

    def test_json_with_a_file(self, client):
        import base64

        image = {"image": {"b64": base64.b64encode(PICTURE).decode()}}
        assert client.predict("digits", json.dumps(image).encode(), content_type="application/json")["digit"] == 3

    def test_raw_rows_are_the_default_and_labels_name_the_probabilities(self, client):
        import struct

        example = golden("digits_tensors", "digit-1.json")
        pixels = example["inputs"][0]["data"]
        flat = [value for value in flatten(pixels)]
        answer = client.predict("digits_tensors", struct.pack(f"<{len(flat)}f", *flat))
        expected = list(flatten(example["outputs"][0]["data"]))
        assert list(answer["probabilities"])[:2] == ["zero", "one"]
        assert list(answer["probabilities"].values()) == pytest.approx(expected, abs=example["tolerance"])
        both = client.predict("digits_tensors", struct.pack(f"<{2 * len(flat)}f", *flat, *flat))
        assert both["probabilities"] == [answer["probabilities"]] * 2

    def test_token_ids_of_32_bits_are_widened(self, client):
        import struct

        ids = [int(value) for value in flatten(golden("sentiment_tensors", "version-1-0.json")["inputs"][0]["data"])]
        as_json = client.predict("sentiment_tensors:1", json.dumps({"input_ids": ids}).encode(), content_type="application/json")
        narrow = client.predict("sentiment_tensors:1", struct.pack(f"<{len(ids)}I", *ids))
        wide = client.predict("sentiment_tensors:1", struct.pack(f"<{len(ids)}q", *ids), content_type="application/octet-stream;datatype=INT64")
        assert narrow == wide == as_json and len(narrow["probabilities"]) == 3

    def test_a_generator_gives_the_whole_text(self, client):
        answer = client.predict("", b"Once upon a time", content_type="text/plain", parameters=json.dumps({"max_tokens": 8, "seed": 1}))
        assert answer["output_tokens"] == 8 and answer["finish_reason"] == "length" and len(answer["token"]) == 8
        named = [("millrace-context", "storyteller"), ("millrace-parameters", json.dumps({"max_tokens": 8, "seed": 1}))]
        assert client.predict("", b"Once upon a time", content_type="text/plain", call_metadata=named) == answer


def flatten(data):
    for one in data:
        if isinstance(one, list):
            yield from flatten(one)
        else:
            yield one


class TestVersions:
    def call(self, client, version, *listed):
        metadata = [("millrace-protocol-versions", name) for name in listed]
        request = client.request("sentiment", REVIEW, version=version, content_type="text/plain", request_id="r")
        response, call = client.stub.Predict.with_call(request, metadata=metadata)
        told = dict(call.initial_metadata())
        assert client.pb.ProtocolVersion.Name(response.version) == told["millrace-protocol-version"]
        assert response.request_id == "r"
        assert ("millrace" in json.loads(response.result_json)) == (told["millrace-protocol-version"] == "V2")
        return told

    def test_a_declared_version_is_spoken_and_a_deprecated_one_draws_a_notice(self, client):
        assert "millrace-deprecation" not in self.call(client, "V2")
        assert self.call(client, "V1")["millrace-deprecation"].startswith("V1 is deprecated")

    def test_the_highest_of_a_list_is_chosen(self, client):
        assert self.call(client, "V1", "V1, V2, V3")["millrace-protocol-version"] == "V2"
        assert self.call(client, "V2", "V1")["millrace-protocol-version"] == "V1"
        # A version of the future falls back to what both speak, where the client says that it speaks more.
        assert self.call(client, 7, "V8", "V2")["millrace-protocol-version"] == "V2"

    @pytest.mark.parametrize(("version", "listed"), [(7, []), ("V1", ["V3, V4"])])
    def test_otherwise_it_is_refused_by_name(self, client, version, listed):
        with pytest.raises(grpc.RpcError) as refused:
            self.call(client, version, *listed)
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert "and this server V1, V2" in refused.value.details()
        messages, call = client.stream([("millrace-protocol-versions", name) for name in listed])
        messages.put(client.request("sentiment", REVIEW, version=version))
        assert "and this server V1, V2" in next(call).error_message
        with pytest.raises(grpc.RpcError) as refused:
            next(call)
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


AUDIO = [bytes(1280), bytes([1, 2, 3, 60]) * 320] * 15


def inputs_of(client, stream, first, after, **more):
    """Numbered inputs of the listener from this one on; the model keeps state from one to the next."""
    for number in range(first, len(AUDIO) + 1):
        yield client.request(
            "listener_tensors" if number == first and after == 0 else "",
            AUDIO[number - 1],
            end=number == len(AUDIO),
            stream_id=stream,
            sequence=after,
            input_sequence=number,
            request_id=f"r{number}",
            **more,
        )


def content(response):
    result = json.loads(response.result_json)
    result["millrace"].pop("stream_id")
    return result


class TestStreams:
    @pytest.fixture
    def undisturbed(self, client):
        stream = str(uuid.uuid4())
        messages, call = client.stream()
        for request in inputs_of(client, stream, 1, 0):
            messages.put(request)
        responses = list(call)
        assert dict(call.initial_metadata())["millrace-stream-id"] == stream
        assert dict(call.trailing_metadata())["millrace-stream-outcome"] == "done"
        assert [response.request_id for response in responses] == [f"r{n}" for n in range(1, len(AUDIO) + 1)]
        contents = [content(response) for response in responses]
        assert [one["millrace"]["sequence"] for one in contents] == list(range(1, len(AUDIO) + 1))
        assert len(contents[0]["probabilities"]) == 13 and "audio_state_out" not in contents[0]
        assert contents[1]["commands"] != contents[3]["commands"]
        return contents

    def test_every_answer_once_through_a_cut_a_worker_and_a_router(self, server, realtime, undisturbed):
        stream = str(uuid.uuid4())
        seen = []
        disturbances = {5: "cut", 12: "worker", 20: "router"}
        is_done = False
        while not is_done:
            client = Client(server.addresses["grpc"], realtime)
            messages, call = client.stream()
            for request in inputs_of(client, stream, len(seen) + 1, len(seen)):
                messages.put(request)
            try:
                for response in call:
                    if response.error_message:
                        continue
                    seen.append(content(response))
                    what = disturbances.pop(len(seen), None)
                    if what == "cut":
                        break
                    if what == "worker":
                        server.kill_workers()
                    if what == "router":
                        server.kill_router()
                else:
                    is_done = True
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                time.sleep(0.1)
            messages.put(None)
            client.close()
        assert disturbances == {}
        assert seen == undisturbed

    def test_a_text_goes_on_where_its_link_was_cut(self, client):
        parameters = json.dumps({"max_tokens": 24, "temperature": 1, "seed": 3})
        whole = client.predict("", b"Once upon a time", content_type="text/plain", parameters=parameters)
        stream = str(uuid.uuid4())
        messages, call = client.stream()
        messages.put(client.request("", b"Once upon a time", content_type="text/plain", end=True, stream_id=stream, parameters=parameters))
        seen = [json.loads(next(call).result_json) for _ in range(6)]
        call.cancel()
        back, again = client.stream()
        back.put(client.request(stream_id=stream, sequence=6))
        back.put(None)
        seen += [json.loads(response.result_json) for response in again]
        assert [one["millrace"]["sequence"] for one in seen] == list(range(1, len(seen) + 1))
        assert "".join(one.get("text_output", "") for one in seen) == whole["text_output"]
        assert [one["token"] for one in seen if "token" in one] == whole["token"]

    def test_the_end_of_a_call_leaves_a_stream_with_an_id_open(self, client, undisturbed):
        stream = str(uuid.uuid4())
        requests = list(inputs_of(client, stream, 1, 0))
        messages, call = client.stream()
        for request in requests[:10]:
            messages.put(request)
        messages.put(None)
        first = [content(response) for response in call]
        assert first == undisturbed[:10] and "millrace-stream-outcome" not in dict(call.trailing_metadata())
        messages, call = client.stream()
        messages.put(client.request(stream_id=stream, sequence=10))
        assert dict(call.initial_metadata())["millrace-accepted-input"] == "10"
        for request in list(inputs_of(client, stream, 1, 10)):
            messages.put(request)
        assert first + [content(response) for response in call] == undisturbed

    def test_without_an_id_the_call_is_the_stream(self, client, undisturbed):
        messages, call = client.stream()
        for number, audio in enumerate(AUDIO):
            messages.put(client.request("listener_tensors" if number == 0 else "", audio))
        messages.put(None)
        assert [content(response) for response in call] == undisturbed
        assert dict(call.trailing_metadata())["millrace-stream-outcome"] == "done"


@pytest.mark.parametrize(
    ("request_fields", "code", "message"),
    [
        ({"context": "nobody", "payload": b"a"}, "NOT_FOUND", "nobody"),
        ({"context": "sentiment"}, "INVALID_ARGUMENT", "the payload is empty"),
        ({"context": "sentiment", "payload": b"a", "stream_id": "s"}, "INVALID_ARGUMENT", "call PredictStream"),
        ({"context": "sentiment", "payload": b"a", "content_type": "application/xml"}, "UNIMPLEMENTED", "it must be application/json"),
        ({"context": "sentiment", "payload": b"\xff", "content_type": "text/plain"}, "INVALID_ARGUMENT", "not UTF-8"),
        ({"context": "digits_tensors", "payload": b"abc"}, "INVALID_ARGUMENT", "3 bytes of FP32 do not fill"),
        ({"context": "digits_tensors", "payload": PICTURE, "content_type": "image/jpeg"}, "INVALID_ARGUMENT", "call a pipeline that decodes"),
        ({"context": "digits_tensors", "payload": b"a", "content_type": "text/plain"}, "INVALID_ARGUMENT", "image (FP32)"),
        ({"context": "sentiment", "payload": b'{"txt": "a"}', "content_type": "application/json"}, "INVALID_ARGUMENT", "did you mean text?"),
        ({"context": "sentiment", "payload": b"{", "content_type": "application/json"}, "INVALID_ARGUMENT", "cannot be read"),
        ({"context": "sentiment", "payload": b" ", "content_type": "text/plain"}, "INVALID_ARGUMENT", "is empty; send a review"),
        ({"context": "sentiment", "payload": b"a", "parameters": "[]"}, "INVALID_ARGUMENT", "must be a JSON object"),
        ({"context": "sentiment", "payload": b"a", "timeout_ms": "soon"}, "INVALID_ARGUMENT", "timeout-ms"),
    ],
)
def test_an_error_is_both_the_status_and_a_text(client, request_fields, code, message):
    with pytest.raises(grpc.RpcError) as refused:
        client.predict(**request_fields, request_id="mine")
    assert (refused.value.code().name, message in refused.value.details()) == (code, True), refused.value
    response = client.pb.InferenceResponse()
    (detail,) = [one for one in rpc_status.from_call(refused.value).details if one.Is(response.DESCRIPTOR)]
    assert detail.Unpack(response)
    assert (response.error_message, response.request_id) == (refused.value.details(), "mine")


@pytest.mark.parametrize(
    ("requests", "code", "message"),
    [
        ([], "INVALID_ARGUMENT", "the call has no message"),
        ([{"context": "nobody", "payload": b"a"}], "NOT_FOUND", "nobody"),
        ([{"stream_id": "a-stream-nobody-opened", "sequence": 3}], "NOT_FOUND", "there is no stream"),
        ([{"sequence": 3}], "INVALID_ARGUMENT", 'without metadata["stream-id"]'),
        ([{"context": "sentiment", "payload": b" ", "content_type": "text/plain"}], "INVALID_ARGUMENT", "is empty; send a review"),
        ([{"context": "sentiment", "payload": b"a", "content_type": "text/plain"}, {"context": "digits", "payload": b"a"}], "INVALID_ARGUMENT", "not 'digits'"),
        ([{"context": "listener_tensors", "payload": b"abc"}], "INVALID_ARGUMENT", "3 bytes of FP32 do not fill"),
    ],
)
def test_an_error_of_a_stream_is_a_response_and_the_status(client, requests, code, message):
    messages, call = client.stream()
    for fields in requests:
        messages.put(client.request(**fields))
    messages.put(None)
    responses = []
    with pytest.raises(grpc.RpcError) as refused:
        for response in call:
            responses.append(response)
    assert (refused.value.code().name, message in refused.value.details()) == (code, True), refused.value
    assert responses[-1].error_message == refused.value.details()


def test_deadlines(client):
    with pytest.raises(grpc.RpcError) as passed:
        client.predict("", b"Once", content_type="text/plain", parameters='{"max_tokens": 400, "ignore_eos": true}', timeout_ms=1)
    assert passed.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    messages, call = client.stream(timeout=0.2)
    stream = str(uuid.uuid4())
    messages.put(client.request("listener_tensors", AUDIO[0], stream_id=stream, input_sequence=1))
    assert content(next(call))["millrace"]["sequence"] == 1
    with pytest.raises(grpc.RpcError) as passed:
        next(call)
    assert passed.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    # The stream has an id, so it is still there.
    messages, call = client.stream()
    messages.put(client.request("", b"", stream_id=stream, sequence=1, input_sequence=2, end=True))
    assert [response.error_message for response in call] == []


def test_reflection_lists_both_contracts_with_their_fields(server, stubs):
    from google.protobuf.descriptor_pool import DescriptorPool
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

    with channel_to(server.addresses["grpc"]) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert {"inference.v1.InferenceService", "realtime.inference.InferenceService"} <= set(database.get_services())
        pool = DescriptorPool(database)
        for stub in (stubs[0], stubs[2]):
            for name, message in stub.DESCRIPTOR.message_types_by_name.items():
                found = pool.FindMessageTypeByName(message.full_name)
                assert [(f.name, f.number, f.type) for f in found.fields] == [(f.name, f.number, f.type) for f in message.fields]
