"""One byte-level BPE tokenizer for both models, and the corpus as one row of its tokens."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = "<|endoftext|>"  # ends every document; begins a text, ends it and pads it
VOCABULARY = 4096  # small, because every drafted token pays for the whole output layer
CONTEXT = 1024


def train_tokenizer(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Tokenizer:
    """Learn the merges; END is token 0 and every byte has a token, so no text is out of reach."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    """Turn documents into one row of tokens, END before each."""
    tokenizer.encode_special_tokens = True  # END spelled out in a source file means the letters, not the token
    rows = [np.array([0, *tokenizer.encode(text).ids], dtype=np.uint16) for text in texts]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.uint16)


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the tokenizer as AutoTokenizer reads it."""
    tokenizer.encode_special_tokens = False
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END,
        eos_token=END,
        pad_token=END,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    fast.save_pretrained(folder)
