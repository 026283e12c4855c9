"""Accuracy of the ONNX file on fonts and drawings it never saw, and on digits that people wrote."""

from pathlib import Path

import numpy as np

from zoo.common.card import Metric
from zoo.common.session import open_session, run
from zoo.digits import data, glyphs

HELD_OUT_SEED = 9_000_001
HELD_OUT_COUNT = 4_000


def held_out() -> tuple:
    return data.make(HELD_OUT_COUNT, glyphs.from_files(glyphs.held_out_files()), HELD_OUT_SEED)


def accuracy(session, images: np.ndarray, labels: np.ndarray) -> float:
    answers = np.concatenate(
        [run(session, {"image": images[start : start + 256]})["probabilities"] for start in range(0, len(images), 256)]
    )
    return float((answers.argmax(1) == labels).mean())


def nearest_mean_accuracy(images: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """The naive baseline: the nearest of ten mean images, the means taken from fresh drawings."""
    drawn, drawn_labels = data.make(2_000, np.zeros((1, 10, 64, 64), np.uint8), seed, drawn_share=1.0)
    means = np.stack([drawn[drawn_labels == digit].mean(0).reshape(-1) for digit in range(10)])
    flat = images.reshape(len(images), -1)
    distances = ((flat[:, None] - means[None]) ** 2).sum(-1)
    return float((distances.argmin(1) == labels).mean())


def evaluate(folder: Path) -> list:
    session = open_session(folder / "1" / "model.onnx")
    images, labels = held_out()
    check_images, check_labels = data.scanned_check_set()
    naive = nearest_mean_accuracy(images, labels, HELD_OUT_SEED + 1)
    naive_check = nearest_mean_accuracy(check_images, check_labels, HELD_OUT_SEED + 1)
    return [
        Metric(
            "accuracy, unseen fonts and drawings",
            accuracy(session, images, labels),
            slack=0.005,
            at_least=0.97,
            note=f"{HELD_OUT_COUNT} images; nearest mean image: {naive:.3f}",
        ),
        Metric(
            "accuracy, scikit-learn's scanned digits",
            accuracy(session, check_images, check_labels),
            slack=0.005,
            at_least=0.85,
            note=f"1,797 images by people; nearest mean image: {naive_check:.3f}",
        ),
    ]
