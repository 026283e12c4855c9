"""The part of the shared memory that this worker writes: where there is room for a region."""


class Regions:
    def __init__(self, length):
        self._length = length
        self._taken = {}

    def take(self, length):
        """The offset of a region that is free, a multiple of 64; None where there is no room."""
        offset = 0
        for start in sorted(self._taken):
            if offset + length <= start:
                break
            offset = start + self._taken[start]
            offset += -offset % 64
        if offset + length > self._length:
            return None
        self._taken[offset] = length
        return offset

    def release(self, offset):
        del self._taken[offset]
