"""A Chromium that needs no root and no system libraries: @sparticuz/chromium carries one for Lambda. Of the package
only the files are used, none of its code (docs/decisions/0007-the-launcher-installs.md)."""

from __future__ import annotations

import base64
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.programs import OWN_CHROMIUM, tool

PACKAGE = "@sparticuz/chromium@153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
UNPACK = """
const [from, to] = process.argv.slice(1), {createReadStream, createWriteStream} = require("fs");
require("stream").pipeline(createReadStream(from), require("zlib").createBrotliDecompress(), createWriteStream(to),
    error => { if (error) throw error; });
"""
START = """\
#!/bin/sh
# Start Chromium with the libraries and fonts that came with it.
export LD_LIBRARY_PATH="{folder}/lib" FONTCONFIG_FILE="{folder}/fonts.conf"
exec "{folder}/program" "$@"
"""
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/fonts-cache</cachedir></fontconfig>
"""


class WrongPackage(Exception):
    pass


def fetch(run: Callable[..., None], folder: Path = OWN_CHROMIUM) -> None:
    """Download and unpack it. The script that starts it comes last, so that half a download never counts."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        run(tool("npm"), "pack", "--silent", PACKAGE, "--pack-destination", scratch)
        (package,) = Path(scratch).glob("*.tgz")
        check(package)
        shutil.unpack_archive(package, scratch)
        for packed in sorted(Path(scratch, "package", "bin").glob("*.br")):
            run(tool("node"), "-e", UNPACK, packed, packed.with_suffix(""))
        for archive in Path(scratch, "package", "bin").glob("*.tar"):
            shutil.unpack_archive(archive, folder)
        Path(scratch, "package", "bin", "chromium").rename(folder / "program")
    (folder / "program").chmod(0o755)
    (folder / "fonts.conf").write_text(FONTS.format(folder=folder))
    (folder / "chromium").write_text(START.format(folder=folder))
    (folder / "chromium").chmod(0o755)


def check(package: Path) -> None:
    digest = hashlib.sha512(package.read_bytes()).digest()
    if base64.b64encode(digest).decode() != SHA512:
        raise WrongPackage(f"{package.name} is not the {PACKAGE} that is expected here")
