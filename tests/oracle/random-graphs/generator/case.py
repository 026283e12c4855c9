"""One case from one seed: a graph that ONNX Runtime loads, requests, and the right answers."""
import numpy as np

from builder import FLOAT16, N, Skip
from truth import NO_OUTPUT, Truth, data_for
from whole_graph import RandomGraph, names_in, number_from

ATTEMPTS_MAX = 60
REQUESTS_MAX = 6
SAMPLES_MAX = 4
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
SHAPED_BY_DATA = {"NonZero", "Unique", "NonMaxSuppression", "Loop", "If"}
# Without rows these end the whole process, ONNX Runtime's own in Python too.
ENDS_WITHOUT_ROWS = {"LSTM", "GRU", "RNN", "QuickGelu", "DynamicQuantizeLSTM", "FeatureVectorizer", "Attention", "TopK"}


class Case:
    def __init__(self, seed, graph, truth, requests, stacked):
        self.seed = seed
        self.is_safe = graph.is_safe
        self.model = graph.model
        self.opset = graph.builder.opset
        self.is_half = truth.is_half
        self.names = truth.names
        self.random_outputs = sorted(truth.random_outputs.intersection(truth.names))
        # Pairs of inputs and outputs, or of inputs and the words of the error.
        self.requests = requests
        self.stacked = stacked


def case_from(seed, rejected):
    """The first attempt of the seed that gives a graph and steady answers; why others did not is counted in `rejected`."""
    for attempt in range(ATTEMPTS_MAX):
        try:
            graph = RandomGraph(seed, attempt)
        except Skip:
            rejected["no graph"] += 1
            continue
        if any(node.op_type in SHAPED_BY_DATA and random_names(graph.model).intersection(names_in(node)) for node in graph.model.graph.node):
            rejected["shape by chance"] += 1
            continue
        try:
            truth = Truth(graph.model.SerializeToString(), has_half(graph), random_names(graph.model))
        except Exception as error:  # noqa: BLE001
            rejected[f"not loaded: {str(error)[:90]}"] += 1
            continue
        numbers = np.random.default_rng(number_from("data", seed, attempt))
        requests = requests_for(graph, truth, numbers)
        answered = [(feeds, outputs) for feeds, outputs, error in requests if not error]
        if not answered or len(answered) < 2 and graph.is_safe:
            rejected["no steady answer"] += 1
            continue
        stacked = stacked_of(truth, answered)
        if stacked == "near":
            rejected["last bits near the tolerance"] += 1
            continue
        if graph.is_safe and stacked not in ("agrees", "unlike"):
            rejected[f"rows not independent: {stacked}"] += 1
            continue
        return Case(seed, graph, truth, requests, stacked)
    raise RuntimeError(f"seed {seed} gives no graph")


def random_names(model):
    """The names of all values that a random operator has a part in."""
    found = set()
    for node in model.graph.node:
        if node.op_type in RANDOM or found.intersection(names_in(node)):
            found.update(node.output)
    return found


def has_half(graph):
    return any(value.dtype == FLOAT16 for value in graph.builder.pool)


def stacked_of(truth, answered):
    """What one run of all requests gives, of those that could share it: each with the same rows, at least one, in all inputs.

    A request that gives a value for a constant of the graph has the run for itself, for the value holds for all of it.
    """
    answered = [pair for pair in answered if has_rows(pair[0]) and not truth.overridable.intersection(pair[0])]
    groups = [[pair for pair in answered if same_kind(one, pair[0])] for one, _ in answered]
    largest = max(groups, key=len, default=[])
    return truth.stacked(largest) if len(largest) > 1 else "unlike"


def has_rows(feeds):
    rows = {array.shape[0] if array.ndim else 0 for array in feeds.values()}
    return len(rows) == 1 and min(rows) >= 1


def same_kind(one, other):
    """Whether two requests have the same inputs with the same shapes but for the rows."""
    return one.keys() == other.keys() and all(one[name].shape[1:] == other[name].shape[1:] and one[name].ndim > 0 for name in one)


def requests_for(graph, truth, numbers):
    made = []
    for _ in range(REQUESTS_MAX):
        request = request_for(graph, truth, numbers)
        if request is not None:
            made.append(request)
        elif not made:
            break
    return made


def request_for(graph, truth, numbers):
    for _ in range(SAMPLES_MAX):
        rows = int(numbers.integers(1, 6)) if numbers.random() < 0.7 else 1
        feeds = feeds_for(graph, rows, numbers)
        outputs, error = truth.answer(feeds)
        error = error or contradiction_in(graph, feeds)
        if error:
            return None if graph.is_safe or error == NO_OUTPUT else (feeds, None, error)
        if is_telling(graph, outputs) and truth.is_steady(feeds, outputs, numbers):
            return feeds, outputs, ""
    return None


def contradiction_in(graph, feeds):
    """Why the request has to be refused although ONNX Runtime answers it: a size that the graph names is 0 in one input and not in another.

    Concat counts the columns of an input without rows and never writes them, so that the answer shows what lay there before.
    """
    sizes = {}
    for given in graph.model.graph.input:
        for axis, dimension in enumerate(given.type.tensor_type.shape.dim):
            if dimension.dim_param and given.name in feeds:
                sizes.setdefault(dimension.dim_param, set()).add(feeds[given.name].shape[axis])
    return next((f"{name} is 0 and is not" for name, found in sizes.items() if 0 in found and len(found) > 1), "")


def feeds_for(graph, rows, numbers):
    is_odd = not graph.is_safe and numbers.random() < 0.06
    longer = int(numbers.integers(0, 3)) if graph.builder.has_free_sizes and numbers.random() < 0.3 else 0
    feeds = {}
    counts = odd_counts(graph, numbers) if is_odd else {}
    for entry in graph.builder.inputs:
        if entry.default is not None and numbers.random() < 0.5:
            continue
        feeds[entry.value.name] = data_for(entry, counts.get(entry.value.name, rows), numbers, longer)
    return feeds


def odd_counts(graph, numbers):
    """Rows of each input, unequal. Unless the graph gives all of them one name, whether they belong together is the server's to find out: none is 0 then, or all."""
    names = [entry.value.name for entry in graph.builder.inputs]
    can_be_empty = not any(node.op_type in ENDS_WITHOUT_ROWS for node in graph.model.graph.node)
    first = [given.type.tensor_type.shape.dim[:1] for given in graph.model.graph.input]
    free = [sizes[0].dim_param for sizes in first if sizes and not sizes[0].HasField("dim_value")]
    are_named_alike = "" not in free and len(set(free)) <= 1
    # An input with another free first size keeps it, and would not be empty with the others.
    have_rows = all(entry.value.shape[:1] in ((), [], (N,), [N]) for entry in graph.builder.inputs)
    if can_be_empty and have_rows and not are_named_alike and numbers.random() < 0.25:
        return {name: 0 for name in names}
    low = 0 if can_be_empty and are_named_alike else 1
    return {name: int(numbers.integers(low, 4)) for name in names}


def is_telling(graph, outputs):
    """Not mostly NaN or infinite: such answers hide what is wrong."""
    if not graph.is_safe:
        return True
    floats = [array for array in outputs if np.issubdtype(array.dtype, np.floating) and array.size]
    return all(np.isfinite(array.astype(np.float64)).mean() > 0.5 for array in floats)
