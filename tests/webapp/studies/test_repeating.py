"""Commands that repeat a study of the papers: its files, its split, and its prompts as REST gives them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from itertools import product
from urllib.parse import quote

import pytest

from decoding.prompts.prompt import first_turns
from tests.kit import make
from webapp.registry import prompt_sets
from webapp.registry.prompt_sets import prompt_of
from webapp.studies import repeating, services
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PAPERS
from worker.terminal.bench import parser_of, read_prompt_file


def launched(by, dataset, **asked):
    return services.launch(kind=PAPERS, pair=make.pair(by), dataset=dataset, by=by, **asked)


def test_the_options_name_files_split_and_sampling(by):
    sampling = {"temperature": 0.3, "max_new_tokens": 24, "stop": ["a b"]}
    found = repeating.asked(launched(by, make.dataset(by), split="test", limit=2, sampling=sampling), None)
    args = parser_of("plan", "")
    read = args.parse_args(shlex.split(str(found)))
    assert (str(read.target), str(read.draft), str(read.prompts)) == ("target", "draft", "prompts.jsonl")
    assert (read.split, read.limit, read.temperature, read.stop) == ("test", 2, 0.3, ["a b"])
    assert "--split" not in found.options


def test_a_model_is_named_or_taken_from_the_hub_and_a_classifier_is_fetched_to_where_commands_look_for_it(by):
    study = launched(by, make.dataset(by))
    draft = study.pair.draft
    draft.source, draft.upload, draft.location, draft.facts = "hub", None, "org/tiny", {"commit": "abc123"}
    files = make.upload(by, {"classifier.safetensors": make.safetensors({"w": [2, 2]}), "card.json": b"{}"})
    classifier = classifying.add_classifier(name="disco", pair=study.pair, upload=files, by=by)
    found = repeating.asked(study, classifier)
    target, _, disco = found.files
    assert (
        target
        == f"# target: a copy of the folder that was sent as the model target (/api/v1/models/{study.pair.target_id}/)"
    )
    assert "--target target --draft org/tiny@abc123 " in found.options
    assert "for name in card.json classifier.safetensors; do" in disco and "> disco/$name" in disco
    assert f"/api/v1/classifiers/{classifier.pk}/files/$name/" in disco


def plain(by):
    rows = [{"text": f'"follows": "" {n}', "split": "test" if n % 2 else "train"} for n in range(520)]
    return "".join(json.dumps(row) + "\n" for row in rows), "prompts.jsonl"


def chat(by):
    rows = [{"conversations": [{"from": "human", "value": f"{n}?"}, {"from": "gpt", "value": "!"},
                               {"from": "human", "value": "And?"}], "split": "test"} for n in range(3)]  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows), "chats.jsonl"


def added(by, made, name="words"):
    text, file_name = made(by)
    return prompt_sets.add_dataset(name=name, file_name=file_name, text=text, by=by)


def fetch(world, study, folder, commands):
    """Run commands of a recipe; its `./drafthouse ask` gets what REST answers."""
    sets, splits = filter(None, (study.dataset_id, study.also_set)), ("", "&split=test", "&split=train")
    for dataset, page, split in product(sets, (0, 500), splits):
        address = f"/api/v1/datasets/{dataset}/prompts/?limit=500&offset={page}{split}"
        (folder / quote(address, safe="")).write_bytes(world.api(world.victor).get(address).content)
    script = "import pathlib, sys\nfrom urllib.parse import quote\n"
    script += "print(pathlib.Path(quote(sys.argv[-1], safe='')).read_text())\n"
    (folder / "drafthouse").write_text(f"#!{sys.executable}\n{script}")
    (folder / "drafthouse").chmod(0o755)
    for command in commands:
        subprocess.run(["bash", "-c", command], cwd=folder, check=True)


def told(prompts):
    return [(each.id, each.content, each.split) for each in prompts]


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        (plain, {"split": "test", "limit": 7}),
        (plain, {"limit": 510}),
        (chat, {}),
        (chat, {"limit": 3}),
        (chat, {"split": "test", "limit": 3}),
    ],
    ids=["split", "no split", "chat", "some turns", "some turns of a split"],
)
def test_the_commands_fetch_the_prompts_of_the_study(world, by, tmp_path, made, asked):
    study = launched(by, added(by, made), **asked)
    found = repeating.asked(study, None)
    fetch(world, study, tmp_path, found.files[2:])
    read = shlex.split(found.options)
    form = read[read.index("--form") + 1]
    limit = int(read[read.index("--limit") + 1])
    prompts = read_prompt_file(tmp_path / "prompts.jsonl", found.split or None, limit, form)
    assert told(prompts) == told(first_turns(prompt_of(row) for row in study.prompts))


@pytest.mark.parametrize("made", [plain, chat])
@pytest.mark.parametrize("asked", [{}, {"limit": 4}, {"limit": 4, "split": "test"}], ids=["all", "some", "of a split"])
def test_further_prompts_are_those_of_the_study_and_counted_as_such(world, by, tmp_path, made, asked):
    """The study's own conversations have fewer first turns than there are plain prompts."""
    further = added(by, made, name="further")
    study = launched(by, added(by, chat), also=further, **asked)
    found = repeating.asked(study, None)
    fetch(world, study, tmp_path, found.files[2:])
    read = shlex.split(found.options)
    prompts = read_prompt_file(tmp_path / found.also, found.split or None, int(read[read.index("--limit") + 1]))
    expected = first_turns(prompt_of(row) for row in study.prompts_of(further))
    assert told(prompts) == told(expected)
    study.document = make.STUDIES["papers"]
    counted = services.document_of(study)["prompts"]
    assert counted["count"] == len(first_turns(prompt_of(row) for row in study.prompts)) < study.limit
    assert counted["also"]["count"] == len(expected)
    study.save()
    page = world.page(world.bob).get(f"/studies/{study.pk}/").content.decode()
    assert f"· {counted['count']} of <a" in page
