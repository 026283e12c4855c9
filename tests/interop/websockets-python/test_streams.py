"""Durable streams by the frames that docs/reference/streams.md describes, with nothing but a WebSocket library and JSON."""

import json
import socket

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

JSON = "millrace.v1+json"
LAST = 6


def dial(url, **options):
    return connect(url, subprotocols=[JSON], **options)


def say(stream, **frame):
    stream.send(json.dumps(frame))


def hear(stream):
    """Name and fields of the next frame."""
    ((name, fields),) = json.loads(stream.recv()).items()
    return name, fields


def say_inputs(stream, first, end):
    for sequence in range(first, end + 1):
        tensors = [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 2], "data": [sequence, sequence / 4]}]
        say(stream, input={"sequence": sequence, "tensors": tensors, "end_of_input": sequence == LAST})


def hear_outputs(stream, count):
    outputs = []
    while len(outputs) < count:
        name, fields = hear(stream)
        if name == "output":
            outputs.append(fields)
    return outputs


def hear_rest(stream):
    """The outputs that are left; the last frame is `ended`, and a normal close follows it."""
    outputs = []
    while True:
        name, fields = hear(stream)
        if name == "output":
            outputs.append(fields)
        if name == "ended":
            break
    with pytest.raises(ConnectionClosed):
        stream.recv()
    assert (stream.close_code, stream.close_reason) == (1000, "the stream has ended")
    return outputs, fields


def test_cut_and_resumed(url):
    with dial(url) as stream:
        assert stream.subprotocol == JSON
        say(stream, open={"context": "identity_fp32"})
        say_inputs(stream, 1, LAST)
        undisturbed, ended = hear_rest(stream)
    assert ended == {"outcome": "done", "outputs": LAST}
    assert [output["tensors"][0]["data"] for output in undisturbed] == [[n, n / 4] for n in range(1, LAST + 1)]

    with dial(url) as stream:
        say(stream, open={"context": "identity_fp32"})
        name, opened = hear(stream)
        assert name == "opened"
        say_inputs(stream, 1, 4)
        seen = hear_outputs(stream, 2)
        # Not a close frame: the connection is lost.
        stream.socket.shutdown(socket.SHUT_RDWR)

    with dial(url) as stream:
        resume = {"stream_id": opened["streamId"], "mode": "resume", "resume_after": len(seen)}
        say(stream, open=resume)
        name, again = hear(stream)
        assert (name, again["nextOutput"]) == ("opened", len(seen) + 1)
        say_inputs(stream, again["acceptedInput"] + 1, LAST)
        rest, ended = hear_rest(stream)
    assert seen + rest == undisturbed
    assert ended == {"outcome": "done", "outputs": LAST}

    # What has ended is told again to whoever resumes.
    with dial(url) as stream:
        say(stream, open={**resume, "resume_after": LAST})
        assert hear(stream)[0] == "opened"
        assert hear_rest(stream) == ([], ended)


@pytest.mark.parametrize(
    ("frame", "code", "reason"),
    [
        ({"open": {"context": "nobody"}}, 4007, "unknown-model: "),
        ({"input": {"sequence": 1, "text": "x"}}, 4001, "invalid-request: the first frame must be open"),
        ({"open": {"streamId": "nothing", "mode": "resume"}}, 4025, "stream-not-found: "),
        ({"opn": {}}, 4001, "invalid-request: "),
    ],
)
def test_errors_are_in_the_close_frame(url, frame, code, reason):
    with dial(url) as stream:
        say(stream, **frame)
        with pytest.raises(ConnectionClosed) as closed:
            stream.recv()
    assert closed.value.rcvd.code == code
    assert closed.value.rcvd.reason.startswith(reason)


def test_ping(url):
    with dial(url) as stream:
        assert stream.ping().wait(timeout=30)


def test_foreign_page(url):
    with pytest.raises(InvalidStatus) as refused:
        dial(url, origin="https://evil.example")
    assert refused.value.response.status_code == 403
