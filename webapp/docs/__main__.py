"""`./drafthouse docs [FOLDER]`: write the documentation as a site."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="./drafthouse docs", description="Write the documentation as HTML files that open from a disk."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("site"), help="where to write (default: site)")
    folder = parser.parse_args().folder
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "index.js").exists())):
        parser.error(f"{folder} holds other files. Name an empty folder, or one that this command wrote.")
    with tempfile.TemporaryDirectory() as data:
        os.environ["DRAFTHOUSE_DATA"] = data  # the settings want a data folder; the documentation needs none of it
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
        import django

        django.setup()
        from webapp.docs import site

        count = site.write(folder)
    sys.stdout.write(f"{count} pages are in {folder}. Open {folder / 'index.html'} in a browser.\n")


if __name__ == "__main__":
    main()
