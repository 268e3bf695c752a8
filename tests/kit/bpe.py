"""Byte-level tokenizers trained here, one for each way of cutting a text that llama.cpp has a name for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from decoding.models.gguf.vocabulary import DIGIT, GPT2, LLAMA3, NAMES
from tests.kit.models import save

SIZE = 600
HARD = (
    "def add(a, b):\n    return a + b\n\n\n# don't, I'LL and we've\t\t tabs  \n  \r\n\r\n end   ",
    "3 33 333 3333 33333 3.14159 1,234,567 x2y3 ½ ² ٣٤ १२३",
    "ünïcödé e\u0301 naïve Straße ﬁ İstanbul ǆ Привет мир 我想在apple工作1314151天～ កាន់តែពិសេស",
    "🚀 😶\u200d🌫️ \u200b\u00a0\ufeff\u2028 \x00\x01\x7f ﷽",
    "<|endoftext|>a<|endoftext|> <tool>b</tool><tool> <|endof",
    "   leading, trailing   ",
    "'''''' ```` \"\"\"\" ...... !!!! ?? -->> /* */ // path/to/file\\n\n/\n",
    "camelCaseHTTPServer SCREAMING_SNAKE Ünder_Score's it's IT'S we'd",
    "\n",
    "",
)


def train(cuts: tuple[str, ...], ignore_merges: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = _pre_tokenizer(cuts)
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE - 2,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text * 3 for text in HARD if "<" not in text], trainer)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("</tool>", normalized=False)])
    return tokenizer


def _pre_tokenizer(cuts: tuple[str, ...]) -> Any:
    if cuts == (GPT2,):
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    if cuts == (DIGIT, GPT2):
        steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        return pre_tokenizers.Sequence(steps)
    split = [pre_tokenizers.Split(Regex(cut), "isolated") for cut in cuts]
    return pre_tokenizers.Sequence([*split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def save_with_bpe(
    folder: Path, model_type: str, cuts: tuple[str, ...] = (LLAMA3,), ignore_merges: bool = True, **config: Any
) -> Path:
    """Save a random model with a byte-level tokenizer."""
    save(folder, model_type, **config | {"vocab_size": SIZE + 8})
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=train(cuts, ignore_merges), eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    tokenizer.save_pretrained(folder)
    (folder / "generation_config.json").write_text('{"eos_token_id": 0}')
    return folder


CUTS = {name: key for key, name in NAMES.items()}
