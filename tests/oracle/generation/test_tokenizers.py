"""Ids and text as the Rust library has them, for tokenizers of every kind."""

import pytest

from texts import EDGES, SENTENCES, random_texts
from tokenizer_kinds import MAKERS, tokenizer_of

TEXTS = [*SENTENCES, *EDGES, *random_texts(seed=1, count=600)]


@pytest.mark.parametrize("is_framed", [True, False])
@pytest.mark.parametrize("kind", MAKERS)
def test_texts_have_the_same_ids(package, kind, is_framed):
    tokenizer = tokenizer_of(kind)
    name = package.open(kind, tokenizer)
    given = package.ask("encode", name=name, texts=TEXTS, framed=is_framed)
    expected = [tokenizer.encode(text, add_special_tokens=is_framed).ids for text in TEXTS]
    different = [(text, ours, theirs) for text, ours, theirs in zip(TEXTS, given, expected) if ours != theirs]
    assert different == []
