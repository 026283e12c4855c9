"""Recall at ten for shoppers never seen, against the most popular items and against what is bought together."""

from pathlib import Path

import numpy as np

from zoo.common.card import Metric
from zoo.common.session import open_session, run
from zoo.recommender.shop import HISTORY, ITEMS, histories, simulate

HELD_OUT_SEED = 9_000_001
HELD_OUT_SHOPPERS = 8_000
LENGTHS = (4, 8, 16, HISTORY)


def held_out() -> tuple:
    """New shoppers, a quarter each with short to long histories."""
    items, kinds = simulate(HELD_OUT_SHOPPERS, HELD_OUT_SEED)
    parts = np.array_split(np.arange(HELD_OUT_SHOPPERS), len(LENGTHS))
    made = [histories(items[part], kinds[part], length) for part, length in zip(parts, LENGTHS)]
    return tuple(np.concatenate(column) for column in zip(*made))


def popularity_recall(targets: np.ndarray, training: np.ndarray) -> float:
    top = np.argsort(-np.bincount(training.reshape(-1), minlength=ITEMS + 1))[:10]
    return float(np.isin(targets, top).mean())


def together_recall(items: np.ndarray, targets: np.ndarray, training: np.ndarray) -> float:
    """Counts which item followed which within three events; adds up the last three events of a history."""
    counts = np.zeros((ITEMS + 1, ITEMS + 1), dtype=np.float32)
    for gap in (1, 2, 3):
        np.add.at(counts, (training[:, :-gap].reshape(-1), training[:, gap:].reshape(-1)), 1 / gap)
    scores = sum(counts[items[:, -gap]] / gap for gap in (1, 2, 3))
    scores[:, 0] = -1
    top = np.argpartition(-scores, 10, axis=1)[:, :10]
    return float((top == targets[:, None]).any(1).mean())


def evaluate(folder: Path) -> list:
    session = open_session(folder / "1" / "model.onnx")
    items, kinds, targets = held_out()
    answers = []
    for start in range(0, len(items), 500):
        part = slice(start, start + 500)
        answers.append(run(session, {"items": items[part], "kinds": kinds[part]})["next_items"])
    recall = float((np.concatenate(answers) == targets[:, None]).any(1).mean())
    training, _ = simulate(20_000, 1_000)
    popular = popularity_recall(targets, training)
    together = together_recall(items, targets, training)
    return [
        Metric(
            "recall at 10, unseen shoppers",
            recall,
            slack=0.01,
            at_least=0.3,
            note=f"{len(items)} shoppers; most popular items: {popular:.3f}, bought together: {together:.3f}",
        ),
        Metric("recall over that of the most popular items", recall / popular, slack=0.4, at_least=1.5),
        Metric("recall over that of items bought together", recall / together, slack=0.05, at_least=1.1),
    ]
