"""A tokenizer as llama.cpp reads it: byte-level BPE whose cuts llama.cpp knows by a name.

Another tokenizer is refused: llama.cpp would give other token ids without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf

from decoding.errors import BadExport
from decoding.models.checkpoints import tokenizer_of
from decoding.models.folder import ModelFolder

# Cuts of a text, as tokenizer.json spells them.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DIGIT = r"\p{N}"
_WORD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = _WORD + r"|\p{N}{1,3}" + _REST
QWEN2 = _WORD + r"|\p{N}" + _REST

# llama.cpp's name by the cuts and by whether a whole word is taken before its merges. Its tekken and gpt-4o are not
# here: they cut at accented letters where tokenizer.json does not.
NAMES = {
    ((GPT2,), False): "gpt-2",
    ((DIGIT, GPT2), False): "smollm",
    ((LLAMA3,), True): "llama-bpe",
    ((LLAMA3,), False): "smaug-bpe",
    ((QWEN2,), False): "qwen2",
}
UNSET = {"dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "byte_fallback": False}


@dataclass(frozen=True)
class Vocabulary:
    pre: str  # llama.cpp's name for how a text is cut
    tokens: list[str]
    kinds: list[int]
    merges: list[str]
    special: Mapping[str, int]  # bos, eos, eot, eom, unk, pad -> id
    adds: Mapping[str, bool]  # bos, eos -> whether a text gets it when asked for special tokens
    chat_template: str | None

    def write(self, writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(self.pre)
        writer.add_token_list(self.tokens)
        writer.add_token_types(self.kinds)
        writer.add_token_merges(self.merges)
        for name, id in self.special.items():
            writer.add_uint32(f"tokenizer.ggml.{_KEYS.get(name, name)}_token_id", id)
        for name, is_added in self.adds.items():
            writer.add_bool(f"tokenizer.ggml.add_{name}_token", is_added)
        if self.chat_template:
            writer.add_chat_template(self.chat_template)


_KEYS = {"unk": "unknown", "pad": "padding"}


def vocabulary_of(folder: ModelFolder) -> Vocabulary:
    """Read the tokenizer that transformers makes of the folder. Refuse one that llama.cpp does not have."""
    inner = tokenizer_of(folder).inner
    backend = getattr(inner, "backend_tokenizer", None)
    if backend is None:
        raise _refusal(folder.path, "is not of the tokenizers library")
    whole = json.loads(backend.to_str())
    pre = _name_of(folder.path, whole)
    tokens, kinds = _tokens(folder, whole)
    return Vocabulary(
        pre=pre,
        tokens=tokens,
        kinds=kinds,
        merges=[pair if isinstance(pair, str) else " ".join(pair) for pair in whole["model"]["merges"]],
        special=_special(folder, inner),
        adds=_adds(folder.path, inner),
        chat_template=_chat_template(inner),
    )


def _name_of(path: Path, whole: Mapping[str, Any]) -> str:
    model, normalizer = whole["model"], whole.get("normalizer")
    if model.get("type") != "BPE":
        raise _refusal(path, f"is a {model.get('type')} and not a byte-level BPE")
    if normalizer is not None and normalizer.get("type") != "NFC":
        raise _refusal(path, "rewrites a text before it cuts it")
    if odd := [name for name, usual in UNSET.items() if (model.get(name) or None) != (usual or None)]:
        raise _refusal(path, f"sets {odd[0]}")
    for token in whole.get("added_tokens") or []:
        if token.get("single_word") or token.get("lstrip") or token.get("rstrip"):
            raise _refusal(path, f"strips text beside {token['content']!r:.40}")
    cuts = tuple(_cuts(path, whole.get("pre_tokenizer")))
    name = NAMES.get((cuts, bool(model.get("ignore_merges"))))
    if name is None:
        raise _refusal(path, f"cuts a text in a way that is none of {', '.join(sorted(set(NAMES.values())))}")
    return name


def _cuts(path: Path, step: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the regular expressions by which a text is cut, one after the other."""
    match step:
        case {"type": "Sequence", "pretokenizers": steps}:
            for one in steps:
                yield from _cuts(path, one)
        case {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}:
            yield regex
        case {"type": "Digits", "individual_digits": True}:
            yield DIGIT
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": has_cuts}:
            if has_cuts:
                yield GPT2
        case _:
            raise _refusal(path, f"cuts a text by {json.dumps(step)[:80]}")


def _tokens(folder: ModelFolder, whole: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """List texts and kinds by id; ids that the tokenizer lacks and the model has are unused."""
    size = folder.vocab_size
    texts = {id: (text, gguf.TokenType.NORMAL) for text, id in whole["model"]["vocab"].items()}
    for token in whole.get("added_tokens") or []:
        kind = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
        texts[token["id"]] = (token["content"], kind)
    if max(texts, default=0) >= size:
        raise _refusal(folder.path, f"has the token {max(texts)}, and the model only {size:,} tokens")
    listed = [texts.get(id, (f"[PAD{id}]", gguf.TokenType.UNUSED)) for id in range(size)]
    if len({text for text, _ in listed}) < size:
        raise _refusal(folder.path, "has two tokens of one text")
    return [text for text, _ in listed], [int(kind) for _, kind in listed]


def _special(folder: ModelFolder, inner: Any) -> dict[str, int]:
    """Choose the tokens that end a text, as many as llama.cpp has names for, and the others that it asks for."""
    ends = sorted(folder.end_tokens, key=lambda id: (id != inner.eos_token_id, id))
    if not ends:
        raise BadExport(
            f"{folder.path} names no end token, and llama.cpp would take token 11 for one. "
            "Name eos_token_id in its generation_config.json."
        )
    found = dict(zip(("eos", "eot", "eom"), ends, strict=False))
    named = {"bos": inner.bos_token_id, "unk": inner.unk_token_id, "pad": inner.pad_token_id}
    return found | {name: id for name, id in named.items() if id is not None}


def _adds(path: Path, inner: Any) -> dict[str, bool]:
    """Find out which special tokens the tokenizer puts around a text."""
    plain, whole = (inner.encode("a", add_special_tokens=adds) for adds in (False, True))
    start = next((i for i in range(len(whole)) if whole[i : i + len(plain)] == plain), 0)
    before, after = whole[:start], whole[start + len(plain) :]
    if before not in ([], [inner.bos_token_id]) or after not in ([], [inner.eos_token_id]):
        raise _refusal(path, "puts other tokens around a text than one to begin and one to end it")
    return {"bos": bool(before), "eos": bool(after)}


def _chat_template(inner: Any) -> str | None:
    template = inner.chat_template
    return template.get("default") if isinstance(template, dict) else template


def _refusal(path: Path, reason: str) -> BadExport:
    return BadExport(f"The tokenizer of {path} {reason}, so llama.cpp would give other token ids.")
