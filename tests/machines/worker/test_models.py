"""Checking a model: ready with facts, or refused with the reason."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings

from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry import services as registry
from worker.cache import FileCache
from worker.disk import Stopped
from worker.gguf_folders import folder_of_gguf


def modes(folder: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*"))}


def test_a_sound_model_becomes_ready_and_its_owners_alone_also_one_that_an_older_version_brought(
    checked, checkpoints, tmp_path, make_worker
):
    model = checked()
    assert (model.state, model.reason) == ("ready", "")
    assert (model.facts["runner"], model.facts["model_type"]) == ("fast", "llama")
    job = Job.objects.get()
    assert job.state == "succeeded"
    said = list(job.events.values_list("sentence", flat=True))
    assert {"Reading its files: 0 of 1.", "Loading its tokenizer: 0 of 1."} <= {*said}
    assert modes(tmp_path / "models") == {(True, 0o700), (False, 0o600)}
    for path in (tmp_path / "models").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    make_worker("w2")
    assert modes(tmp_path / "models") == {(True, 0o700), (False, 0o600)}


def test_no_file_of_another_folder_takes_the_place_of_the_models_own(checked, checkpoints):
    """As repositories have them beside the model: what was looked at when it came is what runs."""
    own = {f"m/{name}": content for name, content in checkpoints["draft"].items()}
    others = {"m/onnx/config.json": b"{}", "m/onnx/tokenizer.json": b"{}", "zz/config.json": b"{}", "zz/evil.py": b""}
    model = checked(own | others)
    assert (model.state, model.reason) == ("ready", "")
    (folder,) = (Path(settings.DATA_DIR) / "models").iterdir()
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {*checkpoints["draft"], "onnx/config.json", "onnx/tokenizer.json"}


def test_a_tokenizer_that_does_not_load_gets_the_model_refused_in_words(checked, checkpoints):
    words = checkpoints["draft"]["tokenizer.json"].replace(b'"WordLevel"', b'"NoSuchThing"')
    model = checked({**checkpoints["draft"], "tokenizer.json": words})
    assert model.state == "refused"
    assert "The tokenizer of one cannot be loaded" in model.reason
    assert str(settings.DATA_DIR) not in model.reason  # where it lies tells its owner nothing
    assert (Job.objects.get().state, Job.objects.get().reason) == ("failed", model.reason)


def test_a_model_that_is_none_for_text_is_refused_by_its_family(checked, checkpoints):
    config = checkpoints["draft"]["config.json"].replace(b'"llama"', b'"vit"')
    model = checked({**checkpoints["draft"], "config.json": config})
    assert "as a language model: it is a 'vit'" in model.reason


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.kit.gguf_files import gemma

    folder = tmp_path_factory.mktemp("gguf")
    return gemma(folder / "model", folder / "tiny.gguf")


def test_a_gguf_file_becomes_a_model_that_says_what_it_was(team, checked, gguf_file):
    model = checked({"tiny.gguf": gguf_file.read_bytes()})
    assert (model.state, model.reason) == ("ready", "")
    assert model.facts["gguf"].startswith("a GGUF file (F32, ") and model.facts["runner"] == "transformers"


def test_nothing_is_left_of_a_folder_whose_job_was_stopped(gguf_file, tmp_path):
    with ExitStack() as using, pytest.raises(Stopped):
        folder_of_gguf(gguf_file, FileCache(tmp_path / "cache", 2**30), using, may_go_on=lambda: False)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_model_that_could_not_be_looked_at_says_why_and_is_not_refused(
    team, make_worker, settings, tmp_path, checkpoints
):
    settings.MODEL_ROOTS = [tmp_path]
    model = registry.add_model(name="far", path=str(tmp_path / "far"), by=team)
    make_worker(queue="light").look()
    model.refresh_from_db()
    assert Job.objects.get().state == "failed"
    assert model.state == "checking" and "this worker's machine has no such folder" in model.reason
    (tmp_path / "far").mkdir()
    for name, content in checkpoints["draft"].items():
        (tmp_path / "far" / name).write_bytes(content)
    jobs.retry(job=Job.objects.get(), by=team)
    make_worker(queue="light").look()
    model.refresh_from_db()
    assert (model.state, model.reason) == ("ready", "")
