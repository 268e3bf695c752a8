"""Fetching from the hub, where the hub is a server of this machine: what is fetched, what is not, what goes wrong."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from decoding.errors import BadCheckpoint
from tests.kit.hub import COMMIT, Hub
from tests.kit.hub import hub as a_hub
from webapp.accounts import services as accounts
from webapp.core.hub import HubModel, parse
from webapp.registry import services as registry
from webapp.registry.models import LanguageModel
from worker import hub
from worker.disk import Stopped


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path: Path) -> Path:
    """The cache of Hugging Face tools, which is nobody's else."""
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def answering(monkeypatch, checkpoints) -> Iterator[Hub]:
    """A hub with one model, among files that it does not need."""
    beside = {"README.md": b"no", "pytorch_model.bin": b"no", "consolidated.safetensors": b"no", "onnx/a.json": b"no"}
    with a_hub() as there:
        there.add("some/model", {**checkpoints["draft"], **TEMPLATE, **beside})
        monkeypatch.setenv("HF_ENDPOINT", there.address)
        yield there


TEMPLATE = {"chat_template.jinja": b"{{ messages }}"}


def fetch(name: str, **more) -> Path:
    model = parse(name)
    assert model
    return hub.fetch(model, lambda: True, **more)


def test_a_download_that_hangs_is_cancelled(monkeypatch):
    """The hub takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        line.setblocking(False)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{line.getsockname()[1]}")
        callers: list[socket.socket] = []

        def until_called() -> bool:
            with suppress(BlockingIOError):
                callers.append(line.accept()[0])
            return not callers

        with pytest.raises(Stopped):
            hub.fetch(HubModel("some/model", COMMIT), until_called)
        callers[0].close()


def test_what_a_model_needs_is_fetched_once_and_nothing_else(answering, checkpoints, home):
    told: list[tuple[int, int]] = []
    weights = hashlib.sha256(checkpoints["draft"]["model.safetensors"]).hexdigest()
    part = home / "hub" / "models--some--model" / "blobs" / f"{weights}.0badcafe.incomplete"
    part.parent.mkdir(parents=True)
    part.write_text("left by a fetch that was killed")
    folder = fetch("some/model", on_progress=lambda done, due: told.append((done, due)))
    needed = {**checkpoints["draft"], **TEMPLATE}
    size = sum(map(len, needed.values()))
    assert sorted(answering.given) == sorted(needed) and not part.exists()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == needed
    assert (told[0][1], told[-1]) == (size, (size, size))
    assert fetch(f"some/model@{COMMIT}") == fetch("some/model@main") == folder
    assert len(answering.given) == len(needed)


def test_without_a_hub_that_works_the_cache_serves_and_nothing_else(answering, monkeypatch):
    folder = fetch("some/model")
    answering.is_broken = True
    assert fetch("some/model") == folder
    with pytest.raises(hub.Unreachable):
        fetch("some/model", must_ask=True)
    answering.shutdown()
    answering.server_close()
    assert fetch("some/model") == folder
    with pytest.raises(hub.Unreachable, match="another/model could not be fetched from the hub"):
        fetch("another/model")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch(f"some/model@{COMMIT}") == folder
    with pytest.raises(hub.Unreachable, match="HF_HUB_OFFLINE is set, and another/model is not whole in"):
        fetch("another/model")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("another/model", r"The hub gives no another/model \(http://127.0.0.1:\d+/another/model\). Check the name"),
        ("some/model@v9", "some/model has no revision v9 on the hub. Choose one of http"),
        ("gated/model", "gated/model is gated. Access to model gated/model is restricted .* Ask for access at http"),
        ("hidden/model", "The hub gives no hidden/model"),
        ("llama/cpp", "llama/cpp has no config.json with .* beside it, only GGUF weights, .* Download a GGUF file"),
        ("some/lora", r"some/lora is an adapter \(LoRA .* Merge it: "),
    ],
)
def test_what_the_hub_does_not_give_is_told_in_words(name, reason, answering, checkpoints):
    answering.add("gated/model", checkpoints["draft"], readers=("good",))
    answering.add("hidden/model", checkpoints["draft"], readers=("good",), is_private=True)
    answering.add("llama/cpp", {"config.json": b"{}", "q4.gguf": b"GGUF"})
    answering.add("some/lora", {"adapter_config.json": b"{}", "adapter_model.safetensors": b"no"})
    with pytest.raises(BadCheckpoint, match=reason):
        fetch(name, token="another")
    assert "model.safetensors" not in answering.given


def test_a_file_of_another_content_or_size_than_announced_is_refused_and_not_kept(answering, checkpoints):
    weights = checkpoints["draft"]["model.safetensors"]
    answering.false["model.safetensors"] = weights[:-1] + bytes([weights[-1] ^ 1])
    with pytest.raises(BadCheckpoint, match=r"model.safetensors of some/model is not what the hub announced"):
        fetch("some/model")
    answering.false.clear()
    answering.false_sizes["model.safetensors"] = 17
    with pytest.raises(BadCheckpoint, match="another size than the hub announced"):
        fetch("some/model")
    answering.false_sizes.clear()
    assert (fetch("some/model") / "model.safetensors").read_bytes() == weights


def test_a_model_of_the_lab_is_pinned_to_a_commit_and_fetched_once_by_the_teams_token(
    answering, checkpoints, team, make_worker
):
    answering.repositories["some/model"].readers = ("good",)
    accounts.set_hub_token(team=team.home, token="good", by=team)
    model = registry.add_model(name="far", hub_id="some/model", revision="", by=team)
    hands = make_worker(queue="light")
    hands.look()
    model.refresh_from_db()
    assert (model.state, model.reason, model.facts["commit"]) == ("ready", "", COMMIT)
    given = len(answering.given)

    registry.add_model(name="again", hub_id="some/model", revision=COMMIT, by=team)
    hands.look()
    assert list(LanguageModel.objects.values_list("state", flat=True)) == ["ready", "ready"]
    assert len(answering.given) == given


def test_another_team_gets_no_gated_model_out_of_the_cache(answering, team, make_worker):
    answering.repositories["some/model"].readers = ("good",)
    fetch("some/model", token="good")
    model = registry.add_model(name="theirs", hub_id="some/model", revision=COMMIT, by=team)
    make_worker(queue="light").look()
    model.refresh_from_db()
    assert model.state == "refused" and model.reason.startswith("some/model is gated. ")
