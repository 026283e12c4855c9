"""Held-out perplexity against a trigram model, and whether generated stories keep to what was asked for."""

from collections import Counter, defaultdict
import math
from pathlib import Path
import re

import numpy as np
from tokenizers import Tokenizer

from zoo.common.card import Metric
from zoo.common.session import open_session, run
from zoo.storyteller import corpus, wide_world
from zoo.storyteller.decoder_files import FILES, file_text
from zoo.storyteller.generate import empty_cache, generate
from zoo.storyteller.teller import polish
from zoo.storyteller.tokenizer import END_ID, VOCABULARY, tokenizer_file

HELD_OUT_SEED = 900
HELD_OUT_COUNT = 160
REQUESTS = 32


def perplexity(session, sequences: list) -> float:
    """Of every token of every story, its end included, one story at a time."""
    total, count = 0.0, 0
    for ids in sequences:
        row = np.array([ids[:-1]], dtype=np.int64)
        outputs = run(
            session,
            {
                "input_ids": row,
                "attention_mask": np.ones_like(row),
                "position_ids": np.arange(row.shape[1])[None],
                **empty_cache(session, 1),
            },
        )
        logits = outputs["logits"][0].astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        likelihood = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        total -= likelihood[np.arange(len(ids) - 1), ids[1:]].sum()
        count += len(ids) - 1
    return math.exp(total / count)


def trigram_perplexity(training: list, held_out: list) -> float:
    """The naive baseline: counts of three, two and one token in a row, mixed with fixed weights."""
    counts = [Counter(), defaultdict(Counter), defaultdict(Counter)]
    for ids in training:
        for a, b, c in zip([END_ID, *ids], ids, ids[1:]):
            counts[0][c] += 1
            counts[1][b][c] += 1
            counts[2][a, b][c] += 1
    sums = [
        sum(counts[0].values()),
        {key: sum(value.values()) for key, value in counts[1].items()},
        {key: sum(value.values()) for key, value in counts[2].items()},
    ]
    total, count = 0.0, 0
    for ids in held_out:
        for a, b, c in zip([END_ID, *ids], ids, ids[1:]):
            chance = 0.05 / VOCABULARY + 0.1 * counts[0][c] / sums[0]
            chance += 0.25 * (counts[1][b][c] / sums[1][b] if b in sums[1] else 0)
            chance += 0.6 * (counts[2][a, b][c] / sums[2][a, b] if (a, b) in sums[2] else 0)
            total -= math.log(chance)
            count += 1
    return math.exp(total / count)


def keeps_its_subject(text: str, name: str, kind: str) -> bool:
    """Is the one asked for in the first paragraph as what it is, and still named after the middle of the story?"""
    story = text.split("\n\n", 1)[1] if "\n\n" in text else text
    opening = story.split("\n\n", 1)[0]
    second_half = story[len(story) // 2 :]
    return bool(re.search(rf"\b{name}\b", opening)) and kind in opening and bool(re.search(rf"\b{name}\b", second_half))


def requests() -> list:
    """(prompt, name, kind) over held-out combinations."""
    return [
        asked(teller.hero.name, teller.hero.kind, teller.place.at)
        for _, teller, _ in corpus.stories(REQUESTS, HELD_OUT_SEED + 1, held_out=True)
    ]


def wide_requests(kinds: tuple) -> list:
    """The same with made-up names, in the wider world."""
    tellers = [teller for _, teller, _ in corpus.stories(REQUESTS, HELD_OUT_SEED + 2, held_out=True, wide_share=1.0)]
    return [asked(teller.wide_name(), kinds[7 * index % len(kinds)], teller.place.at) for index, teller in enumerate(tellers)]


def asked(name: str, kind: str, at: str) -> tuple:
    return polish(f"Tell me a story about a {kind} named {name} {at}.") + "\n\n", name, kind


def told_and_kept(session, tokenizer, wanted: list) -> tuple:
    """Shares of generated stories that keep their subject, and that come to an end."""
    kept = complete = 0
    for start in range(0, len(wanted), 24):
        part = wanted[start : start + 24]
        told = generate(session, tokenizer, [prompt for prompt, _, _ in part], seed=7)
        kept += sum(keeps_its_subject(text, name, kind) for text, (_, name, kind) in zip(told, part))
        complete += sum(text.rstrip().endswith((".", "!", "?", '"')) for text in told)
    return kept / len(wanted), complete / len(wanted)


def evaluate(folder: Path) -> list:
    session = open_session(folder / "1" / "model.onnx")
    tokenizer = Tokenizer.from_file(str(tokenizer_file(folder)))

    def sequences(count, seed, held_out, wide_share=0.0):
        texts = [text for text, _, _ in corpus.stories(count, seed, held_out, wide_share)]
        return [[END_ID, *encoding.ids, END_ID] for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]

    held_out, wide = sequences(HELD_OUT_COUNT, HELD_OUT_SEED, True), sequences(HELD_OUT_COUNT, HELD_OUT_SEED + 3, True, 1.0)
    training = sequences(5_000, 800, False, 0.3)
    naive, value = trigram_perplexity(training, held_out), perplexity(session, held_out)
    kept, complete = told_and_kept(session, tokenizer, requests())
    kept_wide, _ = told_and_kept(session, tokenizer, wide_requests(wide_world.KINDS))
    kept_unseen, _ = told_and_kept(session, tokenizer, wide_requests(wide_world.UNSEEN_KINDS))
    return [
        Metric(
            "held-out perplexity per token", value, slack=0.05, at_most=2.0, note=f"{HELD_OUT_COUNT} stories; trigram model: {naive:.1f}"
        ),
        Metric(
            "held-out perplexity, wider world",
            perplexity(session, wide),
            slack=0.05,
            at_most=2.5,
            note=f"{HELD_OUT_COUNT} stories; trigram model: {trigram_perplexity(training, wide):.1f}",
        ),
        Metric("generated stories that keep their subject", kept, slack=0.1, at_least=0.8, note=f"{REQUESTS} requests, temperature 0.7"),
        Metric("the same, wider world and made-up names", kept_wide, slack=0.15, at_least=0.6, note=f"{REQUESTS} requests"),
        Metric("the same, for kinds never met in training", kept_unseen, slack=0.15, note=f"{REQUESTS} requests: a known limit, see below"),
        Metric("generated stories that come to an end", complete, slack=0.05, at_least=0.9, note="within 420 tokens"),
    ]


def checks(folder: Path) -> list:
    """What else the folder must hold to be served as a decoder: (what, what is wrong or None)."""
    files = [
        (f"{name} is as decoder_files.py writes it", None if (folder / "1" / name).read_text() == file_text(name) else "it differs")
        for name in FILES
    ]
    ids = Tokenizer.from_file(str(tokenizer_file(folder))).encode("Once").ids
    return [*files, ("a prompt begins with the end token", None if ids[0] == END_ID and END_ID not in ids[1:] else f"its ids are {ids}")]
