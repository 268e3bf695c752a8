"""Commands that repeat a study of the papers on a machine of one's own, and those that bring its files there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from decoding.public import Sampling, papers
from webapp.jobs.models import Queue
from webapp.registry.models import Dataset, LanguageModel
from webapp.studies import services
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Study

PAGE = 500  # prompts of one answer
ROWS = (  # a plain text has empty lists of messages and tools; a row that has `messages` would be read as a chat
    "python3 -c 'import json, sys; [print(json.dumps({name: value for name, value in row.items() if value != []})) "
    'for row in json.load(sys.stdin)["results"]]\''
)
FIRST_TURNS = 'grep \'"follows": ""\''


def asked(study: Study, classifier: Classifier | None) -> papers.RepeatOptions:
    """Options of the study in files of fixed names, after the commands that make these files."""
    is_chat = study.dataset.prompts.filter(chat__isnull=False).exists()
    words = [word for role, model in study.pair.by_role.items() for word in (f"--{role}", _place(role, model))]
    words += ["--prompts", "prompts.jsonl", "--form", "messages" if is_chat else "plain"]
    if study.pair.other_tokenizer != "auto":
        words += ["--other-tokenizer", study.pair.other_tokenizer]
    if study.job.queue == Queue.GPU:
        words += ["--device", "cuda:0"]
    sampling = papers.sampling_options(Sampling.from_dict(study.sampling))
    options = " ".join(filter(None, [shlex.join(words), sampling, f"--limit {study.limit}"]))
    files = tuple(_files(study, classifier))
    return papers.RepeatOptions(options, study.split, files, "also.jsonl" if study.also_set else "")


def _files(study: Study, classifier: Classifier | None) -> Iterator[str]:
    for role, model in study.pair.by_role.items():
        yield from _model(role, model)
    yield _prompts(study, study.dataset, "prompts.jsonl")
    if further := services.also_of(study):
        yield _prompts(study, further, "also.jsonl")
    if classifier:
        names = shlex.join(classifying.files(classifier.upload))
        address = f"/api/v1/classifiers/{classifier.pk}/files/$name/"
        yield f'mkdir -p disco; for name in {names}; do ./drafthouse ask GET "{address}" > disco/$name; done'


def _place(role: str, model: LanguageModel) -> str:
    """Return the id of a model of the hub, with its commit, or the folder of any other."""
    if model.source != LanguageModel.Origin.HUB:
        return role
    return f"{model.location}@{model.facts.get('commit') or model.revision}"


def _model(role: str, model: LanguageModel) -> Iterator[str]:
    match model.source:
        case LanguageModel.Origin.HUB:
            pass  # its id says where it comes from
        case LanguageModel.Origin.UPLOAD:
            yield f"# {role}: a copy of the folder that was sent as the model {_named(model)}"
        case _:
            yield f"# {role}: a copy of the folder of the model {_named(model)}, which lies on the worker's machine"


def _named(model: LanguageModel) -> str:
    return f"{' '.join(model.name.split())} (/api/v1/models/{model.pk}/)"


def _prompts(study: Study, dataset: Dataset, file: str) -> str:
    """Fetch as many prompts as the study has, of each split where it has one: training takes all splits. Only first
    turns are drawn, but later turns count towards the study's limit, so commands cannot cut the file themselves."""
    splits = [split for split in dataset.splits if split] if study.split else []
    pages = " ".join(map(str, range(0, min(study.limit, dataset.prompt_count), PAGE)))
    address = f"/api/v1/datasets/{dataset.pk}/prompts/?limit={PAGE}&offset=$at" + ("&split=$split" if splits else "")
    every = f'for at in {pages}; do ./drafthouse ask GET "{address}" | {ROWS}; done | head -n {study.limit}'
    if splits:
        every = f"for split in {' '.join(splits)}; do {every}; done"
    return f"{every} | {FIRST_TURNS} > {file}"
