"""Mean average precision on scenes never seen, against a detector that looks for patches unlike their surroundings."""

from pathlib import Path

import numpy as np

from zoo.common.card import Metric
from zoo.common.session import open_session, run
from zoo.spotter import scenes

HELD_OUT_SEED = 9_000_001
SCENES, FRAMES = 150, 4


def overlap(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Intersection over union of one box with many."""
    width = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    height = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    shared = np.clip(width, 0, None) * np.clip(height, 0, None)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return shared / ((box[2] - box[0]) * (box[3] - box[1]) + area - shared + 1e-9)


def average_precision(found: list, truth: list, threshold: float) -> float:
    """`found` (frame, score, box), `truth` (frame, box); area under the precision-recall curve."""
    wanted = {}
    for frame, box in truth:
        wanted.setdefault(frame, []).append(box)
    taken = {frame: np.zeros(len(boxes), dtype=bool) for frame, boxes in wanted.items()}
    hits = []
    for frame, _, box in sorted(found, key=lambda entry: -entry[1]):
        hit = False
        if frame in wanted:
            shares = overlap(box, np.array(wanted[frame]))
            best = int(np.where(taken[frame], -1, shares).argmax())
            hit = shares[best] >= threshold and not taken[frame][best]
            taken[frame][best] |= hit
        hits.append(hit)
    if not hits:
        return 0.0
    right = np.cumsum(hits)
    recall = right / max(1, len(truth))
    precision = np.maximum.accumulate((right / np.arange(1, len(hits) + 1))[::-1])[::-1]
    return float((np.diff(np.concatenate([[0.0], recall])) * precision).sum())


def mean_average_precision(detections: list, boxes: list, kinds: list, threshold: float) -> float:
    """`detections` per frame: (boxes, classes, scores)."""
    values = []
    for kind in range(len(scenes.CLASSES)):
        found = [(frame, score, box) for frame, (b, c, s) in enumerate(detections) for box, cls, score in zip(b, c, s) if cls == kind]
        truth = [(frame, box) for frame, (b, c) in enumerate(zip(boxes, kinds)) for box, cls in zip(b, c) if cls == kind]
        values.append(average_precision(found, truth, threshold))
    return float(np.mean(values))


def naive(frame: np.ndarray) -> tuple:
    """The naive baseline: one box around what differs most from the frame's mean colour, called by the box's proportions."""
    unlike = np.abs(frame.astype(float) - np.median(frame, axis=(0, 1))).sum(-1)
    lit = unlike > np.quantile(unlike, 0.93)
    ys, xs = np.where(lit.mean(1) > 0.05)[0], np.where(lit.mean(0) > 0.05)[0]
    if len(ys) == 0 or len(xs) == 0:
        return np.zeros((0, 4)), np.zeros(0, int), np.zeros(0)
    box = np.array([[xs[0], ys[0], xs[-1] + 1, ys[-1] + 1]], dtype=float)
    filled = lit[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1].mean()
    return box, np.array([1 if filled > 0.85 else 0 if filled > 0.65 else 2 if filled > 0.45 else 3]), np.array([0.5])


def evaluate(folder: Path) -> list:
    session = open_session(folder / "1" / "model.onnx")
    frames, boxes, kinds = scenes.make(SCENES, FRAMES, HELD_OUT_SEED)
    detections = []
    for begin in range(0, len(frames), 32):
        outputs = run(session, {"frame": frames[begin : begin + 32]})
        for row in zip(outputs["boxes"], outputs["classes"], outputs["scores"]):
            kept = row[1] >= 0
            detections.append(tuple(part[kept] for part in row))
    plain = mean_average_precision([naive(frame) for frame in frames], boxes, kinds, 0.5)
    total = sum(len(kind) for kind in kinds)
    return [
        Metric(
            "mAP at IoU 0.5, unseen scenes",
            mean_average_precision(detections, boxes, kinds, 0.5),
            slack=0.01,
            at_least=0.9,
            note=f"{len(frames)} frames of {SCENES} scenes, {total} objects; most unlike patch: {plain:.3f}",
        ),
        Metric("mAP at IoU 0.75, unseen scenes", mean_average_precision(detections, boxes, kinds, 0.75), slack=0.02, at_least=0.7),
    ]
