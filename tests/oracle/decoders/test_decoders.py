"""Generated tokens and their logits are those of ONNX Runtime on the file as it was written, alone and in company."""

import re
import zlib

import numpy as np
import pytest

from decoder_folders import LETTERS, Exported, write_folder
from forms import FORMS, NOT_CAUSAL, REFUSED, random_form

COUNT = 10
# Within a piece of a prompt, at its end, in several pieces, and over the ends of padded caches.
# Two of one length meet in runs without padding too.
LENGTHS = [3, 3, 21, 60, 90, 140, 300]
PIECE = 64
RANDOM_FORMS = 60
# Of the largest logit of a step.
TOLERANCE = {"FP32": 2e-4, "FP16": 5e-2}


def prompts_of(seed):
    source = np.random.default_rng(seed)
    return ["".join(source.choice(list(LETTERS), length)) for length in LENGTHS]


def compare(answer, way, form, prompts, expected):
    """Steps are compared up to the first token that could be another one by rounding."""
    # What is rounded to 8 bits may be rounded to the next value.
    tolerance = TOLERANCE["FP16" if form.quantized else form.type]
    compared = 0
    for prompt, tokens, logits, steps in zip(prompts, answer[way], answer[f"{way}Logits"], expected, strict=True):
        assert len(tokens) == len(logits) == len(steps) == COUNT
        for at, (token, given, wanted) in enumerate(zip(tokens, logits, steps)):
            largest = np.abs(wanted).max()
            difference = np.abs(np.array(given, np.float64) - wanted).max()
            assert difference <= tolerance * largest, f"{way}, a prompt of {len(prompt)} tokens, step {at}: {difference} of {largest}"
            compared += 1
            if token != int(np.argmax(wanted)):
                margin = np.subtract(*np.sort(wanted)[:-3:-1])
                assert margin <= max(1e-3, 2 * tolerance * largest), f"{way}, a prompt of {len(prompt)} tokens, step {at}"
                break
    return compared


def check(server, folder, form, seed, refusal=None, is_causal=True):
    prompts = prompts_of(seed)
    if not is_causal:
        prompts = [prompt for prompt in prompts if len(prompt) <= PIECE]
    path = write_folder(folder, form, seed)
    exported = Exported(path, form)
    expected = [exported.generated(prompt, COUNT) for prompt in prompts]
    answer = server.generate(path, prompts, COUNT)
    assert "failed" not in answer, answer["failed"]
    if refusal is not None:
        assert re.search(refusal, answer.get("refused", "not refused")), answer
        return
    assert "refused" not in answer, answer["refused"]
    # To the bit, as streams that are resumed need it.
    assert answer["togetherLogits"] == answer["aloneLogits"]
    for way in ("alone", "together"):
        assert compare(answer, way, form, prompts, expected) >= len(prompts) * COUNT / 2


@pytest.mark.parametrize("name", FORMS)
def test_form(server, tmp_path, name):
    seed = zlib.crc32(name.encode())
    check(server, tmp_path, FORMS[name], seed, REFUSED.get(name), name not in NOT_CAUSAL)


@pytest.mark.parametrize("seed", range(RANDOM_FORMS))
def test_random_form(server, tmp_path, seed):
    form = random_form(np.random.default_rng(seed))
    print(form)
    check(server, tmp_path, form, seed)


def test_rewritten_graphs_are_among_them(server):
    """Nothing would be compared if no graph were rewritten."""
    assert server.rewritten > 200
