"""Requests for a graph, and what ONNX Runtime answers to each alone."""
import numpy as np
import onnxruntime

from builder import FLOATS, N, NUMPY, STRING

onnxruntime.set_default_logger_severity(4)

# How far apart two floats may be: a part of the value, and a part of the largest of its row.
RELATIVE, OF_ROW = 1e-5, 1e-6
# A step of 16-bit floats is 1e-3 of the value; a few of them add up.
RELATIVE_HALF, OF_ROW_HALF = 4e-3, 2e-3
# Inputs are moved by this much; answers that move more than `AMPLIFIED_MAX` times as much are not compared.
NUDGE, NUDGE_HALF, AMPLIFIED_MAX = 1e-4, 2e-3, 40.0

# Differences from this part of the tolerance on are too near to it.
NEAR_SHARE = 0.25
NO_OUTPUT = "ONNX Runtime made no output"


def session_of(model_bytes):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])


def data_for(entry, rows, numbers, longer=0):
    """`longer` is added to all sizes but N and 1, in graphs that leave them free."""
    value = entry.value
    shape = [rows if size == N else size + longer if size > 1 else size for size in value.shape]
    if value.dtype == STRING:
        return np.array(numbers.choice(np.array(entry.words, object), shape), object).reshape(shape)
    kind = NUMPY[value.dtype]
    if value.dtype in FLOATS:
        return numbers.uniform(entry.low, entry.high, shape).astype(kind)
    low, high = (-4, 5) if entry.low == -2.0 else (entry.low, entry.high)
    if np.issubdtype(kind, np.unsignedinteger) and low < 0:
        low = 0
    return numbers.integers(low, max(high, low + 1), shape).astype(kind)


def nudged(feeds, numbers, is_half, is_outward=False):
    """The inputs moved at random, or each of them away from 0, which shows sums that nearly cancel out."""
    step = NUDGE_HALF if is_half else NUDGE
    moved = {}
    for name, array in feeds.items():
        if np.issubdtype(array.dtype, np.floating):
            noise = np.sign(array) if is_outward else numbers.uniform(-1, 1, array.shape)
            moved[name] = (array * (1 + step * noise) + 0.1 * step * noise).astype(array.dtype)
        else:
            moved[name] = array
    return moved


def row_magnitudes(array):
    """The largest finite magnitude of each row, to be broadcast against the array."""
    if array.ndim == 0:
        return np.abs(np.where(np.isfinite(array), array, 0))
    finite = np.abs(np.where(np.isfinite(array), array, 0))
    axes = tuple(range(1, array.ndim))
    return finite.max(axis=axes, keepdims=True) if axes and finite.size else finite


def differs(expected, actual, relative, of_row):
    """What is different between two arrays, or nothing."""
    if expected.dtype != actual.dtype:
        return f"datatype {actual.dtype}, not {expected.dtype}"
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, not {expected.shape}"
    if not np.issubdtype(expected.dtype, np.floating):
        return "" if np.array_equal(expected, actual) else "elements"
    e, a = expected.astype(np.float64), actual.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(e - a) <= relative * np.abs(e) + of_row * row_magnitudes(e)
    same = near | (e == a) | (np.isnan(e) & np.isnan(a))
    return "" if same.all() else "floats"


class Truth:
    """Runs a model alone, request by request."""

    def __init__(self, model_bytes, is_half, random_outputs):
        self.session = session_of(model_bytes)
        self.is_half = is_half
        self.names = [output.name for output in self.session.get_outputs()]
        # Constants of the graph that a request may give another value for.
        self.overridable = {constant.name for constant in self.session.get_overridable_initializers()}
        self.random_outputs = random_outputs
        self.limits = (RELATIVE_HALF, OF_ROW_HALF) if is_half else (RELATIVE, OF_ROW)

    def answer(self, feeds):
        """The outputs, or the words of the error."""
        try:
            outputs = self.session.run(None, feeds)
        except Exception as error:  # noqa: BLE001  (ONNX Runtime has no common class of errors)
            return None, str(error)[:200]
        # Without elements some kernels make no output at all, which is neither an answer nor a refusal.
        if any(array is None for array in outputs):
            return None, NO_OUTPUT
        return [np.asarray(array) for array in outputs], ""

    def is_steady(self, feeds, outputs, numbers):
        """Whether the answer stays nearly the same where the inputs are nearly the same: no tie decides it."""
        step = NUDGE_HALF if self.is_half else NUDGE
        # A shape that hangs on chance shows only sometimes.
        for trial in range(8 if self.random_outputs else 3):
            others, error = self.answer(nudged(feeds, numbers, self.is_half, is_outward=trial == 0))
            if error:
                return False
            for name, one, other in zip(self.names, outputs, others):
                if name in self.random_outputs:
                    if one.shape != other.shape:
                        return False
                elif differs(one, other, AMPLIFIED_MAX * step, AMPLIFIED_MAX * step):
                    return False
        return True

    def stacked(self, requests):
        """Whether all requests in one run give what each gives alone: 'agrees', 'near', 'differs' or 'fails'.

        Kernels compute an element in one way or another by its place and the number of rows, so several orders are tried: where the last
        bits of the answer come near the tolerance already here, no comparison tells anything.
        """
        worst = "agrees"
        middle = len(requests) // 2
        for order in (requests, requests[::-1], [*requests[middle:], *requests, *requests[:middle]]):
            found = self.stacked_in(order)
            if found in ("differs", "fails"):
                return found
            if found == "near":
                worst = "near"
        return worst

    def stacked_in(self, requests):
        feeds = {name: np.concatenate([feeds[name] for feeds, _ in requests]) for name in requests[0][0]}
        outputs, error = self.answer(feeds)
        if error:
            return "fails"
        limits = [NEAR_SHARE * limit for limit in self.limits]
        worst = "agrees"
        for index, name in enumerate(self.names):
            if name in self.random_outputs:
                continue
            whole = outputs[index]
            start = 0
            for feeds, alone in requests:
                rows = len(next(iter(feeds.values())))
                part = whole[start:start + rows] if whole.ndim else whole
                start += rows
                if differs(alone[index], part, *limits):
                    if differs(alone[index], part, 0.01, 0.01):
                        return "differs"
                    worst = "near"
            if whole.ndim and start != len(whole):
                return "differs"
        return worst
