"""Frames of the dispatch protocol, from docs/reference/dispatch.md: cut out of the socket, read and written."""

import json
import socket
import struct

HELLO, LOAD, UNLOAD, DISPATCH, CANCEL, RELEASE, STOP, READY = range(1, 9)
CREDIT, ANSWERED, FAILED, CALL, CALL_ANSWERED, CALL_FAILED = 10, 11, 12, 13, 14, 15
LOAD_REFUSED = 17
MAGIC = 0x4C4C494D
IN_FRAME, SHARED = 0, 1


class Frames:
    """The socket to the router as a stream of frames."""

    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(True)
        self._received = bytearray()

    def take(self, waits):
        """The next frame; None when `waits` is false and there is none yet. Exits with the router."""
        while True:
            if len(self._received) >= 8:
                (length,) = struct.unpack_from("<I", self._received)
                if len(self._received) >= length:
                    frame = bytes(self._received[:length])
                    del self._received[:length]
                    return frame
            try:
                chunk = self._socket.recv(65536, 0 if waits else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if not chunk:
                raise SystemExit(1)
            self._received += chunk

    def send(self, kind, fields, placement=IN_FRAME, tensors=0):
        self._socket.sendall(struct.pack("<IBBH", 8 + len(fields), kind, placement, tensors) + fields)

    def close(self):
        self._socket.close()


def padded(data):
    return bytes(data) + bytes(-len(data) % 8)


def text(string):
    """The field and the length that stands before it."""
    encoded = string.encode()
    return struct.pack("<I", len(encoded)) + padded(encoded)


def text_at(frame, at):
    """The text whose length stands at this offset, and where it ends."""
    (length,) = struct.unpack_from("<I", frame, at)
    return frame[at + 4 : at + 4 + length].decode(), at + 4 + length + -(at + 4 + length) % 8


def tensors_at(frame, at, source):
    """The tensors whose fields begin at this offset, as (index, shape, data). `source` is what offsets count from."""
    tensors = []
    for _ in range(struct.unpack_from("<H", frame, 6)[0]):
        index, rank, offset, length = struct.unpack_from("<IIQQ", frame, at)
        shape = struct.unpack_from(f"<{rank}Q", frame, at + 24)
        tensors.append((index, list(shape), bytes(source[offset : offset + length])))
        at += 24 + 8 * rank
    return tensors


def tensor_fields(tensors, first_offset):
    """The fields of tensors whose data lies one behind the other from this offset on, each at a multiple of 8."""
    fields = b""
    for index, shape, data in tensors:
        fields += struct.pack(f"<IIQQ{len(shape)}Q", index, len(shape), first_offset, len(data), *shape)
        first_offset += len(padded(data))
    return fields


def in_frame(head, tensors):
    """Fields of a frame that holds its tensors: `head` is what stands before them."""
    fields_end = 8 + len(head) + sum(24 + 8 * len(shape) for _, shape, _ in tensors)
    return head + tensor_fields(tensors, fields_end) + b"".join(padded(data) for _, _, data in tensors)


def call_head(model, inputs):
    return json.dumps({"model": model, "version": "", "outputs": [], "inputs": inputs})
