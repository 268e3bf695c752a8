"""A job's row says what its kind is: the database and the web process have no list of kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests.webapp import editions, make
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import line, services
from webapp.jobs.kinds import Kind
from webapp.jobs.models import Job, Queue
from webapp.registry.kinds import CHECK_MODEL, COUNT_TOKENS, FETCH_MODEL
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PLAN, TRAINING
from webapp.uploads.kinds import UNPACK

KNOWN_BEFORE = (COMPARISON, TRAINING, ORACLE, PLAN, CHECK_MODEL, FETCH_MODEL, UNPACK, COUNT_TOKENS)
WEIGH = Kind("weigh-prompts", "Weigh prompts", parts="grams", is_light=True)


def at(migration: str):
    executor = editions.at(("jobs", migration))
    return executor.loader.project_state([("jobs", migration)]).apps.get_model("jobs", "Job")


@pytest.fixture
def latest(transactional_db: None) -> Iterator[str]:
    latest = max(name for app, name in editions.one_by_one().loader.graph.leaf_nodes() if app == "jobs")
    yield latest
    call_command("migrate", verbosity=0)


def test_jobs_of_an_older_database_say_of_themselves_what_their_kind_was(latest, world):
    old = at("0016_light_queue")
    for kind in KNOWN_BEFORE:
        old.objects.create(team_id=world.actor(world.alice).home.pk, kind=kind.slug, queue="cpu", title=kind.slug)
    at(latest)
    for kind in KNOWN_BEFORE:
        assert Job.objects.filter(**kind.columns()).get().title == kind.slug


def test_on_the_way_back_jobs_go_whose_kind_the_list_did_not_hold(latest, world):
    for kind in (WEIGH, COMPARISON):
        services.enqueue(kind=kind, title="one", by=world.actor(world.alice))
    assert [job.kind for job in at("0016_light_queue").objects.all()] == [COMPARISON.slug]


def test_a_job_leads_to_the_page_of_what_it_makes(world):
    by = world.actor(world.alice)
    pair, dataset = make.pair(by), make.dataset(by)
    training = classifying.train_classifier(name="one", pair=pair, dataset=dataset, by=by)
    study = studies.launch(kind=PLAN, pair=pair, dataset=dataset, by=by)
    for made in (make.comparison(by), study, training):
        page = world.page(world.alice).get(f"/jobs/{made.job.pk}/").content.decode()
        address = reverse(made.job.page, args=[made.pk])
        assert f'href="{address}">Its {made.job.page}</a>' in page


def test_a_kind_that_nobody_has_listed_is_shown_filtered_and_waited_for_like_the_others(world):
    services.enqueue(kind=COMPARISON, title="other", by=world.actor(world.bob))
    job = services.enqueue(kind=WEIGH, title="one", by=world.actor(world.bob), total=9)
    assert (job.queue, line.place(job).position) == (Queue.LIGHT, 1)
    client, pages = world.api(world.bob), world.page(world.bob)
    [row] = client.get("/api/v1/jobs/?kind=weigh-prompts").json()["results"]
    assert (row["kind"], row["kind_label"], row["total_count"], row["parts"]) == (WEIGH.slug, WEIGH.label, 9, "grams")
    assert client.get("/api/v1/jobs/?kind=nothing").json()["results"] == []
    assert client.get(f"/api/v1/jobs/?kind={'x' * 41}").status_code == 400
    page = pages.get("/jobs/?kind=weigh-prompts").content.decode()
    assert "weigh prompts" in page and ">other<" not in page
    assert "0 of 9 grams" in pages.get(f"/jobs/{job.pk}/").content.decode()
