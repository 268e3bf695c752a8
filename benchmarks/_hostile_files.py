"""Hostile files, each at most 64 MiB, made in the folder of a small valid model or as a prompt file."""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 1 << 20
Spoil = Callable[[Path], object]  # takes the folder of a copy of the starter pair's draft
Write = Callable[[Path], object]  # takes the path of the file to write


def config(**values: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return spoil


def raw_config(text: str) -> Spoil:
    def spoil(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(text.replace("…", file.read_text().strip()[1:-1]), encoding="utf-8")

    return spoil


def rope(**values: Any) -> Spoil:
    return config(rope_parameters={"rope_theta": 10000.0, **values})


def written(name: str, content: bytes) -> Spoil:
    return lambda folder: (folder / name).write_bytes(content)


def instead(name: str, make: Write) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return spoil


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def header(entries: dict[str, Any] | bytes, weights: int = 0) -> Spoil:
    raw = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return written("model.safetensors", struct.pack("<Q", len(raw)) + raw + bytes(weights))


def entry(start: int, end: int, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def index(*names: str) -> Spoil:
    weight_map = {str(number): name for number, name in enumerate(names)}
    return written("model.safetensors.index.json", json.dumps({"weight_map": weight_map}).encode())


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    os.truncate(file, file.stat().st_size - 100)


def tokenizer(**parts: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        file = folder / "tokenizer.json"
        whole = json.loads(file.read_text())
        model = whole["model"] | parts.pop("model", {})
        file.write_text(json.dumps(whole | parts | {"model": model}))

    return spoil


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(steps: list[Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": steps}


def nested(depth: int) -> bytes:
    opening = b'{"type": "Sequence", "normalizers": ['
    return (
        b'{"normalizer": ' + opening * depth + b"]}" * depth + b', "model": {"type": "BPE", "vocab": {}, "merges": []}}'
    )


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def added(count: int) -> list[dict[str, Any]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return [{"id": 4096 + number, "content": f"<{number}>", **flags} for number in range(count)]


def unigram(count: int) -> dict[str, Any]:
    return {"type": "Unigram", "unk_id": 0, "vocab": [[f"{number:x}", -1.0] for number in range(count)], "merges": None}


TEMPLATE = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 100_000, "pair": [],
            "special_tokens": {}}  # fmt: skip
PADDING = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
           "pad_type_id": 0, "pad_token": "x"}  # fmt: skip
ROTARY = {"model_type": "gpt_bigcode", "architectures": ["GPTBigCodeForCausalLM"]}

MODELS: dict[str, Spoil] = {
    **{f"layers {value!r}": config(num_hidden_layers=value) for value in (-1, 0, 10**9, 50_000_000, True, "2", 2.5)},
    "layers 9,999": config(num_hidden_layers=9_999),
    "hidden 2**40": config(hidden_size=2**40),
    "heads 10**9": config(num_attention_heads=10**9),
    "kv heads -2": config(num_key_value_heads=-2),
    "head dim 10**9": config(head_dim=10**9),
    "vocabulary 10**9": config(vocab_size=10**9),
    "context -5": config(max_position_embeddings=-5),
    "context 10**9": config(max_position_embeddings=10**9),
    "context 2**24": config(max_position_embeddings=2**24),
    "inner width 2**31": config(intermediate_size=2**31),
    "experts 10**9": config(model_type="mixtral", architectures=["MixtralForCausalLM"], num_local_experts=10**9),
    "experts 60,000": config(model_type="mixtral", architectures=["MixtralForCausalLM"], num_local_experts=60_000),
    "a mask of 2**48": config(**ROTARY, n_positions=2**24, n_embd=192, n_layer=2, n_head=3),
    "a window of -3": config(model_type="mistral", sliding_window=-3),
    "rope theta 0": rope(rope_type="default", rope_theta=0),
    "rope theta 1, yarn": rope(rope_type="yarn", factor=2.0, rope_theta=1),
    "rope factor 0": rope(rope_type="linear", factor=0),
    "end token as text": config(eos_token_id="</s>"),
    "a number beyond all": raw_config('{…, "hidden_size": 1e999}'),
    "a number of 5,000 digits": raw_config('{…, "vocab_size": ' + "9" * 5000 + "}"),
    "a key twice": raw_config('{"num_hidden_layers": 2, …}'),
    "a byte-order mark": raw_config("\ufeff{…}"),
    "100,000 lists deep": raw_config('{…, "x": ' + "[" * 100_000 + "}"),
    "a config of 60 MiB": raw_config('{…, "x": "' + "x" * (60 * MIB) + '"}'),
    "weights: dangling link": instead("model.safetensors", lambda path: path.symlink_to("nowhere")),
    "weights: named pipe": instead("model.safetensors", lambda path: os.mkfifo(path)),
    "weights: device": instead("model.safetensors", lambda path: path.symlink_to("/dev/zero")),
    "weights: socket": instead("model.safetensors", bind),
    "weights: a folder": instead("model.safetensors", lambda path: path.mkdir()),
    "generation config: named pipe": instead("generation_config.json", lambda path: os.mkfifo(path)),
    "tokenizer config: device": instead("tokenizer_config.json", lambda path: path.symlink_to("/dev/zero")),
    "header of 60 MiB": header(b'{"x":' + b"[]," * (20 * MIB) + b"0}"),
    "100,000 empty tensors": header({f"{n}": entry(0, 0, [0]) for n in range(70_000)}),
    "tensors that overlap": header({"a": entry(0, 64, [16]), "b": entry(32, 96, [16])}, 96),
    "a tensor of 2**62": header({"a": entry(0, 64, [2**31, 2**31])}, 64),
    "an unknown dtype": header({"a": entry(0, 64, [16], "Z9")}, 64),
    "torn weights": cut,
    "an index of 100,000 files": index(*(f"model-{n}.safetensors" for n in range(100_000))),
    "an index that leaves the folder": index("../target/model.safetensors"),
    "an index with NUL": index("model\0.safetensors"),
    "tokenizer config of 60 MiB": written("tokenizer_config.json", b'{"x": [' + b"[]," * (20 * MIB) + b"0]}"),
}
TOKENIZERS: dict[str, Spoil] = {
    "four Replace of 1,000": tokenizer(normalizer=sequence([replace("a", "a" * 1000)] * 4)),
    "Replace by a pattern": tokenizer(normalizer=sequence([replace("x*", "xx", "Regex")] * 16)),
    "Prepend of a million": tokenizer(normalizer={"type": "Prepend", "prepend": "a" * MIB}),
    "a decoder of 1,000": tokenizer(decoder={"type": "Sequence", "decoders": [replace("e", "e" * 1000)] * 4}),
    "steps 400 deep": written("tokenizer.json", nested(400)),
    "steps 100,000 deep": written("tokenizer.json", nested(100_000)),
    "a million added tokens": tokenizer(added_tokens=added(300_000)),
    "45,000 added tokens": tokenizer(added_tokens=added(45_000)),
    "a million tokens": tokenizer(model=unigram(1_000_000)),
    "three million tokens": tokenizer(model=unigram(2_500_000)),
    "20 million lists": written("tokenizer.json", b'{"model": [' + b"[]," * (20 * MIB) + b"0]}"),
    "60 MiB of one text": written("tokenizer.json", ('{"x": "😀' + "x" * (60 * MIB) + '"}').encode()),
    "a pattern that backtracks": tokenizer(pre_tokenizer=split("(a|a|aa)+$")),
    "a pattern that repeats": tokenizer(pre_tokenizer=split("(((a{1,1000}){1,1000}){1,1000}){1,1000}b")),
    "a template of 100,000": tokenizer(post_processor=TEMPLATE),
    "padding to 10**9": tokenizer(padding=PADDING),
    "truncation to 10**18": tokenizer(
        truncation={"max_length": 10**18, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    ),
}


def lines_of(line: bytes, size: int = 60 * MIB) -> Write:
    return lambda path: path.write_bytes(line * (size // len(line)))


def text_of(text: str) -> Write:
    return lambda path: path.write_bytes(text.encode("utf-8", "surrogatepass"))


PROMPTS: dict[str, tuple[str, Write]] = {
    "half a surrogate pair": ("p.jsonl", text_of('{"text": "x \\ud800 y"}')),
    "an id of 5,000 digits": ("p.jsonl", text_of('{"text": "x", "id": ' + "7" * 5000 + "}")),
    "a prompt file that is a pipe": ("p.jsonl", lambda path: os.mkfifo(path)),
    "60 million empty lines": ("p.txt", lines_of(b"\n")),
    "60 million commas": ("p.csv", lines_of(b",")),
    "60 million commas in quoted lines": ("p.csv", lines_of(b'"\n",' + b"," * 99_000)),
    "4 million rows": ("p.jsonl", lines_of(b'{"text": "a"}\n')),
    "4 million broken rows": ("p.jsonl", lines_of(b'{"text": 1}\n')),
    "20 million lists in an array": ("p.json", text_of("[" + "[]," * 20_000_000)),
    "10 million numbers in a row": ("p.jsonl", text_of('{"text": "a", "x": [' + "1234," * 10_000_000 + "1]}")),
    "100,000 lists deep, in prompts": ("p.jsonl", text_of('{"text": ' + "[" * 100_000)),
    "one wide character in 60 MiB": ("p.txt", text_of("😀\n" + "x" * 500_000 + "\n" * (60 * MIB))),
    "a prompt of 60 MiB": ("p.txt", lines_of(b"word ")),
    "a prompt of a million letters": ("p.txt", lines_of(b"a", 999_999)),
}


def crowded_zip(path: Path) -> None:
    """Write an archive whose directory lists a million entries that do not exist."""
    one = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0)
    listed = b"".join(one + b"%04x" % (number & 0xFFFF) for number in range(1_000_000))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 65535, 65535, len(listed), 0, 0)
    path.write_bytes(listed + end)


def crowded_tar(path: Path) -> None:
    """Write a single header that holds six million facts about a file."""
    said = b"".join(b"13 %06x=x\n" % number for number in range(4_000_000))
    about = tarfile.TarInfo("PaxHeaders/x")
    about.type, about.size = tarfile.XHDTYPE, len(said)
    path.write_bytes(about.tobuf() + said + bytes(-len(said) % 512) + tarfile.TarInfo("x.txt").tobuf() + bytes(1024))


def full_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"{number}.txt", bytes(512 * MIB))


def repeated_table(path: Path) -> None:
    """Write a table that repeats one text of 8 MiB 200,000 times through a dictionary."""
    from arro3.core import Array, DataType, Table
    from arro3.io import write_parquet

    column = Array(["x" * (8 * MIB)] * 8, type=DataType.string())
    file = io.BytesIO()
    write_parquet(Table.from_pydict({"text": column}), file, compression="zstd(3)")
    path.write_bytes(file.getvalue())


def many_rows(path: Path) -> None:
    from arro3.core import Array, DataType, Table
    from arro3.io import write_parquet

    file = io.BytesIO()
    column = Array([None] * 20_000_000, type=DataType.string())
    write_parquet(Table.from_pydict({"text": column}), file)
    path.write_bytes(file.getvalue())


PACKED: dict[str, tuple[str, Write]] = {
    "a zip of a million entries": ("p.zip", crowded_zip),
    "a zip of 2 GiB of zeros": ("p.zip", full_zip),
    "a tar with a long header": ("p.tar", crowded_tar),
    "a table that repeats 8 MiB": ("p.parquet", repeated_table),
    "a table of 20 million rows": ("p.parquet", many_rows),
}
