"""Models: looked at without being loaded; what could run or does not add up is refused with the reason."""

from __future__ import annotations

import json

import pytest

from tests.kit import make
from tests.kit.service import reading_in_transactions
from webapp.core.problems import Invalid
from webapp.jobs.models import Job
from webapp.registry import checkpoints, services


def spoilt(**changes):
    return json.dumps({**make.CONFIG, **changes}).encode()


def test_registering_a_sound_folder_gives_its_facts_and_asks_a_worker_to_look(world, by):
    upload = make.upload(by, {f"tiny/{name}": content for name, content in make.checkpoint().items()})
    client = world.api(world.bob)
    answer = client.post("/api/v1/models/", {"name": "tiny", "upload": str(upload.pk)})
    assert (answer.status_code, answer.json()["state"]) == (202, "checking")
    assert answer["Location"].endswith(f"/api/v1/models/{answer.json()['id']}/")
    facts = answer.json()["facts"]
    assert (facts["architecture"], facts["vocab_size"], facts["layer_count"]) == ("LlamaForCausalLM", 32, 2)
    assert facts["parameter_count"] == 32 * 8 + 8 + 2 * (4 * 64 + 3 * 128 + 16)
    assert client.post("/api/v1/models/", {"name": "x", "hub_id": "Qwen/Qwen3-0.6B"}).status_code == 202
    assert [job.kind for job in Job.objects.order_by("created")] == ["check-model", "fetch-model"]


PICKLE, GGUF = b"\x80\x04\x95\x00\x00.", b"GGUF" + bytes(100)
WHOLE = make.checkpoint()
REFUSED = [
    (make.checkpoint(**{"sub/optimizer.pth": PICKLE}), "is a pickle, which can run any code"),
    (make.checkpoint(**{"modeling_x.py": PICKLE}), "never runs code that was sent"),
    (make.checkpoint(**{"vocab.txt": PICKLE}), "is not text"),
    (make.checkpoint(**{"tokenizer.model": PICKLE}), "is not a SentencePiece model"),
    (make.checkpoint(**{"config.json": spoilt(auto_map={"AutoModelForCausalLM": "modeling_x.X"})}), "remote code"),
    (make.checkpoint(**{"config.json": spoilt(model_type="a\0")}), "config.json has no valid model_type"),
    (make.checkpoint(**{"config.json": spoilt(vocab_size=1 << 40)}), r"config\.json"),
    (make.checkpoint(**{"config.json": spoilt(architectures=["LlamaForCausalLMEagle3"])}), "draft head"),
    (make.checkpoint(**{"tokenizer.json/a.txt": b""}), "tokenizer.json is a file and a folder at once"),
    (make.checkpoint(**{"model.safetensors": WHOLE["model.safetensors"][:-1]}), r"model\.safetensors"),
    (make.checkpoint(**{"model.gguf": GGUF}), "model.gguf is of a kind that no model here needs"),
    ({"a.gguf": GGUF, "b.gguf": GGUF}, "There are 2 GGUF files"),
    ({"config.json": WHOLE["config.json"]}, "The model has no"),
    ({"model.safetensors": WHOLE["model.safetensors"]}, "There is no"),
    ({"lora/adapter_config.json": b"{}", "lora/adapter_model.safetensors": b""}, "This is an adapter"),
]


def test_what_could_run_or_is_no_whole_model_of_its_own_is_refused_in_words(by):
    """The engine judges folders (tests/parts/test_checkpoints.py)."""
    for files, told in REFUSED:
        with pytest.raises(Invalid, match=told):
            checkpoints.examine(make.upload(by, files))


def test_a_gguf_file_alone_is_left_to_a_worker(by):
    model = services.add_model(name="g", upload=make.upload(by, {"sub/one.gguf": GGUF, "README.md": b"about"}), by=by)
    assert (model.state, model.facts) == ("checking", {})
    assert [found["topic"] for found in services.add_pair(name="p", target=model, by=by).findings] == ["models"]


@pytest.mark.parametrize("hub_id", ["https://evil.example/a/b", "../../etc", "a/b/c", "a/..", "a/b?x", "a/b@../x"])
def test_only_an_id_of_the_hub_is_taken_never_an_address(world, hub_id):
    answer = world.api(world.bob).post("/api/v1/models/", {"name": "x", "hub_id": hub_id})
    assert (answer.status_code, answer.json()["field"]) == (400, "hub_id")
    assert not Job.objects.exists()


