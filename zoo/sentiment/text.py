"""Text to token ids, as every client must do it: tokenizer.json, at most 96 ids, padded on the right with 0."""

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

LENGTH_MAX = 96
VOCABULARY = 2_000


def train_tokenizer(texts: list) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    )
    return tokenizer


def ids_from(tokenizer: Tokenizer, texts: list, length: int | None = None) -> np.ndarray:
    encoded = [encoding.ids[:LENGTH_MAX] for encoding in tokenizer.encode_batch(texts)]
    length = length or max(1, max(len(ids) for ids in encoded))
    padded = np.zeros((len(texts), length), dtype=np.int64)
    for row, ids in enumerate(encoded):
        padded[row, : min(len(ids), length)] = ids[:length]
    return padded
