"""Text from the ONNX file, step by step, with the cache carried along. Needs numpy and ONNX Runtime only."""

import numpy as np

from zoo.common.session import run
from zoo.storyteller.tokenizer import END_ID

TOKENS_MAX = 420


def cache_shapes(session) -> dict:
    return {entry.name: entry.shape for entry in session.get_inputs() if entry.name.startswith("past_key_values")}


def empty_cache(session, batch: int) -> dict:
    return {name: np.zeros((batch, shape[1], 0, shape[3]), np.float32) for name, shape in cache_shapes(session).items()}


def choose(logits: np.ndarray, generator: np.random.Generator, temperature: float, top_p: float) -> int:
    if temperature == 0:
        return int(logits.argmax())
    scaled = (logits - logits.max()) / temperature
    probabilities = np.exp(scaled.astype(np.float64))
    probabilities /= probabilities.sum()
    order = np.argsort(-probabilities)
    kept = order[: int(np.searchsorted(np.cumsum(probabilities[order]), top_p)) + 1]
    return int(generator.choice(kept, p=probabilities[kept] / probabilities[kept].sum()))


def generate(session, tokenizer, prompts: list, seed: int = 1, temperature: float = 0.7, top_p: float = 0.95) -> list:
    """Continues every prompt (left-padded into one batch) until its story ends; returns prompt and continuation."""
    encoded = [tokenizer.encode(prompt).ids for prompt in prompts]
    width = max(len(ids) for ids in encoded)
    input_ids = np.array([[END_ID] * (width - len(ids)) + ids for ids in encoded], dtype=np.int64)
    mask = np.array([[0] * (width - len(ids)) + [1] * len(ids) for ids in encoded], dtype=np.int64)
    positions = np.maximum(mask.cumsum(1) - 1, 0)
    cache = empty_cache(session, len(prompts))
    generators = [np.random.default_rng((seed, row)) for row in range(len(prompts))]
    texts = [list(ids[1:]) for ids in encoded]
    alive = [True] * len(prompts)
    for _ in range(TOKENS_MAX):
        outputs = run(session, {"input_ids": input_ids, "attention_mask": mask, "position_ids": positions, **cache})
        chosen = [choose(row[-1], generator, temperature, top_p) for row, generator in zip(outputs["logits"], generators)]
        for row, token in enumerate(chosen):
            alive[row] = alive[row] and token != END_ID
            if alive[row]:
                texts[row].append(token)
        if not any(alive):
            break
        cache = {name: outputs[name.replace("past_key_values", "present")] for name in cache}
        input_ids = np.array(chosen, dtype=np.int64)[:, None]
        mask = np.concatenate([mask, np.ones((len(prompts), 1), np.int64)], axis=1)
        positions = positions[:, -1:] + 1
    return [tokenizer.decode(ids) for ids in texts]
