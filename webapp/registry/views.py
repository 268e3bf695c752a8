"""Pages of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from decoding.public import SOURCES, without_draft
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.pages import form_page, listing, one, page
from webapp.core.templatetags.ui import count, plain, size
from webapp.core.turns import takes_long
from webapp.entries import services as entries
from webapp.entries.api import NewName
from webapp.entries.models import Entry
from webapp.entries.views import in_bin, listed
from webapp.jobs import line
from webapp.registry import lengths, prompt_sets, serializers, services
from webapp.registry.models import Dataset, LanguageModel, Pair, Readiness, TokenLengths
from webapp.registry.prompt_form import PromptSetForm

MOST_PAIRS = 200  # offered in a form
MOST_MADE = 20  # of one kind, on the page of a pair
# Heading, relation and page of the things that upper layers make with a pair
WITH_A_PAIR = (
    ("Comparisons", "comparisons", "comparison"),
    ("Classifiers", "classifiers", "classifier"),
    ("Studies", "studies", "study"),
)

# The kinds that are renamed on their page: list → model, page
RENAMED: dict[str, tuple[type[Entry], str]] = {
    "models": (LanguageModel, "model"),
    "pairs": (Pair, "pair"),
    "datasets": (Dataset, "dataset"),
}


RUNNERS = {"fast": "our own", "transformers": "transformers", "table": "a table"}
Words = Callable[[Any], str]


def _tokens(number: Any) -> str:
    return f"{count(number)} tokens"


FACTS: dict[str, tuple[str, Words]] = {
    "architecture": ("architecture", str),
    "model_type": ("family", str),
    "parameter_count": ("parameters", count),
    "layer_count": ("layers", count),
    "hidden_size": ("width", count),
    "vocab_size": ("vocabulary", _tokens),
    "context_length": ("context", _tokens),
    "weight_bytes": ("weights", size),
    "dtypes": ("number format", plain),
    "gguf": ("dequantised from", lambda file: f"{file}; speeds are those of the dequantised weights"),
    "runner": ("decoder", lambda name: RUNNERS.get(name, str(name))),
    "end_tokens": ("end tokens", plain),
    "reads_back": ("tokenizer gives text back", plain),
}


def in_words(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each fact that is known."""
    for name, (words, written) in FACTS.items():
        if facts.get(name) is not None:
            yield words, written(facts[name])


@page(Right.READ)
def models(request: ActorRequest) -> HttpResponse:
    filters = {"state": Readiness.values, "source": LanguageModel.Origin.values}
    return _list(request, "models", LanguageModel.objects.all(), filters)


@page(Right.READ)
def pairs(request: ActorRequest) -> HttpResponse:
    return _list(request, "pairs", Pair.objects.select_related("target", "draft"))


@page(Right.READ)
def datasets(request: ActorRequest) -> HttpResponse:
    return _list(request, "datasets", Dataset.objects.all())


