"""`./drafthouse export gguf`: models as files that llama.cpp runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from decoding.models.tensor_headers import BYTES
from worker.terminal.bench import MODEL
from worker.terminal.files import require_folder, whole_path
from worker.terminal.guarded import allow, command
from worker.terminal.material import here
from worker.terminal.options import BadArguments, Parser

DTYPES = ("float32", "float16", "bfloat16")
COPIES = 4  # of the largest tensor: as stored, reordered, cast, and while one becomes the other


def run(argv: Sequence[str]) -> None:
    parser = Parser(
        prog="./drafthouse export gguf",
        description="Write a target, and a draft, as FOLDER/target.gguf and FOLDER/draft.gguf, for llama.cpp. "
        "docs/gguf.md lists what can be written.",
        allow_abbrev=False,
    )
    parser.add_argument("--target", type=Path, required=True, metavar="MODEL", help=f"the target: {MODEL}")
    parser.add_argument("--draft", type=Path, metavar="MODEL", help="the draft")
    parser.add_argument("--dtype", choices=DTYPES, default="float16", help="of the matrices (%(default)s)")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="where the files go")
    if argv[:1] != ["gguf"] and not {"-h", "--help"} & set(argv):
        raise BadArguments("Say what to export to: ./drafthouse export gguf …. There is gguf.")
    args = parser.parse_args(argv[1:] if argv[:1] == ["gguf"] else argv)
    require_folder(args.out)

    from decoding.models.gguf.writing import export_of, write  # loads torch: slips are told before that

    models = {"target": args.target, "draft": args.draft}
    exports = {name: export_of(here(model)) for name, model in models.items() if model}
    allow(COPIES * BYTES["F32"] * max(export.largest for export in exports.values()))
    args.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:  # both files get their names at the end
        for name, export in exports.items():
            part = files.enter_context(whole_path(args.out / f"{name}.gguf"))
            write(export, part, args.dtype)
    for name, export in exports.items():
        file = args.out / f"{name}.gguf"
        print(f"{file}: {export.architecture}, {len(export.tensors)} tensors, {file.stat().st_size / 1e6:,.1f} MB")


if __name__ == "__main__":
    command(run)
