"""Comparisons with servers: asked for, copied, shown without rounds, and shared without addresses."""

from __future__ import annotations

import re

import pytest

from tests.kit import make
from webapp.comparisons import figures, services
from webapp.comparisons.models import Comparison, Figures
from webapp.jobs.models import Job
from webapp.sharing import services as sharing

SERVER = {"strategy": "server", "params": {"name": "theirs"}}
OFF = {"strategy": "server", "params": {"name": "theirs", "speculation": "off"}}


@pytest.fixture
def decoded(world) -> Comparison:
    comparison = make.served(world.actor(world.bob))
    make_done(comparison)
    comparison.refresh_from_db()
    return comparison


def post(world, body):
    return world.script("submit").post("/api/v1/comparisons/", body)


def test_what_a_server_cannot_do_is_refused_before_the_launch(world, by, ready):
    make.endpoint(by, dialect="vllm"), make.endpoint(by, "plain", dialect="openai")
    make.endpoint(world.actor(world.charlie), "elsewhere")
    plain, elsewhere = ({"strategy": "server", "params": {"name": name}} for name in ("plain", "elsewhere"))
    for strategy, sampling, told in (
        (elsewhere, {}, "no server"),
        (OFF, {}, "vLLM cannot switch speculation for one request"),
        (plain, {"ignore_eos": True}, "OpenAI completions cannot ignore the end token"),
    ):
        answer = post(world, make.body(*ready, strategies=[strategy], sampling={"max_new_tokens": 8, **sampling}))
        assert answer.status_code == 400 and told in answer.json()["detail"]
    assert not Comparison.objects.exists()


def test_servers_alone_need_no_pair_and_their_first_is_the_baseline(world, by, ready):
    for name in ("theirs", "others"):
        make.endpoint(by, name)
    others = {"strategy": "server", "params": {"name": "others"}}
    body = {"dataset": str(ready[1].pk), "strategies": [SERVER, others]}
    answer = post(world, body)
    assert (answer.status_code, answer.json()["pair"], answer.json()["name"]) == (202, None, "Servers on prompts")
    comparison = Comparison.objects.get()
    assert comparison.job.queue == "cpu"  # a niced client would see chunks late
    make_done(comparison)
    page = world.page(world.bob)
    for at in (f"/comparisons/{comparison.pk}/", "/comparisons/", "/runs/", f"/comparisons/new/?clone={comparison.pk}"):
        shown = page.get(at)
        assert shown.status_code == 200 and b">None<" not in shown.content, at
    report = world.script("read").get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    assert report["baseline"] == "server:theirs"
    assert world.script("read").get(f"/api/v1/comparisons/{comparison.pk}/what-if/").status_code == 409
    assert world.script("read").get("/api/v1/runs/").json()["results"][0]["pair"] is None
    assert page.get(f"/comparisons/difference/?of={comparison.pk}&of={comparison.pk}").status_code < 500


def make_done(comparison: Comparison) -> None:
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)


def test_a_strategy_of_ours_without_a_pair_is_refused(world, by, ready):
    make.endpoint(by)
    answer = post(world, {"dataset": str(ready[1].pk), "strategies": [SERVER, {"strategy": "autoregressive"}]})
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "no-pair", "pair")


def test_the_form_offers_the_teams_servers_and_launches_with_them(world, ready):
    theirs = make.endpoint(world.actor(world.bob))
    page = world.page(world.bob)
    assert 'value="theirs off"' in page.get("/comparisons/new/").content.decode()
    made_of = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk)}
    page.post("/comparisons/new/", {**made_of, "server": ["theirs as-started", "theirs off"], "launch": ""})
    comparison = Comparison.objects.get()
    theirs.refresh_from_db()
    assert theirs.frozen and theirs.runs.count() == 2
    assert [run.label for run in comparison.runs.all()][1:] == ["server:theirs", "server:theirs,speculation=off"]
    assert services.asked_for(comparison)["strategies"][1:] == [
        {"strategy": "server", "params": {"name": "theirs", "speculation": way}} for way in ("as-started", "off")
    ]
    cloned = page.get(f"/comparisons/new/?clone={comparison.pk}").content.decode()
    assert re.findall(r'value="theirs (\S+)"\s+checked', cloned) == ["as-started", "off"]


def test_from_a_server_a_form_leads_to_a_plan_and_a_launch_without_a_pair(world, by):
    make.pair(by), make.pair(by, "another"), make.endpoint(by)
    page, prompts = world.page(world.bob), make.dataset(by)
    shown = page.get("/comparisons/new/?strategies=autoregressive,server:theirs").content.decode()
    assert re.search(r'value="theirs as-started"\s+checked', shown)
    asked = {"dataset": str(prompts.pk), "use": "autoregressive", "server": "theirs as-started"}
    assert "server:theirs</p>" in page.post("/comparisons/new/", asked).content.decode()
    page.post("/comparisons/new/", {**asked, "launch": ""})
    assert [run.label for run in Comparison.objects.get().runs.all()] == ["server:theirs"]


def test_a_result_without_rounds_has_no_number_that_is_none_and_exports_leave_it_empty(world, decoded):
    page = world.page(world.bob).get(f"/comparisons/{decoded.pk}/").content.decode()
    assert "server:theirs" in page and "NaN" not in page and ">None<" not in page
    row = Figures.objects.get(run__label="server:theirs")
    assert (row.draft_passes, row.draft_share) == (None, None)
    report = world.script("read").get(f"/api/v1/comparisons/{decoded.pk}/report/").json()
    [server] = [row for row in report["strategies"] if row["role"] == "server"]
    assert (server["num_target_passes"], server["per_device"]) == (None, None)
    assert server["why"]["refusal"].startswith("A server does not report its rounds")
    script = world.script("read")
    rounds = script.get(f"/api/v1/comparisons/{decoded.pk}/rounds.csv").getvalue().decode()
    assert "static:4" in rounds and "server:theirs" not in rounds


def test_a_share_shows_neither_address_nor_key(world, by, decoded):
    Job.objects.filter(pk=decoded.job.pk).update(reason="theirs at http://127.0.0.1:9 cannot be reached")
    for hides in (False, True):
        _, secret = sharing.share(comparison=decoded, days=1, hides_texts=hides, by=by)
        for path in (f"/shared/{secret}/", f"/shared/{secret}/file/", f"/shared/{secret}/events/"):
            answer = world.page(None).get(path)
            assert answer.status_code == 200
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            assert b"127.0.0.1:9" not in body and b"sk-a-key" not in body


def test_a_link_that_hides_texts_hides_what_servers_deliver():
    from webapp.comparisons.redaction import without_texts

    event = {"event": "delivered", "tokens": [5, 6], "count": 2, "text": "words", "end_ns": 1, "seq": 1}
    [shown] = without_texts({"t": "events", "words": {"5": "a"}, "events": [event]})["events"]
    assert (shown["tokens"], shown["text"]) == ([0, 0], "")
