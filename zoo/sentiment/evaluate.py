"""Accuracy of both versions on subjects and pairings they never saw, against two naive readers."""

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from zoo.common.card import Metric
from zoo.common.session import open_session, run
from zoo.sentiment import by_hand, data, lexicon
from zoo.sentiment.text import ids_from

HELD_OUT_SEED = 9_000_001
HELD_OUT_COUNT = 6_000


def accuracy(session, tokenizer: Tokenizer, texts: list, labels: list) -> float:
    answers = []
    for start in range(0, len(texts), 200):
        ids = ids_from(tokenizer, texts[start : start + 200])
        answers.append(run(session, {"input_ids": ids})["probabilities"].argmax(1))
    return float((np.concatenate(answers) == np.array(labels)).mean())


def word_count_accuracy(texts: list, labels: list) -> float:
    """The naive baseline: knows every opinion word of the grammar, counts good ones against bad ones."""
    good = {*lexicon.GOOD, "loved", "adored", "enjoyed", "admired", "liked", "glad", "happy", "pleased"}
    bad = {*lexicon.BAD, "hated", "disliked", "regretted", "annoyed", "sorry", "angry", "waste", "ruined"}
    right = 0
    for text, label in zip(texts, labels):
        words = text.lower().replace(".", " ").replace(",", " ").split()
        balance = sum(word in good for word in words) - sum(word in bad for word in words)
        right += (int(np.sign(balance)) + 1) == label
    return right / len(texts)


def evaluate(folder: Path) -> list:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts, labels = data.make(HELD_OUT_COUNT, HELD_OUT_SEED, held_out=True)
    naive = word_count_accuracy(texts, labels)
    hand_texts, hand_labels = by_hand.sentences()
    sessions = {version: open_session(folder / version / "model.onnx") for version in ("1", "2")}
    first = accuracy(sessions["1"], tokenizer, texts, labels)
    second = accuracy(sessions["2"], tokenizer, texts, labels)
    return [
        Metric(
            "accuracy of version 2, unseen subjects and pairings",
            second,
            slack=0.005,
            at_least=0.95,
            note=f"{HELD_OUT_COUNT} reviews; counting opinion words: {naive:.3f}, always one answer: 0.33",
        ),
        Metric("accuracy of version 1, the same reviews", first, slack=0.005, at_most=0.9, note="a bag of words, on purpose"),
        Metric("version 2 above version 1", second - first, slack=0.01, at_least=0.05),
        Metric(
            "accuracy of version 2, sentences written by hand",
            accuracy(sessions["2"], tokenizer, hand_texts, hand_labels),
            slack=0.02,
            at_least=0.5,
            note=f"{len(hand_texts)} sentences outside the grammar; counting words: {word_count_accuracy(hand_texts, hand_labels):.3f}",
        ),
    ]
