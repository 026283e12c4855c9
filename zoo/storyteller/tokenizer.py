"""The byte-pair tokenizer: 2,048 pieces, learned from the stories, stored as tokenizer.json."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 2_048
END = "<|end|>"  # stands before every story and after it
END_ID = 0


def train_tokenizer(texts) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
