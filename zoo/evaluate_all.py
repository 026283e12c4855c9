"""Makes every held-out set anew and holds the shipped ONNX files to their model cards. Needs no PyTorch.

    python zoo/evaluate_all.py [--only NAME ...]

One line a check, `N passed, N failed` at the end, and an exit code that says the same.
"""

import argparse
import importlib
import json
from pathlib import Path
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from zoo.common import card
from zoo.common.golden import arrays_from
from zoo.common.paths import shipped_folder
from zoo.common.session import open_session, run

NAMES = ("digits", "sentiment", "storyteller", "listener", "recommender", "spotter")
MODEL_BYTES_MAX = 16_000_000
ALL_BYTES_MAX = 30_000_000
BATCHED_DIFFERENCE_MAX = 1e-5


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def add(self, what: str, problem: str | None) -> None:
        if problem is None:
            self.passed += 1
            print(f"ok    {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL  {what}: {problem}", flush=True)


def difference(left: dict, right: dict) -> float:
    return max(float(np.max(np.abs(left[name].astype(np.float64) - right[name]), initial=0.0)) for name in right)


def check_golden(name: str, checks: Checks) -> None:
    """Every pair alone, and as one row of a batch of three."""
    pairs = sorted((shipped_folder(name) / "golden").glob("*.json"))
    checks.add(f"{name}: has golden pairs", None if pairs else "none found")
    for path in pairs:
        pair = json.loads(path.read_text())
        session = open_session(shipped_folder(name) / pair["version"] / "model.onnx")
        inputs, wanted = arrays_from(pair["inputs"]), arrays_from(pair["outputs"])
        single = run(session, inputs)
        off = difference(single, wanted)
        checks.add(f"{name}: {path.name} alone, off by {off:.1e}", None if off <= pair["tolerance"] else "more than its tolerance")
        tripled = run(session, {key: np.concatenate([array, np.zeros_like(array), array]) for key, array in inputs.items()})
        rows = max(difference({key: array[row : row + 1] for key, array in tripled.items()}, single) for row in (0, 2))
        checks.add(
            f"{name}: {path.name} in a batch, off by {rows:.1e}", None if rows <= BATCHED_DIFFERENCE_MAX else "a row depends on its company"
        )


def check_sizes(names: list, checks: Checks) -> None:
    files = [path for name in names for path in shipped_folder(name).glob("*/model.onnx")]
    large = [str(path) for path in files if path.stat().st_size > MODEL_BYTES_MAX]
    total = sum(path.stat().st_size for path in files)
    checks.add(f"{len(files)} model files of {total / 1e6:.1f} MB", f"too large: {large}" if large or total > ALL_BYTES_MAX else None)


def check_card(name: str, checks: Checks) -> None:
    stated = card.read_table(shipped_folder(name) / "README.md")
    module = importlib.import_module(f"zoo.{name}.evaluate")
    measured = module.evaluate(shipped_folder(name))
    for metric in measured:
        checks.add(f"{name}: {metric.name} = {metric.value:.4f} ({metric.bar})", card.problem_with(metric, stated))
    unmeasured = sorted(set(stated) - {metric.name for metric in measured})
    checks.add(f"{name}: every metric on the card was measured", f"not measured: {unmeasured}" if unmeasured else None)
    for what, problem in module.checks(shipped_folder(name)) if hasattr(module, "checks") else ():
        checks.add(f"{name}: {what}", problem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES))
    names = parser.parse_args().only
    checks = Checks()
    check_sizes(names, checks)
    for name in names:
        began = time.time()
        check_golden(name, checks)
        check_card(name, checks)
        print(f"      {name} took {time.time() - began:.0f} s", flush=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
