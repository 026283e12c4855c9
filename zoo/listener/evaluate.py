"""Words heard right and frames judged right, for voices never heard in training, in noise of 10 dB."""

from pathlib import Path

import numpy as np

from zoo.common.card import Metric
from zoo.common.session import open_session, run
from zoo.listener import streams, voices
from zoo.listener.decode import words_from

HELD_OUT_SEED = 9_000_001
STREAMS = 120
EARLY_FRAMES, LATE_FRAMES = 8, 30


def held_out_bank() -> dict:
    return voices.bank(voices.HELD_OUT_VOICES, per_command=2, per_other=12, seed=HELD_OUT_SEED)


def listen(session, samples: np.ndarray) -> tuple:
    """Streams [batch, samples] int16 frame by frame, state carried along: speech [batch, frames], commands [batch, frames, 13]."""
    batch = len(samples)
    shapes = {entry.name: entry.shape for entry in session.get_inputs()}
    state = {name: np.zeros((batch, *shape[1:]), np.float32) for name, shape in shapes.items() if name != "audio"}
    speech, commands = [], []
    for frame in range(samples.shape[1] // streams.FRAME):
        audio = samples[:, frame * streams.FRAME : (frame + 1) * streams.FRAME].astype(np.float32) / 32768
        outputs = run(session, {"audio": audio, **state})
        state = {name: outputs[f"{name}_out"] for name in state}
        speech.append(outputs["speech"][:, 0])
        commands.append(outputs["commands"])
    return np.stack(speech, 1), np.stack(commands, 1)


def errors(spoken: list, called: list) -> tuple:
    """Hits and errors (wrong, missed and made-up words) of one stream."""
    left = list(called)
    hits = wrong = 0
    for word, end in spoken:
        near = [entry for entry in left if end - EARLY_FRAMES <= entry[1] <= end + LATE_FRAMES]
        if not near:
            wrong += 1
            continue
        best = next((entry for entry in near if entry[0] == word), near[0])
        left.remove(best)
        hits += best[0] == word
        wrong += best[0] != word
    return hits, wrong + len(left)


def measure(session, bank: dict, seed: int, decibels: float) -> dict:
    samples, speech, command, events = streams.make(STREAMS, bank, seed, decibels)
    heard_speech, heard = listen(session, samples)
    totals = [errors(spoken, words_from(commands)) for spoken, commands in zip(events, heard)]
    words = sum(len(spoken) for spoken in events)
    judged = command != streams.IGNORED
    return {
        "words": words,
        "right": sum(hits for hits, _ in totals) / words,
        "error": sum(wrong for _, wrong in totals) / words,
        "speech": float(((heard_speech > 0.5) == speech).mean()),
        "command": float((heard.argmax(2) == command)[judged].mean()),
        "speech_majority": float(max(speech.mean(), 1 - speech.mean())),
    }


def evaluate(folder: Path) -> list:
    session = open_session(folder / "1" / "model.onnx")
    bank = held_out_bank()
    noisy = measure(session, bank, HELD_OUT_SEED + 1, 10.0)
    quiet = measure(session, bank, HELD_OUT_SEED + 2, 30.0)
    return [
        Metric(
            "words heard right, unseen voices, 10 dB noise",
            noisy["right"],
            slack=0.02,
            at_least=0.95,
            note=f"{noisy['words']} words in {STREAMS} streams; guessing: 0.08",
        ),
        Metric(
            "word error rate, unseen voices, 10 dB noise",
            noisy["error"],
            slack=0.02,
            at_most=0.08,
            note="wrong, missed and made-up words over spoken ones; saying nothing: 1.00",
        ),
        Metric("word error rate, unseen voices, 30 dB noise", quiet["error"], slack=0.02, at_most=0.08),
        Metric(
            "frames judged right, speech or not, 10 dB noise",
            noisy["speech"],
            slack=0.01,
            at_least=0.9,
            note=f"always the more frequent answer: {noisy['speech_majority']:.3f}",
        ),
        Metric(
            "frames judged right, command, 10 dB noise",
            noisy["command"],
            slack=0.01,
            at_least=0.93,
            note="thirteen answers, `none` among them",
        ),
    ]
