"""The byte-pair tokenizer: 2,048 pieces, learned from the stories, stored as tokenizer.json beside the model."""

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

VOCABULARY = 2_048
END = "<|end|>"  # stands before every story and after it
END_ID = 0


def tokenizer_file(folder: Path) -> Path:
    return folder / "1" / "tokenizer.json"


def train_tokenizer(texts) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = begins_with_end()
    return tokenizer


def begins_with_end() -> processors.TemplateProcessing:
    """Whoever encodes a prompt gets the token before it without knowing of it."""
    return processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, END_ID)])
