"""
A worker written from docs/reference/dispatch.md alone, with nothing but Python's standard library. It serves these models, whatever their
files are: `add` (the sum of two FP32 tensors), `fail` (fails with the error number that it is given as INT32) and `ask` (what the model
`half` answers to its FP32 input).

Its environment may say WORKER_VERSIONS=oldest-newest, to speak other versions than it can, and WORKER_MAPS=no, to do without shared memory.
"""

import ctypes
import json
import mmap
import os
import resource
import signal
import struct
import time
from collections import deque

from frames import ANSWERED, CALL, CALL_ANSWERED, CALL_FAILED, CANCEL, CREDIT, DISPATCH, FAILED, HELLO, IN_FRAME
from frames import LOAD, LOAD_REFUSED, MAGIC, READY, RELEASE, SHARED, STOP, UNLOAD
from frames import Frames, call_head, in_frame, padded, tensor_fields, tensors_at, text, text_at
from regions import Regions

VERSIONS = [int(version) for version in os.environ.get("WORKER_VERSIONS", "5-5").split("-")]
MAPS = os.environ.get("WORKER_MAPS") != "no"
BATCHES_MAX = 2
IN_FRAME_BYTES_MAX = 4096
UNKNOWN_MODEL, CANCELLED, UNSUPPORTED = 7, 17, 23


class Failure(Exception):
    def __init__(self, number, message):
        super().__init__(message)
        self.number = number


