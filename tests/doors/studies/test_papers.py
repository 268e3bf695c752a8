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


def test_rest_page_and_files_give_every_point_of_every_figure(world, by):
    study, client = make.study(by, PAPERS), world.api(world.victor)
    figures = f"/api/v1/studies/{study.pk}/figures"
    found = client.get(f"{figures}/").json()["results"]
    assert [figure["slug"] for figure in found] == list(FIGURES)
    misses = next(figure for figure in found if figure["slug"] == "ssd-3")
    published = misses["series"][0]
    assert (published["origin"], published["grade"], published["points"][0]["y"]) == ("published", "Pd", 0.229)
    assert any(series["origin"] == "computed" and series["points"][0]["low"] is not None for series in misses["series"])
    other = make.study(by)
    assert client.get(f"/api/v1/studies/{other.pk}/figures/").json()["results"] == []
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert all(f'<section id="{slug}"' in shown for slug in FIGURES)
    assert "Not drawn. It needs prompts of at least two categories" in shown
    for ending, begins, kind in (("csv", b"series,origin", "text/csv"), ("py", b"# /// script", "text/x-python")):
        answer = client.get(f"{figures}/ssd-3.{ending}/")
        assert answer.content.startswith(begins) and answer["Content-Type"].startswith(kind)
        assert answer["Content-Disposition"] == f'attachment; filename="ssd-3.{ending}"'
    for name in ("ssd-3.pdf", "ssd-99.csv", "ssd-3", "disco-5.csv"):  # the last needs prompts of several categories
        answer = client.get(f"{figures}/{name}/")
        assert answer.status_code == 404 and "FIGURE.ENDING" in answer.json()["detail"]


def test_finished_figures_are_shown_while_others_are_drawn_and_dropped_if_they_were_made_of_other_files(world, by):
    study = services.launch(kind=PAPERS, pair=make.pair(by), dataset=make.dataset(by), by=by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert services.kept(job=job, made_of="one") == {"made of": "one"}
    figure = next(each for each in make.STUDIES["papers"]["figures"] if each["slug"] == "ssd-3")
    services.keep(job=job, name="figure ssd-3", data=figure)
    services.keep(job=job, name="costs", data={"draft": 1.0})
    [shown] = world.api(world.victor).get(f"/api/v1/studies/{study.pk}/figures/").json()["results"]
    assert shown["slug"] == "ssd-3"
    page = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert '<section id="ssd-3"' in page and '<section id="ssd-5"' not in page
    [line] = [line for line in log.read(job=job.pk, after=0, limit=9) if line.numbers]
    assert line.sentence.startswith("Drawn: Figure 3, ") and line.numbers == {"figures": 1}
    assert set(services.kept(job=job, made_of="one")) == {"made of", "figure ssd-3", "costs"}
    assert services.kept(job=job, made_of="two") == {"made of": "two"}
    jobs.fail(job=job, reason="It took too long.")
    with pytest.raises(Conflict, match="job"):
        services.keep(job=job, name="costs", data={})
    study.refresh_from_db()
    assert study.parts == {"made of": "two"}
