"""The study of the papers: its page, its figures over REST and as files, also while others are still drawn."""

from __future__ import annotations

import pytest

from decoding.papers.figures import FIGURES
from tests.kit import make
from webapp.core.problems import Conflict
from webapp.jobs import log
from webapp.jobs import services as jobs
from webapp.studies import services
from webapp.studies.kinds import PAPERS


@pytest.fixture
def study(by):
    return make.study(by, PAPERS)


def test_rest_and_page_give_every_point_of_every_figure(world, study, by):
    found = world.api(world.victor).get(f"/api/v1/studies/{study.pk}/figures/").json()["results"]
    assert [figure["slug"] for figure in found] == list(FIGURES)
    misses = next(figure for figure in found if figure["slug"] == "ssd-3")
    published = misses["series"][0]
    assert (published["origin"], published["grade"], published["points"][0]["y"]) == ("published", "Pd", 0.229)
    assert any(series["origin"] == "computed" and series["points"][0]["low"] is not None for series in misses["series"])
    other, client = make.study(by), world.api(world.victor)
    assert client.get(f"/api/v1/studies/{other.pk}/figures/").json()["results"] == []
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    for slug in FIGURES:
        assert f'<section id="{slug}"' in shown
    assert "Not drawn. It needs prompts of at least two categories" in shown


def test_a_figure_is_a_file_of_each_kind_and_what_is_none_is_refused_with_those_that_there_are(world, study):
    client, figures = world.api(world.victor), f"/api/v1/studies/{study.pk}/figures"
    for ending, begins, kind in (("csv", b"series,origin", "text/csv"), ("py", b"# /// script", "text/x-python")):
        answer = client.get(f"{figures}/ssd-3.{ending}/")
        assert answer.status_code == 200 and answer.content.startswith(begins)
        assert answer["Content-Type"].startswith(kind)
        assert answer["Content-Disposition"] == f'attachment; filename="ssd-3.{ending}"'
    for name in ("ssd-3.pdf", "ssd-99.csv", "ssd-3", "disco-5.csv"):  # the last needs prompts of several categories
        answer = client.get(f"{figures}/{name}/")
        assert answer.status_code == 404 and "FIGURE.ENDING" in answer.json()["detail"]


def test_finished_figures_are_shown_while_others_are_drawn(world, by):
    study = services.launch(kind=PAPERS, pair=make.pair(by), dataset=make.dataset(by), by=by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    figure = next(each for each in make.STUDIES["papers"]["figures"] if each["slug"] == "ssd-3")
    services.keep(job=job, name="figure ssd-3", data=figure)
    services.keep(job=job, name="costs", data={"draft": 1.0})
    study.refresh_from_db()
    assert set(study.parts) == {"figure ssd-3", "costs"}
    [shown] = world.api(world.victor).get(f"/api/v1/studies/{study.pk}/figures/").json()["results"]
    assert shown["slug"] == "ssd-3"
    page = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert '<section id="ssd-3"' in page and '<section id="ssd-5"' not in page
    [line] = [line for line in log.read(job=job.pk, after=0, limit=9) if line.numbers]
    assert line.sentence.startswith("Drawn: Figure 3, ") and line.numbers == {"figures": 1}


def test_a_worker_whose_lease_is_gone_keeps_nothing(by):
    study = services.launch(kind=PAPERS, pair=make.pair(by), dataset=make.dataset(by), by=by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    jobs.fail(job=job, reason="It took too long.")
    with pytest.raises(Conflict, match="job"):
        services.keep(job=job, name="costs", data={})
    study.refresh_from_db()
    assert study.parts == {}


def test_parts_that_were_made_of_other_files_are_dropped_before_another_attempt(by):
    study = services.launch(kind=PAPERS, pair=make.pair(by), dataset=make.dataset(by), by=by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert services.kept(job=job, made_of="one") == {"made of": "one"}
    services.keep(job=job, name="figure ssd-3", data={"slug": "ssd-3", "number": "Figure 3", "title": "Misses"})
    assert services.kept(job=job, made_of="one")["figure ssd-3"]
    assert services.kept(job=job, made_of="two") == {"made of": "two"}
    study.refresh_from_db()
    assert services.figures_of(study) == []
