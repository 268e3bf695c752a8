"""tokenizer.json of the tokenizer in a GGUF file.

A GGUF file has no rules for how text is split; it names them. A name that is not known here is refused: any other rules
would give other token ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from decoding.models.gguf.config import TAKE_FOLDER
from decoding.models.gguf.header import GgufHeader
from decoding.models.gguf.vocabulary import DIGIT, GPT2, NAMES, QWEN2

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # kinds of tokens
CUTS = {name: (cuts, whole_words) for (cuts, whole_words), name in NAMES.items()}
CUTS |= {name: CUTS["llama-bpe"] for name in ("llama3", "llama-v3")} | {"deepseek-r1-qwen": CUTS["qwen2"]}
ENDS = ("eos", "eot", "eom")
# Control tokens at which llama.cpp ends a text, too.
ENDS_BY_TEXT = ("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>")
SPACE = "▁"
LONGEST_TOKEN = 512  # characters; runs of spaces have 256, and each way to cut a token in two is looked at
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def write_tokenizer(vocabulary: FileVocabulary, folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json, generation_config.json and the chat template."""
    _write(folder / "tokenizer.json", vocabulary.document())
    special = {f"{name}_token": vocabulary.token(key) for name, key in SPECIAL.items()}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    _write(folder / "tokenizer_config.json", settings | {name: text for name, text in special.items() if text})
    _write(folder / "generation_config.json", {"eos_token_id": vocabulary.ends()})
    if isinstance(template := vocabulary.header.values.get("tokenizer.chat_template"), str):
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


SPECIAL = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}


