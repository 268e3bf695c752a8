"""`./drafthouse ask` and `send` against a real server, and the lines that forms and pages offer to copy, run as they
stand."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit import make
from tests.kit.live import address, layer, valkey  # noqa: F401
from tests.kit.stores import bucket, s3_server  # noqa: F401
from tests.kit.teams import World
from webapp.registry.models import Dataset
from webapp.uploads.models import Chunk, Upload
from webapp.uploads.reading import FileReader

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[3]
NAME = "Bob's `touch x` $(touch x) \"set\" ''' \\"


def test_a_question_is_answered_and_a_refusal_is_a_sentence(run, address):  # noqa: F811
    made = run(f"""./drafthouse ask POST {address}/api/v1/datasets/ '{{"name": "x", "text": "one"}}'""")
    assert (made.returncode, json.loads(made.stdout)["prompt_count"]) == (0, 1)
    refused = run(f"./drafthouse ask POST {address}/api/v1/datasets/ '{{}}'")
    assert (refused.returncode, refused.stdout) == (2, "") and "required" in refused.stderr
    assert "Set DRAFTHOUSE_TOKEN" in run(f"./drafthouse ask GET {address}/api/v1/me/", DRAFTHOUSE_TOKEN="").stderr
    away = run("./drafthouse ask GET http://127.0.0.1:1/api/v1/me/")
    assert away.returncode == 3 and "does not answer" in away.stderr
    assert "is not the address of a Drafthouse" in run("./drafthouse ask GET localhost:8000/api/v1/me/").stderr


@pytest.fixture(params=[pytest.param("curl", marks=pytest.mark.curl), "cli", "python"])
def copied(request, run, address, tmp_path):  # noqa: F811
    """Runs what a page, asked as the server would ask for it, offers to copy in one language."""
    language = request.param

    def run_one(page: str) -> subprocess.CompletedProcess[str]:
        line = html.unescape(re.search(rf'<pre data-code="{language}"[^>]*>(.*?)</pre>', page, re.DOTALL)[1])
        if language == "python":
            (tmp_path / "copied.py").write_text(line)
            line = f"python3 {tmp_path / 'copied.py'}"
        done = run(line)
        assert done.returncode == 0, done.stderr
        return done

    return run_one


def test_what_a_form_offers_for_copying_does_what_the_form_does(world, copied, address):  # noqa: F811
    host, client = {"host": address.removeprefix("http://")}, world.page(world.alice)
    filled = {"name": NAME, "text": "it's one\n", "file_name": "prompts.txt", "preview": ""}
    copied(client.post("/datasets/new/", filled, headers=host).content.decode())
    assert Dataset.objects.get().name == NAME
    assert Dataset.objects.get().prompts.get().text == "it's one"
    assert not (ROOT / "x").exists()


def folder(at: Path) -> Path:
    made = at / "tiny"
    (made / "sub").mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (made / "weights.bin").write_bytes(bytes(8 * 1024 * 1024) + b"tail")
    (made / "sub" / "more.json").write_text("[]")
    (made / ".hidden").write_text("not sent")
    return made


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_folder_is_sent_once_and_nothing_of_it_twice(request, run, address, tmp_path, place):  # noqa: F811
    store = request.getfixturevalue("bucket") if place == "bucket" else None
    line = f"./drafthouse send {folder(tmp_path)} --to {address}"
    first = run(line)
    assert first.returncode == 0, first.stderr
    assert "4 of 4 pieces sent" in first.stderr
    upload = Upload.objects.get(pk=first.stdout.strip())
    paths = {file.path: FileReader(file, upload.team_id).read()[-4:] for file in upload.files.all()}
    assert paths == {"tiny/config.json": b"{}", "tiny/sub/more.json": b"[]", "tiny/weights.bin": b"tail"}
    again = run(line)
    assert again.returncode == 0 and "pieces sent" not in again.stderr
    assert Chunk.objects.count() == 4
    if store:
        Chunk.objects.all().delete()
        store.objects.all().delete()
        store.delete()
        told = run(line)
        assert told.returncode == 3 and "The same command goes on" in told.stderr
        assert "the bucket answers 404" in told.stderr and "Signature" not in told.stderr


TOKEN = "a token for Prometheus"
ASK = re.compile("http://(lab|localhost):8000")


def lines_that_ask() -> list[str]:
    pages = [path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]
    blocks = [block for page in pages for block in re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if ASK.search(line)]


@pytest.mark.curl
def test_commands_that_ask_a_lab_are_answered(world: World, address: str, tmp_path: Path, settings: Any) -> None:  # noqa: F811
    by, settings.METRICS_TOKEN = world.actor(world.alice), TOKEN
    make.pair(by, name="Starter"), make.dataset(by, name="Starter code")
    for name, there in (("drafthouse", ROOT / "drafthouse"), (".venv", Path(sys.prefix))):
        (tmp_path / name).symlink_to(there)
    (model := tmp_path / "path/to/target").mkdir(parents=True)
    for name, content in make.checkpoint().items():
        (model / name).write_bytes(content)
    world.script("submit")
    env = {**os.environ, "DRAFTHOUSE_TOKEN": world.tokens["submit"], "DRAFTHOUSE_METRICS_TOKEN": TOKEN}
    answers: list[str] = []
    made = ""  # the id that the next command names
    for line in lines_that_ask():
        line = re.sub(r"\bID\b", made, ASK.sub(address, line))
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        answers.append(done.stdout)
        if " send " in line or " POST " in line:
            made = answers[-1].strip() if " send " in line else json.loads(answers[-1])["id"]
    assert any("drafthouse_database_up 1" in answer for answer in answers)
    assert (tmp_path / "rounds.csv").read_text().startswith("strategy,")
