"""One of every thing that exists, for tests that try every URL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from tests.kit import make
from webapp.accounts import services as accounts
from webapp.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Role, Scope, Team, User
from webapp.comparisons import figures
from webapp.comparisons.models import Comparison
from webapp.entries import services as entries
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Pause
from webapp.registry.models import Dataset, Endpoint, LanguageModel, Pair
from webapp.sharing import services as sharing
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PLAN
from webapp.studies.models import Classifier
from webapp.uploads.models import Upload

NO_PAGES = ("sign-out", "schema")
PAGES: dict[tuple[str, bool], bool] = {}  # which routes answer with a page: all are asked once per process
COPIED: tuple[Any, ...] = (LanguageModel, Pair, Dataset, Endpoint, Classifier, Upload, AuditEntry)


def one_of_everything(world: Any) -> dict[str, Any]:
    """Make one of everything, all of alice's team, keyed by the name of its route."""
    by = world.actor(world.alice)
    comparison: Any = make.served(by)
    endpoint = comparison.runs.exclude(endpoint=None).get().endpoint
    Job.objects.exclude(pk=comparison.job.pk).delete()
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    upload = make.upload(by, {"c.safetensors": make.safetensors({"w": [2]})})
    classifier = classifying.add_classifier(name="c", pair=comparison.pair, upload=upload, by=by)
    study = make.study(by, pair=comparison.pair, dataset=comparison.dataset)
    training = make.training(by, pair=comparison.pair, dataset=comparison.dataset)
    token = accounts.create_token(name="t", scope=Scope.READ, days=1, by=by)[0]
    run = comparison.runs.first()
    invitation = accounts.invite(role=Role.MEMBER, days=1, by=by)[0]
    share = sharing.share(comparison=comparison, days=1, hides_texts=False, by=by)[0]
    of_routes = {
        "users deactivate reactivate": world.bob,
        "teams switch-team set-hub-token": world.team,
        "members change-role remove-member": Membership.objects.get(user=world.bob),
        "invitations revoke-invitation": invitation,
        "tokens revoke-token": token,
        "audit": AuditEntry.objects.first(),
        "jobs job prioritise-job cancel-job retry-job": comparison.job,
        "uploads discard-upload": upload,
        "models model rename bin restore": comparison.pair.target,
        "pairs pair": comparison.pair,
        "datasets dataset count-tokens": comparison.dataset,
        "endpoints endpoint check-endpoint set-key drop-key": endpoint,
        "classifiers classifier": classifier,
        "training": training,
        "studies study": study,
        "comparisons comparison describe-comparison shares": comparison,
        "shares-detail revoke-share": share,
        "runs": run,
        "samples": run.samples.first(),
    }
    return {name: thing for names, thing in of_routes.items() for name in names.split()}


def more_of_everything(world: Any) -> None:
    for number in range(4):
        Membership.objects.create(team=Team.objects.create(name=f"team {number}"), user=world.alice, role="member")
    for kind in COPIED:
        row = kind.objects.latest("created")
        for number in range(4):
            row.pk, row._state.adding = uuid.uuid4(), True
            row.name = f"{number}"
            row.save(force_insert=True)
    by = world.actor(world.alice)
    first = Comparison.objects.earliest("created")
    for limit in (1, 2):
        comparison = make.comparison(by, pair=first.pair, dataset=first.dataset, limit=limit)
        Job.objects.filter(state="queued").exclude(pk=comparison.job.pk).delete()
        make.decode_all(comparison)
    make.comparison(by, pair=first.pair, dataset=first.dataset)
    figures.sum_up_ended(seconds=60)
    for number in range(4):
        user = User.objects.create(username=f"user{number}", password="!")
        Membership.objects.create(team=world.team, user=user, role="viewer")
        Invitation.objects.create(team=world.team, role="viewer", digest=str(number), expires=world.team.created)
        ApiToken.objects.create(team=world.team, user=world.alice, name="t", key=str(number), scope="read")


def in_other_states(world: Any, things: dict[str, Any]) -> list[str]:
    """Return URLs of things that wait, are decoded, cancelled, binned, paused, shut out, or not yet used."""
    by = world.actor(world.alice)
    waiting, running, cancelled, binned = (make.comparison(by, pair=things["pair"]) for _ in range(4))
    jobs.cancel(job=cancelled.job, by=by)
    make.begin_a_heat(running)
    study = make.study(by, pair=things["pair"], dataset=things["dataset"])
    plan = make.study(by, PLAN, pair=things["pair"], dataset=things["dataset"])
    alone: Any = make.comparison(by, pair=make.target_alone(by), strategies=[{"strategy": "autoregressive"}])
    served = make.comparison(by, pair=None, strategies=[{"strategy": "server", "params": {"name": "theirs"}}])
    for entry in (binned, study, made := make.model(by, name="new")):
        entries.bin(entry=entry, by=by)
    _, unpaired = make.model(by, "large", layers=2), make.model(by, "small")
    make.upload(by, {"a.txt": b"one"})  # nothing is made of it
    checked: Any = make.endpoint(by, "checked", key="sk-another")
    jobs.cancel(job=checked.job, by=by)
    Endpoint.objects.filter(pk=checked.pk).update(state="ready", checked=checked.created)
    Pause.objects.create(queue="gpu", by=world.alice, reason="")
    User.objects.filter(pk=world.victor.pk).update(is_active=False)
    return [
        *(reverse("comparison", args=[each.pk]) for each in (waiting, running, cancelled, binned, alone, served)),
        reverse("pair", args=[alone.pair.pk]),
        reverse("model", args=[unpaired.pk]),
        reverse("endpoint", args=[checked.pk]),
        f"{reverse('new-comparison')}?pair={alone.pair.pk}",
        *(reverse("job", args=[each.job.pk]) for each in (waiting, running, cancelled)),
        *(reverse("study", args=[each.pk]) for each in (study, plan)),
        f"{reverse('models')}?bin=1",
        reverse("jobs"),
        reverse("uploads"),
        reverse("users"),
        reverse("model", args=[make.model(by, name="newer").pk]),
        reverse("model", args=[made.pk]),
    ]


def pages(world: Any) -> dict[str, str]:
    """By name: whatever answers a GET with a page, to an owner who operates the installation too."""
    things = one_of_everything(world)
    User.objects.filter(pk=world.bob.pk).update(is_operator=True)
    world.bob.memberships.update(role=Role.OWNER)
    client = Client()
    client.force_login(world.bob)
    addresses = dict(_addresses(things))
    if not PAGES:
        PAGES.update({found: _is_page(client, address) for found, address in addresses.items()})
    return {found[0]: address for found, address in addresses.items() if PAGES[found]}


def _addresses(things: dict[str, Any]) -> Iterator[tuple[tuple[str, bool], str]]:
    """Every address, and before it the name of its route and whether it names a thing."""
    for name in sorted({name for name in get_resolver().reverse_dict if isinstance(name, str)} - {*NO_PAGES}):
        for arguments in ([], [things[name].pk] if name in things else []):
            with suppress(NoReverseMatch):
                yield (name, bool(arguments)), reverse(name, args=arguments)


def _is_page(client: Client, address: str) -> bool:
    answer = client.get(address)
    return answer.status_code == 200 and answer["Content-Type"].startswith("text/html") and "/api/v1/" not in address
