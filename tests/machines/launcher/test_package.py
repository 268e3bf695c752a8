"""The wheel: built by the release script, installed where no clone is, used, and taken away again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.up import DEADLINE
from webapp.core.version import release

ROOT = Path(__file__).parents[3]
RELEASE = Path("package", "release.py")
OURS = ("DATABASE_URL", "DJANGO", "DRAFTHOUSE", "NUMBA", "PYTHON", "REDIS_URL", "XDG")


class Machine:
    """An environment of its own that sees the packages of ours, so that none is fetched, and an empty home."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.bin = folder, folder / "home", folder / "venv" / "bin"
        self.home.mkdir()
        venv.create(folder / "venv", with_pip=True)
        self.packages = next((folder / "venv" / "lib").glob("python3*")) / "site-packages"
        (self.packages / "seen.pth").write_text(sysconfig.get_path("purelib"))

    def start(self, program: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return subprocess.Popen(
            [self.bin / program, *map(str, arguments)],
            env={**clean, "HOME": str(self.home), **environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, program: str, *arguments: object, code: int = 0, **environment: str) -> str:
        process = self.start(program, *arguments, **environment)
        said, _ = process.communicate(timeout=DEADLINE)
        assert process.returncode == code, said
        return said

    def ours(self) -> set[str]:
        """Files and folders of the environment that have our name."""
        return {path.name for folder in (self.packages, self.bin) for path in folder.glob("*drafthouse*")}


@pytest.fixture
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, ROOT / RELEASE, folder], capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    if done.returncode != 0 and os.environ.get("CI") != "true" and "No matching distribution" in done.stderr:
        pytest.skip("pip cannot fetch what builds a wheel")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.machines
@pytest.mark.slow
def test_a_wheel_is_whole_brings_it_all_under_one_name_and_leaves_nothing_but_data(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    check_contents(built, wheel)
    machine = Machine(tmp_path)
    machine.run("pip", "install", wheel)
    assert machine.ours() == {"drafthouse", f"drafthouse-{release()}.dist-info"}
    assert machine.run("drafthouse", "--version") == f"drafthouse {release()}\n"
    assert machine.run("drafthouse", "compare", "--help").startswith("usage: drafthouse compare ")

    short = ("--strategies", "static:2", "--limit", "1", "--max-new-tokens", "4", "--threads", "1")
    assert "1 identical" in machine.run("drafthouse", "compare", *short)
    with lab_of(machine) as link:
        with urllib.request.urlopen(link[1], timeout=DEADLINE) as page:
            style = re.search(r'href="(/static/\S+?\.css)"', page.read().decode())
        assert style
        with urllib.request.urlopen(link[2] + style[1], timeout=DEADLINE) as file:
            assert file.status == 200
        token = machine.run("drafthouse", "token").strip()
        asked = urllib.request.Request(f"{link[2]}/api/v1/pairs/", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=DEADLINE) as answer:
            assert [pair["name"] for pair in json.load(answer)["results"]] == ["Starter"]
    assert "  servers  " in machine.run("drafthouse", "docs")
    (tmp_path / "file").touch()
    assert "cannot be written" in machine.run("drafthouse", "up", code=1, DRAFTHOUSE_DATA=str(tmp_path / "file" / "x"))

    machine.run("pip", "uninstall", "--yes", "drafthouse")
    assert machine.ours() == set()
    others = {"pip", "settings.toml"}  # pip asks rustc for its version, which leaves a file
    assert {path.name for path in machine.home.glob("*/*")} <= {"share", "drafthouse"} | others


def check_contents(built: Path, wheel: Path) -> None:
    for line in (built / "SHA256SUMS").read_text().splitlines():
        told, name = line.split()
        assert hashlib.sha256((built / name).read_bytes()).hexdigest() == told
    about = f"drafthouse-{release()}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    assert [name for name, text in texts.items() if b"\nfrom tests" in text] == []
    of_a_clone = {name for name, text in texts.items() if b"./drafthouse" in text and "/starter/" not in name}
    assert of_a_clone == {"drafthouse/__init__.py", "drafthouse/docs/start.md", f"{about}/METADATA"}
    assert {"drafthouse/static/vendor/htmx.js", "drafthouse/starter/pair/target/config.json"} <= texts.keys()
    assert {name.split("/")[0] for name in texts} == {"drafthouse", about}


@contextmanager
def lab_of(machine: Machine) -> Iterator[re.Match[str]]:
    """Start the lab, yield the sign-in link that it prints, and stop it."""
    up, said = machine.start("drafthouse", "up", "--port", "0", "--workers", "0"), ""
    assert up.stdout
    for line in up.stdout:
        said += line
        if "Ctrl-C stops everything" in line:
            break
    link = re.search(r"half an hour: ((.+)/enter/.+)", said)
    try:
        assert link, said
        yield link
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=DEADLINE)
    assert up.returncode == 0
