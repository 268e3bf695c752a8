"""A job's row says what its kind is: the database and the web process have no list of kinds."""

from __future__ import annotations

from django.urls import reverse

from tests.kit import make
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import line, services
from webapp.jobs.kinds import Kind
from webapp.jobs.models import Queue
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PLAN

WEIGH = Kind("weigh-prompts", "Weigh prompts", parts="grams", is_light=True)


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