class Worker:
    def __init__(self):
        self.frames = Frames(3)
        self.inputs = memoryview(b"")
        self.outputs = memoryview(b"")
        self.regions = Regions(0)
        self.frame_bytes_max = 0
        self.models = {}
        self.jobs = deque()
        self.running = None
        self.cancelled = set()
        self.answers = {}
        self.calls = 0

    def run(self):
        if not self.greet(self.frames.take(waits=True)):
            self.frames.take(waits=True)  # The router ends a worker that it has no version in common with.
            raise SystemExit("a frame behind the greeting, although there is no version in common")
        self.frames.send(CREDIT, struct.pack("<II", BATCHES_MAX, 0))
        while True:
            while (frame := self.frames.take(waits=not self.jobs)) is not None:
                self.receive(frame)
            kind, job = self.jobs.popleft()
            if kind == LOAD:
                self.load(job)
            elif kind == UNLOAD:
                self.models.pop(struct.unpack_from("<I", job, 8)[0], None)
            elif kind == DISPATCH:
                self.dispatch(job)
            else:
                self.frames.close()
                return

    def greet(self, frame):
        magic, oldest, newest, to_worker, to_router, frame_bytes_max = struct.unpack_from("<IHHQQQ", frame, 8)
        if frame[4] != HELLO or magic != MAGIC:
            raise SystemExit("the router does not speak the dispatch protocol")
        has_common = min(newest, VERSIONS[1]) >= max(oldest, VERSIONS[0])
        self.frame_bytes_max = frame_bytes_max
        if MAPS and has_common and to_worker + to_router > 0:
            memory = memoryview(mmap.mmap(4, to_worker + to_router))
            self.inputs, self.outputs = memory[:to_worker], memory[to_worker:]
            self.regions = Regions(to_router)
        else:
            to_worker = to_router = 0
        os.close(4)
        self.frames.send(HELLO, struct.pack("<IHHQQQ", MAGIC, *VERSIONS, to_worker, to_router, frame_bytes_max))
        return has_common

    def receive(self, frame):
        """Takes note of a frame; what it asks for is done in its turn."""
        kind = frame[4]
        if kind in (LOAD, UNLOAD, DISPATCH, STOP):
            self.jobs.append((kind, frame))
        elif kind == CANCEL:
            (batch,) = struct.unpack_from("<Q", frame, 8)
            waiting = [struct.unpack_from("<Q", job, 8)[0] for kind, job in self.jobs if kind == DISPATCH]
            if batch == self.running or batch in waiting:
                self.cancelled.add(batch)
        elif kind == RELEASE:
            (count,) = struct.unpack_from("<I", frame, 8)
            for offset in struct.unpack_from(f"<{count}Q", frame, 16):
                self.regions.release(offset)
        elif kind in (CALL_ANSWERED, CALL_FAILED):
            (call,) = struct.unpack_from("<Q", frame, 8)
            if call == self.calls and self.running is not None:
                self.answers[call] = frame
        else:
            raise SystemExit(f"a frame of unknown kind {kind}")

    def load(self, frame):
        started = time.monotonic()
        spec = json.loads(text_at(frame, 12)[0])
        model = spec["model"]
        run = {"add": self.add, "fail": self.fail, "ask": self.ask}.get(spec["name"])
        if run is None:
            reason = f"this worker has no model {spec['name']!r}"
            self.frames.send(LOAD_REFUSED, struct.pack("<I", model) + text(reason))
            return
        self.models[model] = run
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        load_ms = (time.monotonic() - started) * 1000
        self.frames.send(READY, struct.pack("<IIdQ", model, 0, load_ms, resident))

    def dispatch(self, frame):
        batch, model, output_count, offset, length = struct.unpack_from("<QIIQQ", frame, 8)
        outputs = struct.unpack_from(f"<{output_count}I", frame, 40)
        source = self.inputs[offset : offset + length] if frame[5] == SHARED else frame
        inputs = tensors_at(frame, 40 + 4 * (output_count + output_count % 2), source)
        started = time.monotonic()
        self.running = batch
        try:
            if batch in self.cancelled:
                raise Failure(CANCELLED, "the batch was cancelled before it began")
            if model not in self.models:
                raise Failure(UNKNOWN_MODEL, f"model {model} is not loaded here")
            results = self.models[model](batch, {index: (shape, data) for index, shape, data in inputs})
            tensors = [(index, *results[index]) for index in outputs]
            self.answer(batch, tensors, (time.monotonic() - started) * 1e6)
        except Failure as failure:
            self.frames.send(FAILED, struct.pack("<QI", batch, failure.number) + text(str(failure)))
        self.running = None
        self.cancelled.discard(batch)

    def answer(self, batch, tensors, run_micros):
        length = sum(len(padded(data)) for _, _, data in tensors)
        offset = self.regions.take(length) if length > IN_FRAME_BYTES_MAX else None
        if offset is not None:
            self.outputs[offset : offset + length] = b"".join(padded(data) for _, _, data in tensors)
            head = struct.pack("<QdQQ", batch, run_micros, offset, length)
            self.frames.send(ANSWERED, head + tensor_fields(tensors, 0), SHARED, len(tensors))
            return
        fields = in_frame(struct.pack("<QdQQ", batch, run_micros, 0, 0), tensors)
        if 8 + len(fields) > self.frame_bytes_max:
            raise Failure(UNSUPPORTED, f"the answer of {length} bytes is longer than a frame may be")
        self.frames.send(ANSWERED, fields, IN_FRAME, len(tensors))

    def add(self, _batch, inputs):
        (shape, left), (_, right) = inputs[0], inputs[1]
        count = len(left) // 4
        pairs = zip(struct.unpack(f"<{count}f", left), struct.unpack(f"<{count}f", right))
        return {0: (shape, struct.pack(f"<{count}f", *(one + other for one, other in pairs)))}

    def fail(self, _batch, inputs):
        raise Failure(struct.unpack("<i", inputs[0][1])[0], "as it was asked to")

    def ask(self, batch, inputs):
        shape, data = inputs[0]
        self.calls += 1
        call = self.calls
        head = struct.pack("<QQdQQI", call, batch, float("inf"), 0, 0, 0) + text(call_head("half", [["x", "FP32"]]))
        self.frames.send(CALL, in_frame(head, [(0, shape, data)]), IN_FRAME, 1)
        while call not in self.answers:
            self.receive(self.frames.take(waits=True))
            if batch in self.cancelled:
                raise Failure(CANCELLED, "the batch was cancelled while it waited for another model")
        answer = self.answers.pop(call)
        if answer[4] == CALL_FAILED:
            raise Failure(struct.unpack_from("<I", answer, 24)[0], text_at(answer, 28)[0])
        offset, length = struct.unpack_from("<QQ", answer, 24)
        source = self.inputs[offset : offset + length] if answer[5] == SHARED else answer
        _, tensors_begin = text_at(answer, 44)
        [(_, shape, data)] = tensors_at(answer, tensors_begin, source)
        return {0: (shape, data)}


signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a run must not outlive the router.
Worker().run()
