"""Durable streams by the stubs that protoc makes of proto/millrace/v1, following docs/reference/stream-clients.md."""

import queue
import shutil
import struct
import sys
import time
import uuid
from pathlib import Path

import grpc
import pytest
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "interop" / "tritonclient"))

from server import killable_server  # noqa: E402

LAST = 40
CREDIT = {"messages": 8, "bytes": 1 << 20}

COUNTER = """
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { count: { datatype: 'INT32', shape: [1] } },
  outputs: { number: { datatype: 'INT32', shape: [1] } },
  async *run({ inputs }) {
    for (let given = 0; given < inputs.count.data[0]!; given++) yield { number: { data: Int32Array.of(given) } };
  },
});
"""
COUNTER_CONFIG = """
name: "counter"
model_transaction_policy { decoupled: true }
parameters { key: "millrace.resumable" value { string_value: "true" } }
"""


@pytest.fixture(scope="session")
def pb(tmp_path_factory):
    """The messages and stubs, made by protoc."""
    folder = tmp_path_factory.mktemp("stubs")
    known = Path(protoc.__file__).parent / "_proto"
    command = ["protoc", f"-I{ROOT / 'proto'}", f"-I{known}", f"--python_out={folder}", f"--grpc_python_out={folder}"]
    assert protoc.main([*command, "millrace/v1/inference.proto"]) == 0
    sys.path.insert(0, str(folder))
    from millrace.v1 import inference_pb2, inference_pb2_grpc

    inference_pb2.Stub = inference_pb2_grpc.InferenceServiceStub
    return inference_pb2


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    shutil.copytree(ROOT / "models" / "listener_tensors", repository / "listener_tensors")
    (repository / "counter" / "1").mkdir(parents=True)
    (repository / "counter" / "1" / "pipeline.ts").write_text(COUNTER)
    (repository / "counter" / "config.pbtxt").write_text(COUNTER_CONFIG)
    with killable_server(repository) as running:
        yield running


def audio(sequence):
    """Twenty milliseconds of a tone, another for each input; the model keeps state from one to the next."""
    return struct.pack("<320f", *(((at * sequence) % 50) / 50 for at in range(320)))


class Client:
    """One client of one stream: what it has to remember from one connection to the next, and no more."""

    def __init__(self, pb, server, context):
        self.pb = pb
        self.server = server
        self.stream_id = str(uuid.uuid4())
        self.context = context
        self.last_output = 0
        self.outputs = []
        self.ended = None
        self.kept = {}
        self.next_input = 1

    def open(self, **fields):
        return self.pb.Open(stream_id=self.stream_id, context=self.context, resume_after=self.last_output, **fields)

    def input(self, sequence):
        tensor = self.pb.Tensor(name="audio", datatype="FP32", shape=[1, 320], raw=audio(sequence))
        return self.pb.Input(sequence=sequence, tensors=[tensor], end_of_input=sequence == LAST)

    def connected(self, disturb=None):
        """One connection of `Stream`, to its end. `disturb(self)` is called after every output; True: the client cuts it."""
        frames = queue.SimpleQueue()
        frames.put(self.pb.ClientFrame(open=self.open(output_credit=self.pb.Credit(**CREDIT))))
        with grpc.insecure_channel(self.server.addresses["grpc"]) as channel:
            call = self.pb.Stub(channel).Stream(iter(frames.get, None))
            try:
                for frame in call:
                    kind = frame.WhichOneof("frame")
                    if kind == "opened":
                        self._accepted(frames, frame.opened.accepted_input, frame.opened.input_credit)
                        for sequence in sorted(self.kept):
                            frames.put(self.kept[sequence])
                        self._send(frames)
                    elif kind == "accepted":
                        credit = frame.accepted.input_credit if frame.accepted.HasField("input_credit") else None
                        self._accepted(frames, frame.accepted.input, credit)
                        self._send(frames)
                    elif kind == "output":
                        self.take(frame.output)
                        acknowledge = self.pb.Acknowledge(output=self.last_output, output_credit=self.pb.Credit(**CREDIT))
                        frames.put(self.pb.ClientFrame(acknowledge=acknowledge))
                        if disturb is not None and disturb(self):
                            call.cancel()
                    elif kind == "ended":
                        self.ended = frame.ended
            finally:
                frames.put(None)

    def take(self, output):
        if output.sequence <= self.last_output:
            return
        assert output.sequence == self.last_output + 1
        self.last_output = output.sequence
        self.outputs.append(output.SerializeToString(deterministic=True))

    def _accepted(self, frames, sequence, credit):
        for one in [one for one in self.kept if one <= sequence]:
            del self.kept[one]
        self.next_input = max(self.next_input, sequence + 1)
        if credit is not None:
            self.may_send_up_to = sequence + credit.messages

    def _send(self, frames):
        while self.next_input <= min(LAST, self.may_send_up_to):
            frame = self.pb.ClientFrame(input=self.input(self.next_input))
            self.kept[self.next_input] = frame
            frames.put(frame)
            self.next_input += 1

    def until_ended(self, disturb=None, connect=None):
        """Connects until the stream has ended; the errors that ended connections."""
        codes = []
        backoff = 0.1
        while self.ended is None:
            before = self.last_output
            try:
                (connect or self.connected)(disturb)
            except grpc.RpcError as error:
                codes.append(error.code())
                assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED), error
            if self.ended is None:
                backoff = 0.1 if self.last_output > before else min(2 * backoff, 5)
                time.sleep(backoff)
        return codes


