"""Whether a model answers rows at once as it answers each alone, found by running it."""

import numpy as np
import onnxruntime as ort

from answers import difference

ort.set_default_logger_severity(4)


def open_session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    source = model if isinstance(model, str) else model.SerializeToString()
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(session, feeds):
    return session.run(None, feeds)


def split(feeds, per_row):
    """One set of feeds for each row. `per_row` names how many leading entries of an input belong to a row; 0: it has no rows."""
    counts = {len(array) // per_row.get(name, 1) for name, array in feeds.items() if per_row.get(name, 1) > 0}
    assert len(counts) == 1, f"inputs with different numbers of rows: {counts}"

    def part(name, array, row):
        size = per_row.get(name, 1)
        return array if size == 0 else array[row * size : (row + 1) * size]

    return [{name: part(name, array, row) for name, array in feeds.items()} for row in range(counts.pop())]


def rows_difference(session, feeds, per_row=None):
    """None if the rows at once are answered as each alone, otherwise what differs."""
    alone = []
    for row in split(feeds, per_row or {}):
        try:
            alone.append(run(session, row))
        except Exception as error:  # onnxruntime has no base class of its own
            alone.append(_sentence(error))
    try:
        together = run(session, feeds)
    except Exception as error:
        is_same = all(isinstance(answer, str) for answer in alone)
        return None if is_same else f"together: {_sentence(error)}"
    for row, answers in enumerate(alone):
        if isinstance(answers, str):
            return f"row {row} alone: {answers}"
        for name, one, many in zip(session.get_outputs(), answers, together):
            one, many = np.asarray(one), np.asarray(many)
            if many.ndim == 0 or len(many) != len(alone):
                return f"{name.name}: shape {list(many.shape)} for {len(alone)} rows"
            problem = difference(one, many[row : row + 1])
            if problem is not None:
                return f"{name.name} of row {row}: {problem}"
    return None


def _sentence(error):
    return str(error).strip().splitlines()[0][:160]