def test_a_hub_model_has_a_name_of_its_own_and_its_id_may_name_the_revision(world, settings):
    settings.MODEL_ROOTS = ["/models"]

    def add(**body: str) -> dict[str, str]:
        return world.api(world.bob).post("/api/v1/models/", body).json()

    longest = f"{'a' * 96}/{'b' * 96}"
    made = add(hub_id=f"{longest}@{'c' * 100}")
    assert (made["name"], made["location"], made["revision"]) == (longest, longest, "c" * 100)
    assert add(name="x", hub_id="a/b@v1", revision="v2")["field"] == "revision"
    assert add(path="/models/a")["field"] == "name"
    assert world.page(world.bob).post("/models/new/", {"hub_id": "a/b"}).status_code == 302


@pytest.mark.parametrize("path", ["/models", "/models/a/../../etc", "models/a", "/modelsx/a"])
def test_only_paths_below_the_operators_folders_are_taken(world, settings, path):
    settings.MODEL_ROOTS = ["/models"]
    answer = world.api(world.bob).post("/api/v1/models/", {"name": "x", "path": path})
    assert (answer.status_code, answer.json()["field"]) == (400, "path")
    assert "allows folders below /models" in answer.json()["detail"]
    assert world.api(world.bob).post("/api/v1/models/", {"name": "x", "path": "/models/a"}).status_code == 202


def test_exactly_one_source_is_given(world):
    answer = world.api(world.bob).post("/api/v1/models/", {"name": "x", "path": "/a", "hub_id": "a/b"})
    assert (answer.status_code, "Give only one" in answer.json()["detail"]) == (400, True)
    shown = world.page(world.bob).post("/models/new/", {"name": "x"}).content.decode()
    assert "Choose files, or give a Hugging Face id" in shown and "non_field_errors" not in shown


def test_the_bin_hides_and_gives_back_and_a_name_changes_until_a_comparison_points_at_it(world, ready):
    pair, dataset = ready
    model = make.model(world.actor(world.bob))
    client, page = world.api(world.bob), world.page(world.bob)
    assert client.delete(f"/api/v1/models/{model.pk}/").status_code == 204
    assert client.get("/api/v1/models/?name=target&binned=true").json()["count"] == 1
    assert str(model.pk) not in client.get("/api/v1/models/").content.decode()
    assert client.post(f"/api/v1/models/{model.pk}/restore/").status_code == 200
    assert client.patch(f"/api/v1/models/{model.pk}/", {"name": "new"}).json()["name"] == "new"
    shown = page.post(f"/models/{model.pk}/rename/", {"name": "newer"}, follow=True).content.decode()
    assert "new is called newer now." in shown and f"/models/{model.pk}/rename/" in shown
    assert "rename/" not in world.page(world.victor).get(f"/models/{model.pk}/").content.decode()
    make.comparison(world.actor(world.bob), pair=pair, dataset=dataset)
    for kind, entry in {"models": pair.target, "pairs": pair, "datasets": dataset}.items():
        answer = client.patch(f"/api/v1/{kind}/{entry.pk}/", {"name": "other"})
        assert (answer.status_code, answer.json()["code"]) == (409, "in-use")
        told = page.post(f"/{kind}/{entry.pk}/rename/", {"name": "other"}, follow=True).content.decode()
        assert "A comparison uses" in told and type(entry).objects.get(pk=entry.pk).name == entry.name


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_files_are_read(world):
    """SQLite has one writer: while a transaction parsed a file, nobody else could write."""
    bob, client = world.actor(world.bob), world.api(world.bob)
    target = make.model(bob, "target")
    upload = make.upload(bob, make.checkpoint())
    judge = make.upload(bob, make.card())
    pair = make.pair(bob)
    asked = [
        ("models", {"name": "tiny", "upload": str(upload.pk)}),
        ("pairs", {"name": "pair", "target": str(target.pk)}),
        ("classifiers", {"name": "judge", "pair": str(pair.pk), "upload": str(judge.pk)}),
    ]
    for address, body in asked:
        with reading_in_transactions('FROM "uploads_uploadedfile"') as reads:
            answer = client.post(f"/api/v1/{address}/", body)
        assert answer.status_code in (201, 202), answer.json()
        assert not reads[0]  # later, the answer names the files