def once_at(*steps):
    """A disturbance after certain outputs: each happens once."""
    left = dict(steps)

    def disturb(client):
        action = left.pop(client.last_output, None)
        return action is not None and action(client) is True

    return disturb


def undisturbed(pb, server):
    server.wait_until_ready()
    client = Client(pb, server, "listener_tensors")
    assert client.until_ended() == []
    assert (client.ended.outcome, client.ended.outputs, len(client.outputs)) == ("done", LAST, LAST)
    return client.outputs


def test_stream_survives_cuts_a_worker_and_a_router(pb, server):
    expected = undisturbed(pb, server)
    client = Client(pb, server, "listener_tensors")
    codes = client.until_ended(
        once_at(
            (5, lambda _: True),
            (12, lambda one: one.server.kill_workers()),
            (20, lambda one: one.server.kill_router()),
            (30, lambda _: True),
        )
    )
    assert (client.ended.outcome, client.ended.outputs) == ("done", LAST)
    assert client.outputs == expected
    assert grpc.StatusCode.UNAVAILABLE in codes


def test_generate_resumes_after_the_last_output_seen(pb, server):
    count = 300

    def generate(client):
        def connect(disturb):
            tensor = pb.Tensor(name="count", datatype="INT32", shape=[1], raw=struct.pack("<i", count))
            request = pb.GenerateRequest(open=client.open(), input=pb.Input(tensors=[tensor]))
            with grpc.insecure_channel(server.addresses["grpc"]) as channel:
                call = pb.Stub(channel).Generate(request)
                for frame in call:
                    if frame.HasField("output"):
                        client.take(frame.output)
                        if disturb is not None and disturb(client):
                            call.cancel()
                    if frame.HasField("ended"):
                        client.ended = frame.ended

        return connect

    server.wait_until_ready()
    plain = Client(pb, server, "counter")
    assert plain.until_ended(connect=generate(plain)) == []
    assert len(plain.outputs) == count + 1
    client = Client(pb, server, "counter")
    client.until_ended(
        once_at(
            (10, lambda _: True),
            (60, lambda one: one.server.kill_workers()),
            (150, lambda one: one.server.kill_router()),
        ),
        generate(client),
    )
    assert (client.ended.outcome, client.outputs) == ("done", plain.outputs)


def test_collect_is_repeated_with_the_same_inputs(pb, server):
    """It hears nothing before the end: it repeats all its inputs, and those that are durable are ignored."""
    expected = undisturbed(pb, server)
    client = Client(pb, server, "listener_tensors")
    steps = iter([None, server.kill_router, server.kill_workers])
    calls = 0

    def connect(_):
        nonlocal calls
        step = next(steps, None)

        def frames():
            yield pb.ClientFrame(open=client.open())
            for sequence in range(1, LAST + 1):
                # The first call is lost in the middle, before its last input.
                if sequence == 20 and calls == 1:
                    call.cancel()
                    return
                if sequence == 20 and step is not None:
                    step()
                yield pb.ClientFrame(input=client.input(sequence))

        calls += 1
        with grpc.insecure_channel(server.addresses["grpc"]) as channel:
            call = pb.Stub(channel).Collect.future(frames())
            answer = call.result(timeout=60)
        client.ended = answer.ended
        client.outputs = [answer.output.SerializeToString(deterministic=True)]

    def cancelled_is_lost(_):
        try:
            connect(_)
        except grpc.FutureCancelledError:
            return

    client.until_ended(connect=cancelled_is_lost)
    assert calls >= 3
    assert (client.ended.outcome, client.ended.outputs) == ("done", LAST)
    assert client.outputs == expected[-1:]


def test_collect_is_held_back_where_inputs_are_more_than_the_credit(pb, server):
    client = Client(pb, server, "listener_tensors")
    many = 500

    def frames():
        yield pb.ClientFrame(open=client.open())
        for sequence in range(1, many + 1):
            one = client.input(sequence)
            one.end_of_input = sequence == many
            yield pb.ClientFrame(input=one)

    with grpc.insecure_channel(server.addresses["grpc"]) as channel:
        answer = pb.Stub(channel).Collect(frames(), timeout=120)
    assert (answer.ended.outcome, answer.ended.outputs, answer.output.sequence) == ("done", many, many)


def test_errors_that_end_a_connection_are_its_status(pb, server):
    with grpc.insecure_channel(server.addresses["grpc"]) as channel:
        frames = [pb.ClientFrame(open=pb.Open(stream_id="nowhere-to-be-found", mode="resume"))]
        with pytest.raises(grpc.RpcError) as refused:
            list(pb.Stub(channel).Stream(iter(frames)))
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND
