"""Text token by token: its parts make what the Rust library decodes at once, and no part ends within a character."""

import random

import pytest

from texts import EDGES, SENTENCES, random_texts
from tokenizer_kinds import MAKERS, tokenizer_of


def random_ids(tokenizer, seed, count):
    """Of real texts, so that characters are whole, and any ids, so that they are not; special tokens among them."""
    source = random.Random(seed)
    size = tokenizer.get_vocab_size()
    sequences = [tokenizer.encode(text).ids for text in [*SENTENCES, *EDGES, *random_texts(seed, count)]]
    for _ in range(count):
        sequences.append([source.randrange(size) for _ in range(source.randint(1, 30))])
        text = tokenizer.encode(source.choice(SENTENCES)).ids
        start = source.randrange(len(text))
        sequences.append(text[start : source.randint(start, len(text))])
    return [ids for ids in sequences if ids]


def byte_run_text(tokens):
    """Tokens with bytes among them, by the rule of SentencePiece: whole characters, and U+FFFD for any other byte."""
    text = ""
    run = bytearray()

    def flush():
        nonlocal text
        while run:
            for length in range(1, 5):
                try:
                    text += bytes(run[:length]).decode()
                    del run[:length]
                    break
                except UnicodeDecodeError:
                    continue
            else:
                text += "\ufffd"
                del run[:1]

    for token in tokens:
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            run.append(int(token[3:5], 16))
        else:
            flush()
            text += token.replace("▁", " ")
    flush()
    return text


def decoded(kind, tokenizer, ids):
    if not kind.startswith("byte-fallback"):
        return tokenizer.decode(ids, skip_special_tokens=True)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    tokens = [tokenizer.id_to_token(at) for at in ids]
    text = byte_run_text([token for token in tokens if token not in special])
    text = text[1:] if kind == "byte-fallback" and text.startswith(" ") else text
    # The two agree where every byte belongs to a character.
    if "\ufffd" not in text:
        assert text == tokenizer.decode(ids, skip_special_tokens=True)
    return text


@pytest.mark.parametrize("kind", MAKERS)
def test_parts_of_a_text_make_the_whole(package, kind):
    tokenizer = tokenizer_of(kind)
    name = package.open(kind, tokenizer)
    sequences = random_ids(tokenizer, seed=2, count=250)
    answers = package.ask("increments", name=name, cases=[{"ids": ids} for ids in sequences])
    for ids, parts in zip(sequences, answers, strict=True):
        assert "".join(parts) == decoded(kind, tokenizer, ids), ids


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "word-piece"])
def test_text_after_a_prompt_is_what_the_whole_text_has_more(package, kind):
    tokenizer = tokenizer_of(kind)
    name = package.open(kind, tokenizer)
    source = random.Random(3)
    for text in [*SENTENCES, *random_texts(4, 100)]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if len(ids) < 2:
            continue
        whole = decoded(kind, tokenizer, ids)
        cut = source.randrange(1, len(ids))
        after, undivided = package.ask("increments", name=name, cases=[{"prompt": ids[:cut], "ids": ids[cut:]}, {"ids": ids}])
        assert "".join([*undivided[:cut], *after]) == whole, (text, cut)


@pytest.mark.parametrize("kind", MAKERS)
def test_stop_strings_end_the_text_wherever_tokens_end(package, kind):
    tokenizer = tokenizer_of(kind)
    name = package.open(kind, tokenizer)
    source = random.Random(5)
    cases, expected = [], []
    for text in [*SENTENCES, *random_texts(6, 100)]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        whole = decoded(kind, tokenizer, ids) if ids else ""
        if len(whole) < 4:
            continue
        stops = []
        for _ in range(source.randint(1, 3)):
            start = source.randrange(len(whole))
            stops.append(whole[start : start + source.randint(1, 6)])
        stops.append("never in a text")
        cases.append({"ids": ids, "stops": stops})
        expected.append(first_stop(whole, stops))
    assert package.ask("outputs", name=name, cases=cases) == expected
    assert sum(stop is not None for _, stop in expected) > 50


def first_stop(text, stops):
    """Character by character; of those that end together the longest."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            stop = max(found, key=len)
            return [text[: end - len(stop)], stop]
    return [text, None]
