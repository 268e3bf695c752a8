"""Build the wheel, the sdist and their checksums: `python3 package/release.py [FOLDER] [--tag]`. Needs git and pip.

`--tag` makes a release of it: the first heading of CHANGELOG.md gets today's date, that is committed, and the commit
gets the tag `v` and the version. Nothing is pushed or uploaded; the last lines say what to do.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import runpy
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
BUILDER = "build==1.6.1"
MOST_BYTES = 60_000_000
HEADING = re.compile(r"^## (?P<version>\S+)(?P<rest>.*)$", re.MULTILINE)
NEXT = """Next:
  git push origin HEAD {tag}
  python3 -m twine upload {folder}/*.whl {folder}/*.tar.gz
  for image in web worker worker-gpu; do docker build --target $image --build-arg COMMIT={commit} \\
    --label org.opencontainers.image.version={version} --label org.opencontainers.image.revision={commit} \\
    --tag drafthouse-$image:{version} .; done"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="where the files go (dist)")
    parser.add_argument("--tag", action="store_true", help="date the changelog's heading, commit it and tag the commit")
    asked = parser.parse_args()
    found = HEADING.search(CHANGELOG.read_text(encoding="utf-8"))
    version = found["version"] if found else sys.exit("CHANGELOG.md has no heading `## VERSION`. Add one.")
    folder = asked.folder.resolve()
    if asked.tag:
        refuse_to_tag(version, found["rest"])
        with dated():
            build(folder, version)
            git("commit", "--quiet", "--message", f"Release {version}", str(CHANGELOG))
        git("tag", "--annotate", f"v{version}", "--message", f"Drafthouse {version}")
        say(NEXT.format(tag=f"v{version}", folder=folder, commit=git("rev-parse", "HEAD"), version=version))
    else:
        build(folder, version)


def refuse_to_tag(version: str, rest: str) -> None:
    """End with a sentence where this is no state to release."""
    if changed := git("status", "--porcelain"):
        sys.exit(f"Some files are changed or new, and not committed. Commit or remove them first:\n{changed}")
    if rest.strip() != "(unreleased)":
        sys.exit(f"The first heading of CHANGELOG.md is of {version}, which is not (unreleased). Begin a new version.")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"There is a tag v{version} already. Begin a new version in CHANGELOG.md.")


@contextmanager
def dated() -> Iterator[None]:
    """Put today's date into the first heading; put the old text back if the code in this context fails."""
    before = CHANGELOG.read_text(encoding="utf-8")
    CHANGELOG.write_text(before.replace("(unreleased)", f"({datetime.date.today()})", 1), encoding="utf-8")
    try:
        yield
    except BaseException:
        CHANGELOG.write_text(before, encoding="utf-8")
        raise


def build(folder: Path, version: str) -> None:
    """Build the sdist, from it the wheel, and write SHA256SUMS beside them."""
    browser_libraries()
    names = [f"drafthouse-{version}.tar.gz", f"drafthouse-{version}-py3-none-any.whl"]
    with tempfile.TemporaryDirectory() as builder:
        venv.create(builder, with_pip=True)
        python = Path(builder, "bin", "python")
        call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", BUILDER)
        call(python, "-m", "build", "--outdir", folder, ROOT)
    for name in names:
        if (size := (folder / name).stat().st_size) > MOST_BYTES:
            sys.exit(f"{name} has {size:,} bytes, which is more than {MOST_BYTES:,}. Leave something out.")
    sums = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text("".join(sums))
    say(f"{' and '.join(names)} are in {folder}.")


def browser_libraries() -> None:
    """Fetch the libraries that pages use, as `./drafthouse up` does."""
    runpy.run_path(str(ROOT / "drafthouse"))["prepare_pages"]()


def call(*command: object) -> None:
    """Run a program quietly. If it fails, end with all that it said."""
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nNothing was released; the lines above say why.")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
