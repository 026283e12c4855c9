"""What makes an answer wrong, as the project defines it."""

import numpy as np

RELATIVE = 1e-5
OF_ROW_MAX = 1e-6
# A half-precision kernel may round every intermediate result to 11 bits; a sum of a few of them is that much looser.
RELATIVE_FP16 = 4e-3
OF_ROW_MAX_FP16 = 4e-3


def difference(expected, actual):
    """None if `actual` answers as `expected`, otherwise a sentence that says where they differ."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape:
        return f"shape {list(actual.shape)} instead of {list(expected.shape)}"
    if expected.dtype.kind in "OUS" or actual.dtype.kind in "OUS":
        return _unequal(_strings(expected), _strings(actual))
    if expected.dtype != actual.dtype:
        return f"datatype {actual.dtype} instead of {expected.dtype}"
    if expected.dtype.kind not in "fc":
        return _unequal(expected, actual)
    return _far(expected, actual)


def _strings(array):
    items = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1)]
    return np.array(items, dtype=object).reshape(array.shape)


def _unequal(expected, actual):
    if expected.size == 0 or bool(np.all(expected == actual)):
        return None
    place = tuple(int(index) for index in np.argwhere(expected != actual)[0])
    return f"{actual[place]!r} instead of {expected[place]!r} at {list(place)}"


def _far(expected, actual):
    if expected.size == 0:
        return None
    is_half = expected.dtype == np.float16
    relative, of_row_max = (RELATIVE_FP16, OF_ROW_MAX_FP16) if is_half else (RELATIVE, OF_ROW_MAX)
    wanted, got = expected.astype(np.float64), actual.astype(np.float64)
    # A single value, or one a row, is its own row.
    rows = wanted.reshape(wanted.shape[0], -1) if wanted.ndim > 0 else wanted.reshape(1, 1)
    finite = np.where(np.isfinite(rows), np.abs(rows), 0)
    row_max = finite.max(axis=1) if rows.shape[1] > 0 else np.zeros(len(rows))
    allowed = relative * np.abs(rows) + (of_row_max * row_max)[:, None]
    with np.errstate(invalid="ignore"):
        is_near = np.abs(rows - got.reshape(rows.shape)) <= allowed
    is_same = (rows == got.reshape(rows.shape)) | (np.isnan(rows) & np.isnan(got.reshape(rows.shape)))
    wrong = ~(is_near | is_same)
    if not wrong.any():
        return None
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    return f"{got.reshape(rows.shape)[row, column]!r} instead of {rows[row, column]!r} in row {row}"