@dataclass(frozen=True)
class FileVocabulary:
    """The tokens of a file, and how they are put together."""

    header: GgufHeader

    def _value(self, name: str, usual: Any = None) -> Any:
        return self.header.values.get(f"tokenizer.ggml.{name}", usual)

    @cached_property
    def tokens(self) -> list[str]:
        found: list[str] = self._value("tokens", [])
        if not isinstance(found, list) or not found or len(set(found)) < len(found):
            raise _refusal(self.header, "has no tokens, or two of one text")
        if not all(isinstance(text, str) and 0 < len(text) <= LONGEST_TOKEN for text in found):
            raise _refusal(self.header, f"has a token without text, or of more than {LONGEST_TOKEN:,} characters")
        return found

    @cached_property
    def kinds(self) -> list[int]:
        found: list[int] = self._value("token_type", [])
        if len(found) != len(self.tokens):
            raise _refusal(self.header, f"has {len(self.tokens):,} tokens and kinds of {len(found):,}")
        return found

    @cached_property
    def added(self) -> dict[int, bool]:
        """Ids of tokens that are found in a text before it is split, and whether each is special."""
        return {id: kind == CONTROL for id, kind in enumerate(self.kinds) if kind in (CONTROL, USER_DEFINED)}

    @cached_property
    def ids(self) -> dict[str, int]:
        """Ids of the tokens that merges may make, and of everything before the last of them."""
        last = max((id for id, kind in enumerate(self.kinds) if kind in (NORMAL, BYTE)), default=-1)
        return {text: id for id, text in enumerate(self.tokens[: last + 1])}

    @cached_property
    def is_of_scores(self) -> bool:
        model = self._value("model")
        if model not in ("gpt2", "llama"):
            raise _refusal(self.header, f"is of the kind {model!r:.30}, not byte-level BPE or SentencePiece")
        return bool(model == "llama")

    @cached_property
    def cuts(self) -> tuple[tuple[str, ...], bool]:
        name = self._value("pre", "default")
        if name not in CUTS:
            raise _refusal(self.header, f"splits text by the rules {name!r:.40}; known are {', '.join(sorted(CUTS))}")
        return CUTS[name]

    @cached_property
    def scores(self) -> list[float]:
        found: list[float] = self._value("scores", [])
        if len(found) != len(self.tokens):
            raise _refusal(self.header, f"has {len(self.tokens):,} tokens and scores of {len(found):,}")
        return found

    @cached_property
    def merges(self) -> list[tuple[str, str]]:
        if self.is_of_scores:
            return list(self._merges_by_score())
        pairs = [tuple(pair.split(" ")) for pair in self._value("merges", [])]
        if not pairs or any(len(pair) != 2 or "".join(pair) not in self.ids for pair in pairs):
            raise _refusal(self.header, "has no merges, or merges that make no token")
        return [(left, right) for left, right in pairs]

    def _merges_by_score(self) -> Iterator[tuple[str, str]]:
        """Yield both parts of each token, best score first, as SentencePiece would join them."""
        usable = {text: id for text, id in self.ids.items() if self.kinds[id] == NORMAL}
        for text, _ in sorted(usable.items(), key=lambda item: (-self.scores[item[1]], item[1])):
            parts = [(text[:at], text[at:]) for at in range(1, len(text))]
            known = [pair for pair in parts if pair[0] in usable and pair[1] in usable]
            yield from sorted(known, key=lambda pair: (usable[pair[0]], usable[pair[1]]))

    def token(self, name: str) -> str | None:
        id = self._value(f"{name}_token_id")
        return self.tokens[id] if type(id) is int and 0 <= id < len(self.tokens) else None

    def ends(self) -> list[int]:
        """Ids of the tokens that end a text."""
        named = [self._value(f"{name}_token_id") for name in ENDS]
        by_text = [id for id, special in self.added.items() if special and self.tokens[id] in ENDS_BY_TEXT]
        return sorted({id for id in named if type(id) is int and 0 <= id < len(self.tokens)} | set(by_text))

    def document(self) -> dict[str, Any]:
        model = {
            "type": "BPE", "dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "unk_token": self.token("unknown") if self.is_of_scores else None, "fuse_unk": self.is_of_scores,
            "byte_fallback": self.is_of_scores, "ignore_merges": not self.is_of_scores and self.cuts[1],
            "vocab": self.ids, "merges": [list(pair) for pair in self.merges],
        }  # fmt: skip
        steps = self._steps_of_scores() if self.is_of_scores else self._steps_of_merges()
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(self._added()),
                **steps, "post_processor": self._around(), "model": model}  # fmt: skip

    def _added(self) -> Iterator[dict[str, Any]]:
        plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for id, special in self.added.items():
            yield {"id": id, "content": self.tokens[id], "special": special, **plain}

    def _steps_of_merges(self) -> dict[str, Any]:
        cuts, steps = self.cuts[0], list[dict[str, Any]]()
        for cut in cuts:
            if cut == DIGIT:
                steps.append({"type": "Digits", "individual_digits": True})
            elif cut != GPT2:
                steps.append({"type": "Split", "pattern": {"Regex": cut}, "behavior": "Isolated", "invert": False})
        steps.append(BYTES | {"use_regex": GPT2 in cuts})
        return {
            "normalizer": {"type": "NFC"} if cuts == (QWEN2,) else None,  # as Qwen's published tokenizers
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if steps[1:] else steps[0],
            "decoder": BYTES | {"use_regex": True},
        }

    def _steps_of_scores(self) -> dict[str, Any]:
        adds_space = self._value("add_space_prefix", usual=True)
        prepended = [{"type": "Prepend", "prepend": SPACE}] if adds_space else []
        stripped = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if adds_space else []
        spaces = [{"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]
        shown = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
                 {"type": "Fuse"}, *stripped]  # fmt: skip
        return {
            "normalizer": {"type": "Sequence", "normalizers": prepended + spaces},
            "pre_tokenizer": None,
            "decoder": {"type": "Sequence", "decoders": shown},
        }

    def _around(self) -> dict[str, Any] | None:
        """Template that puts the begin token before a text, where the file asks for that."""
        begin = self.token("bos")
        if begin is None or not self._value("add_bos_token", usual=self.is_of_scores):
            return None
        first = {"SpecialToken": {"id": begin, "type_id": 0}}
        a, b = ({"Sequence": {"id": name, "type_id": kind}} for kind, name in enumerate("AB"))
        tokens = {begin: {"id": begin, "ids": [self._value("bos_token_id")], "tokens": [begin]}}
        return {"type": "TemplateProcessing", "single": [first, a], "pair": [first, a, b], "special_tokens": tokens}


def _write(file: Path, document: object) -> None:
    file.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def _refusal(header: GgufHeader, reason: str) -> BadCheckpoint:
    return BadCheckpoint(f"The tokenizer of {header.name} {reason}. {TAKE_FOLDER}")
