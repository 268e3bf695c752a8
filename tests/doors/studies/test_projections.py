"""Projections onto machine cards: asked for over REST and by form, refused by field, and their page."""

from __future__ import annotations

import json

import pytest

from decoding.public import STRATEGIES, card_in_the_box
from tests.kit import make
from webapp.jobs.models import Job
from webapp.studies import reading
from webapp.studies.kinds import PLAN, PROJECTION
from webapp.studies.models import Study

OURS = {**card_in_the_box("two-cores-epyc").to_dict(), "name": "Ours"}


def post(world, ready, **changes):
    body = {"kind": "projection", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), **changes}
    return world.script("submit").post("/api/v1/studies/", body)


def test_the_card_travels_with_the_job_of_a_projection_alone(world, ready):
    for asked, travels in (
        ({"card": "qwen3-32b-0.6b-h100"}, card_in_the_box("qwen3-32b-0.6b-h100").to_dict()),
        ({"own_card": json.dumps(OURS)}, OURS),
        ({"kind": "plan"}, None),
    ):
        assert post(world, ready, **asked).status_code == 202
        assert Study.objects.latest("created").job.arguments.get("card") == travels


NEGATIVE = {**OURS, "batches": [{"batch": 1, "target_ms": {"1": -3}, "draft_ms": {"1": 1}}]}


def test_a_card_that_cannot_be_is_refused_by_field_and_leaves_nothing(world, ready):
    before = Job.objects.count()
    for changes, field, told in (
        ({"card": "my-laptop"}, "card", "my-laptop"),
        ({"own_card": "{"}, "own_card", "not valid JSON"),
        ({"own_card": json.dumps(NEGATIVE)}, "own_card", "batches[0].target_ms.1 of the machine card is -3"),
    ):
        answer = post(world, ready, **changes)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert told in answer.json()["detail"]
    assert not Study.objects.exists() and Job.objects.count() == before


def test_the_page_says_that_it_is_simulated_and_shows_every_batch(world, ready):
    study = make.study(world.actor(world.bob), PROJECTION, pair=ready[0], dataset=ready[1], card="llama-70b-1b-h100")
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert "On Llama 70B with 1B on 4 + 1 H100," in shown
    assert "Nothing was measured on that machine." in shown
    for slug, why in study.found("left_out").items():
        assert f"<code>{slug}</code> ({why})" in shown
    for words in ("One text at a time", "16 texts at once", "arXiv 2603.03251", "published"):
        assert words in shown
    document = world.script("read").get(f"/api/v1/studies/{study.pk}/document/").json()
    assert document["label"] == "simulated"
    assert {row["strategy"] for row in document["settings"]} >= {"autoregressive", "static", "ssd", "ssd-disco"}


@pytest.mark.parametrize(("kind", "card"), [(PLAN, ""), (PROJECTION, "two-cores-epyc")])
def test_what_a_strategy_gains_by_the_order_of_requests_is_said_below_the_table(world, ready, kind, card):
    """Plans and projections used to advise a memory without a word."""
    told = "suffix:memory=true copies from earlier requests, so what it gains depends on their order."
    found = make.STUDIES[kind.slug]
    more = {**found, "settings": [*found["settings"], {**found["settings"][-1], "strategy": "suffix-memory"}]}
    plain, remembering = (
        make.study(world.actor(world.bob), kind, each, pair=ready[0], dataset=ready[1], card=card)
        for each in (found, more)
    )
    client = world.page(world.victor)
    assert told not in client.get(f"/studies/{plain.pk}/").content.decode()
    assert client.get(f"/studies/{remembering.pk}/").content.decode().count(told) == 1


def test_a_draft_beside_the_target_that_gains_nothing_is_not_praised():
    row = {"batch": 1, "strategy": "static", "params": {"lookahead": 2}, "speedup": 1.4, "tokens_per_s": 14.0}
    ahead = {**row, "strategy": "ssd", "params": STRATEGIES["ssd"].read({}), "speedup": 1.2, "tokens_per_s": 12.0}
    card = {"name": "Ours"}
    told = reading.verdict_of_projection({"settings": [row, ahead], "card": card})
    assert told.startswith("On Ours, static:2 would be 1.40 times as fast as autoregressive: no draft beside")
    told = reading.verdict_of_projection({"settings": [{**ahead, "tokens_per_s": 21.0}, row], "card": card})
    assert told.endswith("and 1.50 times as fast as static:2.")
