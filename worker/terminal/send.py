"""`./drafthouse send`: files or a folder to a running Drafthouse, the way browsers send them. Stopped and started
again, it goes on with what is missing."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker.terminal.ending import ended
from worker.terminal.service import HERE, PATIENCE, REFUSED, Service, ServiceRefused, exit_with

CHUNK = 8 * 1024 * 1024
LOOK_EVERY = 1.0  # s, while a worker unpacks
UPLOADS = "/api/v1/uploads/"


@dataclass
class FileToSend:
    """A file under the name it will have."""

    path: str
    file: Path
    chunks: list[str] = field(default_factory=list)

    def pieces(self) -> Iterator[bytes]:
        with self.file.open("rb") as file:
            while piece := file.read(CHUNK):
                yield piece

    def to_dict(self) -> dict[str, Any]:
        self.chunks = [hashlib.sha256(piece).hexdigest() for piece in self.pieces()]
        return {"path": self.path, "size": self.file.stat().st_size, "chunks": self.chunks}


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="./drafthouse send",
        description="Send files, or a folder such as a model's, to a running Drafthouse; prints the upload's id.",
        epilog="DRAFTHOUSE_TOKEN holds the API token.",
    )
    parser.add_argument("path", type=Path, nargs="+", help="files, or one folder")
    parser.add_argument("--to", default=HERE, metavar="ADDRESS", help="where Drafthouse is (%(default)s)")
    asked = parser.parse_args(argv)
    for path in asked.path:
        if not path.exists():
            parser.error(f"there is no {path}")
    files = list(_listed(asked.path))
    if not files:
        parser.error("there is no file to send")
    try:
        upload = send(Service(asked.to), asked.path[0].resolve().name, files)
    except (ServiceRefused, OSError) as error:
        if isinstance(error, OSError) and not error.filename:
            sys.stderr.write("\nIt stopped. The same command goes on with what is missing.\n")
        exit_with(error)
    if upload["state"] != "complete":
        sys.stderr.write(f"{upload['reason']}\n")
        sys.exit(REFUSED)
    sys.stderr.write(f"{upload['name']} is there, whole and checked. Its upload's id is:\n")
    sys.stdout.write(f"{upload['id']}\n")


def send(service: Service, name: str, files: Sequence[FileToSend]) -> dict[str, Any]:
    sys.stderr.write(f"Reading {len(files)} file{'s' if len(files) > 1 else ''} …\n")
    upload: dict[str, Any] = service.ask("POST", UPLOADS, {"name": name, "files": [one.to_dict() for one in files]})
    missing, count = set(upload["missing"]), len(upload["missing"])
    for one in files:
        for chunk, piece in zip(one.chunks, one.pieces() if missing & set(one.chunks) else (), strict=False):
            if chunk in missing:
                missing.remove(chunk)
                _put(service, f"{UPLOADS}{upload['id']}/chunks/{chunk}/", piece, upload["is_direct"])
                sys.stderr.write(f"\r{count - len(missing)} of {count} pieces sent ")
    if count:
        sys.stderr.write("\n")
    upload = service.ask("POST", f"{UPLOADS}{upload['id']}/complete/")
    while upload["state"] == "unpacking" and not upload["reason"]:
        time.sleep(LOOK_EVERY)
        upload = service.ask("GET", f"{UPLOADS}{upload['id']}/")
    return upload


def _put(service: Service, address: str, piece: bytes, is_direct: bool) -> None:
    """Send a piece through the service, or straight to its bucket; then ask whether it has come."""
    offer: dict[str, Any] = service.ask("POST", address) if is_direct else {"is_here": False, "url": ""}
    if offer["is_here"]:
        return
    if not offer["url"]:
        service.put(address, piece)
        return
    straight = urllib.request.Request(offer["url"], piece, {"Content-Type": "application/octet-stream"}, method="PUT")
    try:
        with urllib.request.urlopen(straight, timeout=PATIENCE):
            pass
    except urllib.error.HTTPError as error:  # its file name is the signed address
        raise OSError(f"the bucket answers {error.code} {error.reason}") from None
    if not service.ask("POST", address)["is_here"]:
        raise OSError("the bucket took a piece, and it is not there")


def _listed(paths: Sequence[Path]) -> Iterator[FileToSend]:
    for path in paths:
        if path.is_dir():
            root = path.resolve()
            for file in sorted(root.rglob("*")):
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(root).parts):
                    yield FileToSend(f"{root.name}/{file.relative_to(root).as_posix()}", file)
        else:
            yield FileToSend(path.name, path)


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
