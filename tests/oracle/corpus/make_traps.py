"""Writes the traps as files, after running each: rows at once against rows alone.

    python make_traps.py [--check]

With --check nothing is written; it fails if the files are not what would be written.
"""

import argparse
import importlib
import json
import pathlib
import sys

import numpy as np

from rows import open_session, rows_difference

FOLDER = pathlib.Path(__file__).resolve().parent / "traps"
MODULES = (
    "opset_semantics", "row_count", "reshape", "broadcasting", "named_rows", "moved_rows", "whole_tensor", "control_flow", "microsoft", "ml_and_strings",
    "rest",
)  # fmt: skip
BYTES_MAX = 300_000
ROWS_AT_ONCE = (2, 3, 4, 6)
SEEDS = (1, 2)


def all_traps():
    for name in MODULES:
        yield from importlib.import_module(f"trap_graphs.{name}").traps.traps


def problem_of(trap):
    """None if the trap is what it says: harmful graphs mix rows for some data, harmless ones never do."""
    if not trap.runs:
        return None if not trap.is_independent else "a harmless graph must run"
    try:
        session = open_session(trap.model)
    except Exception as error:
        return f"does not load: {str(error).splitlines()[0]}"
    try:
        session.run(None, trap.feeds(1, 1))
    except Exception as error:
        if trap.is_independent:
            return f"does not run: {str(error).splitlines()[0]}"
    found = None
    for rows in ROWS_AT_ONCE:
        for seed in SEEDS:
            found = found or rows_difference(session, trap.feeds(rows, seed), trap.per_row)
    if trap.is_independent:
        return None if found is None else f"mixes rows: {found}"
    if found is None and has_shared_input(trap):
        return None
    return "keeps rows apart" if found is None else None


def has_shared_input(trap):
    """An input without rows is the same for the whole run: callers that send different values may not share one."""
    return 0 in trap.per_row.values()


def entry(trap):
    inputs = {name: _sample(array) for name, array in trap.feeds(3, 1).items()}
    return {
        "name": trap.name,
        "trap": trap.number,
        "isIndependent": trap.is_independent,
        "runs": trap.runs,
        "perRow": trap.per_row,
        "inputs": inputs,
    }


def _sample(array):
    values = [round(float(item), 4) for item in array.reshape(-1)] if array.dtype.kind == "f" else array.reshape(-1).tolist()
    kind = "string" if array.dtype == np.object_ else array.dtype.name
    return {"dtype": kind, "shape": list(array.shape), "data": values}


def files():
    traps = list(all_traps())
    names = [trap.name for trap in traps]
    assert len(set(names)) == len(names), f"names used twice: {sorted(name for name in names if names.count(name) > 1)}"
    made = {f"{trap.name}.onnx": trap.model.SerializeToString() for trap in traps}
    lines = ",\n".join(json.dumps(entry(trap), separators=(",", ":")) for trap in traps)
    made["traps.json"] = f"[\n{lines}\n]\n".encode()
    return traps, made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    traps, made = files()
    problems = [f"{trap.name}: {problem}" for trap in traps if (problem := problem_of(trap)) is not None]
    size = sum(len(content) for name, content in made.items() if name.endswith(".onnx"))
    if size > BYTES_MAX:
        problems.append(f"{size} bytes of models are over {BYTES_MAX}")
    if is_check:
        kept = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
        problems += [f"{name}: not as made" for name in sorted(kept.keys() | made.keys()) if kept.get(name) != made.get(name)]
    for problem in problems:
        print(problem)
    if not is_check:
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.iterdir():
            path.unlink()
        for name, content in made.items():
            (FOLDER / name).write_bytes(content)
    harmful = sum(not trap.is_independent for trap in traps)
    print(f"{len(traps)} graphs, {harmful} harmful, {len(traps) - harmful} harmless, {size} bytes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
