"""Which tokens may be drawn and how probable they are, by the published formulas of each parameter, in numpy."""

import numpy as np
import pytest

VOCABULARY = 500


def processed(logits, prompt, output, temperature=1.0, **parameters):
    """The order of vLLM, in float32 where it has float32: bias, penalties, temperature, top-k, min-p, top-p."""
    scores = np.array(logits, np.float32)
    for token, bias in parameters.get("logit_bias", {}).items():
        scores[int(token)] += bias
    counts = np.bincount(np.array(output, int), minlength=len(scores))
    seen = np.zeros(len(scores), bool)
    seen[[*prompt, *output]] = True
    penalty = parameters.get("repetition_penalty", 1.0)
    scores = np.where(seen, np.where(scores > 0, scores / penalty, scores * penalty), scores)
    scores = scores - parameters.get("frequency_penalty", 0.0) * counts
    scores = scores - parameters.get("presence_penalty", 0.0) * (counts > 0)
    scores = scores.astype(np.float32).astype(np.float64)
    if temperature == 0:
        return scores, None
    scores = scores / temperature
    kept = np.ones(len(scores), bool)
    top_k = parameters.get("top_k", 0)
    if 0 < top_k < len(scores):
        kept &= scores >= np.sort(scores)[-top_k]
    weights = np.where(kept, np.exp(scores - scores.max()), 0)
    kept &= weights / weights.sum() >= parameters.get("min_p", 0) * (weights / weights.sum()).max()
    weights = np.where(kept, weights, 0)
    top_p = parameters.get("top_p", 1.0)
    if top_p < 1:
        order = np.argsort(-scores, kind="stable")
        before = np.cumsum((weights / weights.sum())[order]) - (weights / weights.sum())[order]
        dropped = order[(before >= top_p) & (np.arange(len(order)) > 0)]
        kept[dropped] = False
        weights = np.where(kept, weights, 0)
    return scores, weights / weights.sum()


def cases():
    source = np.random.default_rng(7)
    for number in range(400):
        spread = source.choice([0.1, 1, 3, 10])
        logits = (source.standard_normal(VOCABULARY) * spread).astype(np.float32)
        if number % 5 == 0:
            logits = np.round(logits)  # many equal ones
        parameters = {"temperature": float(source.choice([0, 0.3, 1, 1.7]))}
        choices = {
            "top_k": int(source.choice([1, 2, 40, 499, 500, 10_000])),
            "top_p": float(source.choice([0.01, 0.5, 0.9, 0.999])),
            "min_p": float(source.choice([0.01, 0.1, 0.9])),
            "repetition_penalty": float(source.choice([0.7, 1.2, 2])),
            "presence_penalty": float(source.choice([-1, 0.5, 2])),
            "frequency_penalty": float(source.choice([-0.5, 0.25])),
            "logit_bias": {str(token): float(source.integers(-100, 101)) for token in source.integers(0, VOCABULARY, 3)},
        }
        parameters |= {name: value for name, value in choices.items() if source.random() < 0.4}
        prompt = source.integers(0, VOCABULARY, source.integers(0, 30)).tolist()
        output = source.integers(0, VOCABULARY, source.integers(0, 30)).tolist()
        yield logits.tolist(), parameters, prompt, output


def test_distributions_follow_the_formulas(package):
    filtered = 0
    for logits, parameters, prompt, output in cases():
        given = package.ask(
            "sample", parameters=parameters, seed="1", logits=logits, prompt=prompt, output=output, draws=20
        )
        scores, probabilities = processed(logits, prompt, output, **parameters)
        if probabilities is None:
            assert set(given["chosen"]) == {int(np.argmax(scores))}, parameters
            continue
        ours = np.zeros(VOCABULARY)
        ours[given["ids"]] = given["weights"]
        ours /= ours.sum()
        assert given["ids"] == sorted(given["ids"])
        assert (ours[given["chosen"]] > 0).all()
        np.testing.assert_allclose(ours, probabilities, rtol=2e-5, atol=1e-12)
        filtered += np.count_nonzero(probabilities) < VOCABULARY
    assert filtered > 100


def test_draws_follow_the_distribution(package):
    logits = np.log(np.array([0.5, 0.25, 0.125, 0.0625, 0.0625]))
    draws = 4000
    answer = package.ask("sample", parameters={}, seed="42", logits=logits.tolist(), prompt=[], output=[], draws=draws)
    counts = np.bincount(answer["chosen"], minlength=5)
    expected = np.exp(logits) * draws
    # Four degrees of freedom; the seed is fixed.
    assert ((counts - expected) ** 2 / expected).sum() < 18.5


def philox(seed, position):
    """Philox4x32-10 by its definition, with integers of any size."""
    counter = [position & 0xFFFFFFFF, position >> 32, 0, 0]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ counter[3] ^ key[1],
            first & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return ((counter[0] >> 5) * 2**26 + (counter[1] >> 6)) / 2**53


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32 - 1, 2**32, 2**53 - 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF])
def test_random_numbers_are_those_of_philox(package, seed):
    positions = [*range(200), 2**31, 2**32 - 1, 2**32, 2**40]
    assert package.ask("random", seed=str(seed), positions=positions) == [philox(seed, at) for at in positions]
