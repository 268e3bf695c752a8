"""Proofs of plans: launched over REST and from the plan's page, refused where nothing can be proved, and shown."""

from __future__ import annotations

import re
from html import escape

import pytest

from tests.kit import make
from webapp.jobs import services as jobs
from webapp.studies import services
from webapp.studies.kinds import PLAN
from webapp.studies.models import Study

BEST = {"strategy": "threshold", "params": {"threshold": 0.7, "cap": 8, "adaptive": False}}
NARROW = "\u202f"  # between a number and its per cent sign


@pytest.fixture
def plan(by):
    return make.study(by, PLAN, pair=make.pair(by), dataset=make.dataset(by), limit=2)


def finished(proof: Study) -> Study:
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert job == proof.job
    services.finish(job=job, document=make.STUDIES["proof"])
    return proof


def test_a_proof_runs_the_largest_promise_that_llama_cpp_can_be_given(world, plan):
    answer = world.script("submit").post(f"/api/v1/studies/{plan.pk}/prove/")
    assert answer.status_code == 202
    proof = Study.objects.get(pk=answer.json()["id"])
    assert (answer.json()["kind"], proof.name) == ("proof", f"Proof: {plan.name}")
    made_of = [(each.pair, each.dataset, each.limit, each.sampling, each.job.queue) for each in (plan, proof)]
    assert made_of[0] == made_of[1]
    promised = next(row["speedup"] for row in plan.document["settings"] if row["strategy"] == BEST["strategy"])
    assert proof.job.arguments == {"plan": str(plan.pk), **BEST, "speedup": promised}


def test_the_plans_page_launches_a_proof_and_then_shows_what_came_of_it(world, plan):
    page = world.page(world.bob)
    before = page.get(f"/studies/{plan.pk}/").content.decode()
    assert "Prove on llama.cpp" in before and "8 samples." in before
    went = page.post(f"/studies/{plan.pk}/prove/")
    proof = finished(Study.objects.exclude(pk=plan.pk).get())
    assert went["Location"] == f"/studies/{proof.pk}/"
    document = make.STUDIES["proof"]
    for address in (f"/studies/{plan.pk}/", went["Location"]):
        shown = page.get(address).content.decode().replace(NARROW, " ")
        for words in (document["verdict"], document["options"], *document["reasons"]):
            assert escape(words) in shown
    assert f"/studies/{plan.pk}/" in page.get(went["Location"]).content.decode()
    for study in (plan, proof):
        whole = page.get(f"/api/v1/studies/{study.pk}/file/").content.decode().replace(NARROW, " ")
        assert escape(document["verdict"]) in whole and "Prove on llama.cpp" not in whole
    assert page.get(f"/api/v1/studies/{proof.pk}/document/").json()["format"] == "drafthouse.proof/1"


def test_the_plans_page_says_how_long_a_proof_takes_where_the_pair_was_measured(world, by, plan):
    make.decode_all(make.comparison(by, pair=plan.pair))
    shown = world.page(world.bob).get(f"/studies/{plan.pk}/").content.decode()
    assert re.search(r"8 samples, about [\d.]+\s", shown)


def test_only_what_can_be_proved_by_who_may_launch_it_is_launched(world, plan):
    page = world.page(world.victor)
    assert "Prove on llama.cpp" not in page.get(f"/studies/{plan.pk}/").content.decode()
    assert page.post(f"/studies/{plan.pk}/prove/").status_code == 403
    assert world.script("read").post(f"/api/v1/studies/{plan.pk}/prove/").status_code == 403
    assert Study.objects.count() == 1
    settings = [row for row in plan.document["settings"] if row["strategy"] not in ("static", "threshold")]
    Study.objects.filter(pk=plan.pk).update(document={**plan.document, "settings": settings})
    oracle = make.study(world.actor(world.bob))
    for study in (plan, oracle):
        answer = world.script("submit").post(f"/api/v1/studies/{study.pk}/prove/")
        assert (answer.status_code, answer.json()["code"]) == (409, "not-provable")
        assert "no setting that llama.cpp can be given" in answer.json()["detail"]
    assert Study.objects.count() == 2
