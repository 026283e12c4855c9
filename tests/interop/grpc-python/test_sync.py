"""The C core's Python stubs, blocking: all four kinds, and everything around a call."""

import threading

import grpc
import pytest


@pytest.fixture(scope="module")
def echo(address, stubs):
    messages, services = stubs
    with grpc.insecure_channel(address) as channel:
        yield Echo(messages, services.EchoStub(channel), channel)


class Echo:
    def __init__(self, messages, stub, channel):
        self.note = lambda text: messages.Note(text=text)
        self.stub = stub
        self.channel = channel

    def unary(self, text, **options):
        return self.stub.Unary(self.note(text), **options).text


def test_unary(echo):
    assert echo.unary("grüße 日本") == "grüße 日本"
    assert echo.unary("") == ""


def test_many_at_once(echo):
    calls = [echo.stub.Unary.future(echo.note(str(number))) for number in range(500)]
    assert [call.result().text for call in calls] == [str(number) for number in range(500)]


def test_server_streaming(echo):
    assert [note.text for note in echo.stub.Split(echo.note("a b c"))] == ["a", "b", "c"]


def test_server_streaming_of_many_messages(echo):
    texts = [note.text for note in echo.stub.Split(echo.note("count 20000"))]
    assert texts == [str(number) for number in range(20000)]


def test_client_streaming(echo):
    assert echo.stub.Join(echo.note(text) for text in ["a", "b", "c"]).text == "a b c"
    assert echo.stub.Join(iter(())).text == ""


def test_bidirectional_in_lockstep(echo):
    heard = threading.Semaphore(1)

    def notes():
        for text in ["one", "two", "three"]:
            heard.acquire()
            yield echo.note(text)

    answers = []
    for note in echo.stub.Chat(notes()):
        answers.append(note.text)
        heard.release()
    assert answers == ["one", "two", "three"]


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status(echo, code):
    with pytest.raises(grpc.RpcError) as caught:
        echo.unary(f"fail {code.value[0]} because 100% ü")
    assert caught.value.code() == code
    assert caught.value.details() == "because 100% ü"
    trailers = dict(caught.value.trailing_metadata())
    assert b"type.googleapis.com/google.protobuf.StringValue" in trailers["grpc-status-details-bin"]


def test_a_stream_that_fails_later(echo):
    call = echo.stub.Split(echo.note("a b fail"))
    texts = []
    with pytest.raises(grpc.RpcError) as caught:
        for note in call:
            texts.append(note.text)
    assert texts == ["a", "b"]
    assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE


def test_a_bidirectional_call_that_fails(echo):
    with pytest.raises(grpc.RpcError) as caught:
        list(echo.stub.Chat(iter([echo.note("a"), echo.note("fail")])))
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION


def test_metadata(echo):
    metadata = (("x-text", "one"), ("x-text", "two"), ("x-bytes-bin", bytes(range(256))))
    response, call = echo.stub.Unary.with_call(echo.note("metadata"), metadata=metadata)
    assert response.text == "metadata"
    assert [value for key, value in call.initial_metadata() if key == "x-text"] == ["one", "two"]
    assert dict(call.trailing_metadata())["x-bytes-bin"] == bytes(range(256))


def test_a_deadline_reaches_the_handler(echo):
    # The C core rounds time limits up.
    assert 4000 < float(echo.unary("timeout?", timeout=5)) < 5200
    before = int(echo.unary("cancelled?"))
    with pytest.raises(grpc.RpcError) as caught:
        echo.unary("hang", timeout=0.2)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_for(lambda: int(echo.unary("cancelled?")) > before)


def test_a_cancellation_reaches_the_handler(echo):
    before = int(echo.unary("cancelled?"))
    call = echo.stub.Split(echo.note("hang"))
    assert next(call).text == "hanging"
    call.cancel()
    wait_for(lambda: int(echo.unary("cancelled?")) > before)


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate, grpc.Compression.NoCompression])
def test_compression(echo, compression):
    text = "words " * 20000
    assert echo.unary(text, compression=compression) == text


def test_large_messages(echo):
    text = "x" * (3 * 1024 * 1024)
    assert echo.unary(text) == text


def test_messages_above_the_limit(echo):
    with pytest.raises(grpc.RpcError) as caught:
        echo.unary("x" * (9 * 1024 * 1024))
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_unknown_methods_and_services(echo):
    for path in ["/millrace.test.v1.Echo/Nothing", "/no.such.Service/Unary"]:
        with pytest.raises(grpc.RpcError) as caught:
            echo.channel.unary_unary(path)(b"")
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def wait_for(condition):
    event = threading.Event()
    for _ in range(500):
        if condition():
            return
        event.wait(0.01)
    raise AssertionError("it did not happen within five seconds")
