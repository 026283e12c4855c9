"""The table of operators: what makes each, and since which opset."""
from dataclasses import dataclass
from typing import Callable

from onnx import defs

ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"


@dataclass(frozen=True)
class Maker:
    operator: str
    make: Callable
    since: int
    until: int
    # Fit for graphs whose sizes other than N are free.
    is_size_free: bool
    # Mixes rows in most of its forms: only for graphs that may.
    is_mixing: bool
    domain: str
    # For operators that fit less often than others.
    often: float

    @property
    def weight(self):
        """Operators that fewer graphs can have are taken more often in these."""
        opsets = min(self.until, 26) - self.since + 1
        is_pattern = not self.domain and self.operator not in SINCE
        by_kind = 1.5 if is_pattern else 5.0 if self.is_mixing else 1.0
        by_opsets = 1.0 if opsets >= 14 else 2.0 if opsets >= 6 else 4.0
        return self.often * by_kind * by_opsets


MAKERS: list[Maker] = []
SINCE: dict[str, int] = {}
for schema in defs.get_all_schemas_with_history():
    if schema.domain == "":
        SINCE[schema.name] = min(SINCE.get(schema.name, 99), schema.since_version)


def operator(*names, since=None, until=99, size_free=False, mixing=False, domain="", often=1.0):
    """Registers a function `make(builder, operator)` for each of the names."""

    def register(make):
        for name in names:
            first = since or (7 if domain else max(7, SINCE[name]))
            MAKERS.append(Maker(name, make, first, until, size_free, mixing, domain, often))
        return make

    return register
