"""`./drafthouse up` as a user starts it, with helpers for tests."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.kit.processes import DEADLINE, until

ROOT = Path(__file__).parents[2]

ADD_PAIR = """
import sys, django
django.setup()
from pathlib import Path
from webapp.accounts import actor, services as accounts
from webapp.registry import prompt_sets
from webapp.registry import services as registry
from webapp.uploads import services as uploads

owner = actor.of_user(accounts.first_owner())
models = []
for folder in map(Path, sys.argv[1:]):
    files = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    upload = uploads.keep(team=owner.home, name=folder.name, files=files, by=owner)
    models.append(registry.add_model(name=folder.name, upload=upload, by=owner))
registry.add_pair(name="small", target=models[0], draft=models[1], by=owner)
lines = "\\n".join(f"w{n + 1} w{n + 2} w{n + 3}" for n in range(20))
prompt_sets.add_dataset(name="words", file_name="words.txt", text=lines, by=owner)
"""


def environment(data: Path, **more: str) -> dict[str, str]:
    """Without settings of ours that happen to be set here: what a process has that works in this data folder."""
    ours = ("DATABASE_URL", "DJANGO", "DRAFTHOUSE", "POSTGRES", "REDIS_URL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "DRAFTHOUSE_DATA": str(data), "PYTHONPATH": str(ROOT), **more}


class Up:
    """Started in a data folder of its own, on a port of its own."""

    def __init__(self, data: Path, *arguments: str, **settings: str) -> None:
        data.mkdir(exist_ok=True)
        self.data = data
        self.log = data / f"said-{len(list(data.glob('said-*.txt')))}.txt"
        self.env = environment(data, **settings)
        command = [sys.executable, "-P", "-m", "worker.supervisor", "--data", str(data), "--port", "0", *arguments]
        with self.log.open("x") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.env, cwd="/")

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait(self, within: float = DEADLINE) -> Up:
        until(lambda: "Ctrl-C stops everything" in self.said or self.process.poll() is not None, "the pages", within)
        assert self.process.poll() is None, self.said
        self.address = re.findall(r"is at (\S+)", self.said)[-1]
        return self

    def interrupt(self) -> float:
        """Send one Ctrl-C; return the seconds until everything has stopped."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(DEADLINE)
        return time.monotonic() - start

    def family(self) -> dict[int, str]:
        return family(self.data)

    def find(self, word: str) -> int | None:
        """Return the process whose command has this word, if one runs now."""
        return next((pid for pid, command in self.family().items() if word in command), None)

    def pid_of(self, word: str) -> int:
        """Return the process whose command has this word; wait for it, because its predecessor may have just ended."""
        pid: int = until(lambda: self.find(word), word)
        return pid

    def token(self, *arguments: str) -> str:
        """Return the token that `./drafthouse token` prints."""
        command = [sys.executable, "-P", "-m", "worker.supervisor.token", "--data", str(self.data), *arguments]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=True).stdout.strip()

    def call(self, path: str, token: str, body: dict[str, Any] | None = None, within: float = DEADLINE) -> Any:
        request = urllib.request.Request(
            f"{self.address}/api/v1/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=within) as answer:
            return json.load(answer)

    def patiently(self, path: str, token: str) -> Any:
        """Read, even while the web server is being started again."""

        def answer() -> list[Any]:
            with suppress(OSError):
                return [self.call(path, token)]
            return []

        return until(answer, "an answer")[0]

    def end_of(self, made: dict[str, Any], token: str) -> dict[str, Any]:
        """Wait for the end of what was launched, and return its job."""

        def ended() -> dict[str, Any] | None:
            job: dict[str, Any] = self.patiently(f"jobs/{made['job']['id']}/", token)
            return None if job["state"] in ("queued", "running") else job

        found: dict[str, Any] = until(ended, "the end of the job")
        return found


def family(data: Path) -> dict[int, str]:
    """Every process that belongs to this data folder, whoever started it."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            mine = f"DRAFTHOUSE_DATA={data}".encode() in (process / "environ").read_bytes().split(b"\0")
            mine = mine or (process / "cwd").readlink() == data / "valkey"  # its title overwrites the others
            is_zombie = (process / "stat").read_text().rpartition(") ")[2].startswith("Z")
        except OSError:
            continue
        if mine and not is_zombie:
            found[int(process.name)] = " ".join(words)
    return found


def add_pair(up: Up, folder: Path) -> None:
    """A small random pair called `small`, and prompts called `words`, in the first owner's team."""
    from tests.kit.models import LLAMA, save  # loads torch

    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", seed=1, **{**LLAMA, "num_hidden_layers": 1})
    env = {**up.env, "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    subprocess.run([sys.executable, "-c", ADD_PAIR, folder / "target", folder / "draft"], env=env, check=True)


def launched(up: Up, token: str, **changes: Any) -> dict[str, Any]:
    """Post a comparison of the small pair on the words."""
    named = {kind: up.call(f"{kind}s/", token)["results"] for kind in ("pair", "dataset")}
    body = {
        "pair": next(one["id"] for one in named["pair"] if one["name"] == "small"),
        "dataset": next(one["id"] for one in named["dataset"] if one["name"] == "words"),
        "strategies": [{"strategy": "static", "params": {"lookahead": 3}}],
        "sampling": {"max_new_tokens": 64, "ignore_eos": True},
        **changes,
    }
    made: dict[str, Any] = up.call("comparisons/", token, body)
    return made