@page(Right.READ)
def model(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(LanguageModel.objects.visible_to(request.actor).select_related("job", "upload", "created_by"), id)
    files = found.upload.files.all() if found.upload else []
    place = line.place(found.job) if found.job and not found.job.is_final else None
    context = {"entry": found, "files": files, "facts": in_words(found.facts), "place": place}
    return render(request, "registry/model.html", context)


@page(Right.READ)
def pair(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Pair.objects.visible_to(request.actor).select_related("target", "draft", "created_by"), id)
    made = {title: _made_with(getattr(found, link), page) for title, link, page in WITH_A_PAIR}
    about = {"alone": without_draft.those_that_run(), "sources": SOURCES, "made": made}
    return render(request, "registry/pair.html", {"entry": found, **about})


def _made_with(rows: Any, page: str) -> list[tuple[str, Any]]:
    """Newest things of one kind that a pair was used for, each with its address."""
    return [(reverse(page, args=[each.pk]), each) for each in rows.filter(binned=None).order_by("-created")[:MOST_MADE]]


@page(Right.READ)
def dataset(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Dataset.objects.visible_to(request.actor).select_related("created_by"), id)
    counted = _counted(found, request.GET.get("pair", ""))
    code = Form(serializers.PairChoice, initial={"pair": counted.pair_id if counted else ""}, actor=request.actor)
    return _show(request, found, counted, code)


def _show(request: ActorRequest, found: Dataset, counted: TokenLengths | None, code: Form) -> HttpResponse:
    splits = [split for split in found.splits if split]
    prompts = listing(
        request, found.prompts.all(), search=("text", "name"), ordering=("number",), filters={"split": splits},
        usual="number",
    )  # fmt: skip
    kept = Pair.objects.visible_to(request.actor).kept().select_related("target", "draft")
    pairs = kept.order_by("name")[:MOST_PAIRS]
    context = {"entry": found, "list": prompts, "pairs": pairs, "counted": counted, "code": code}
    return render(request, "registry/dataset.html", context)


@page(Right.SUBMIT, ("POST",))
def count_tokens(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Dataset.objects.visible_to(request.actor), id)
    form = Form(serializers.PairChoice, request, actor=request.actor)
    if form.is_described:
        return _show(request, found, _counted(found, ""), form)
    made = form.submit(lambda pair: lengths.count(dataset=found, pair=pair, by=request.actor))
    if made is None:
        messages.error(request, "Choose a pair: its tokenizer counts.")
        return redirect("dataset", id)
    return redirect(f"{reverse('dataset', args=[id])}?pair={made.pair_id}#lengths")


def _counted(dataset: Dataset, pair: str) -> TokenLengths | None:
    """Counts for the pair that is asked for, else the last counts."""
    rows = dataset.token_lengths.select_related("pair", "job").order_by("-created")
    try:
        return (rows.filter(pair=UUID(pair)) if pair else rows).first()
    except ValueError:
        return None


@takes_long("POST")
@page(Right.SUBMIT, ("GET", "POST"))
def new_model(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.NewModel, request, actor=request.actor)
    if made := form.submit(lambda **asked: services.add_model(by=request.actor, **asked)):
        messages.success(request, f"{made.name} is added. A worker checks its files.")
        return redirect("model", made.pk)
    return form_page(request, "registry/new_model.html", form)


@takes_long("POST")
@page(Right.SUBMIT, ("GET", "POST"))
def new_pair(request: ActorRequest) -> HttpResponse:
    initial = {name: request.GET.get(name, "") for name in ("target", "draft", "name")}
    form = Form(serializers.NewPair, request, initial=initial, actor=request.actor)
    if made := form.submit(lambda **asked: services.add_pair(by=request.actor, **asked)):
        return redirect("pair", made.pk)
    return form_page(request, "registry/new_pair.html", form)


@takes_long("POST")
@page(Right.SUBMIT, ("GET", "POST"))
def new_dataset(request: ActorRequest) -> HttpResponse:
    """Form of a new prompt set, with what the file would become; `preview` shows that without scripts."""
    form = PromptSetForm(request)
    if "pair" in request.GET:
        form.unfolded.add("file")
    if "preview" in request.POST:
        return form_page(request, "registry/new_dataset.html", form)
    if made := form.submit(lambda **asked: prompt_sets.add_dataset(by=request.actor, **asked)):
        messages.success(request, f"{made.name} holds {made.prompt_count} prompts.")
        if pair := request.GET.get("pair"):
            query = urlencode({"pair": pair, "dataset": made.pk})
            return redirect(f"{reverse('new-comparison')}?{query}")
        return redirect("dataset", made.pk)
    return form_page(request, "registry/new_dataset.html", form)


@page(Right.SUBMIT, ("POST",))
def rename(request: ActorRequest, kind: str, id: UUID) -> HttpResponse:
    model, page_name = RENAMED[kind]
    entry = one(model.objects.visible_to(request.actor), id)
    form = Form(NewName, request)
    before = entry.name
    if form.submit(lambda name: entries.rename(entry=entry, name=name, by=request.actor) or entry):
        messages.success(request, f"{before} is called {entry.name} now.")
    else:
        messages.error(request, form.refusal)
    return redirect(page_name, id)


def _list(request: ActorRequest, kind: str, rows: Any, filters: dict[str, list[str]] | None = None) -> HttpResponse:
    found = listing(request, listed(request, rows), filters=filters)
    return render(request, f"registry/{kind}.html", {"list": found, "kind": kind, "in_bin": in_bin(request)})
