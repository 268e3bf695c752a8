"""Comparisons with servers: asked for, copied, shown without rounds, and shared without addresses."""

from __future__ import annotations

import re

from tests.kit import make
from webapp.comparisons import figures
from webapp.comparisons.models import Comparison, Figures
from webapp.comparisons.redaction import without_texts
from webapp.jobs.models import Job
from webapp.sharing import services as sharing


def server(name="theirs"):
    return {"strategy": "server", "params": {"name": name}}


def post(world, body):
    return world.script("submit").post("/api/v1/comparisons/", body)


def test_what_a_server_cannot_do_is_refused_before_the_launch(world, by, ready):
    make.endpoint(by, dialect="vllm"), make.endpoint(by, "plain", dialect="openai")
    make.endpoint(world.actor(world.charlie), "elsewhere")
    for strategy, sampling, told in (
        (server("elsewhere"), {}, "no server"),
        (server("plain"), {"ignore_eos": True}, "OpenAI completions cannot ignore the end token"),
    ):
        answer = post(world, make.body(*ready, strategies=[strategy], sampling={"max_new_tokens": 8, **sampling}))
        assert answer.status_code == 400 and told in answer.json()["detail"]
    answer = post(world, {"dataset": str(ready[1].pk), "strategies": [server(), {"strategy": "autoregressive"}]})
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "no-pair", "pair")
    assert not Comparison.objects.exists()


def test_servers_alone_need_no_pair_and_their_first_is_the_baseline(world, by, ready):
    for name in ("theirs", "others"):
        make.endpoint(by, name)
    answer = post(world, {"dataset": str(ready[1].pk), "strategies": [server(), server("others")]})
    assert (answer.status_code, answer.json()["pair"], answer.json()["name"]) == (202, None, "Servers on prompts")
    comparison = Comparison.objects.get()
    assert comparison.job.queue == "cpu"  # a niced client would see chunks late
    page, script = world.page(world.bob), world.script("read")
    assert script.get(f"/api/v1/comparisons/{comparison.pk}/file/").status_code == 409  # it has not ended
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    for at in (f"/comparisons/{comparison.pk}/", "/comparisons/", "/runs/", f"/comparisons/new/?clone={comparison.pk}"):
        shown = page.get(at)
        assert shown.status_code == 200 and b">None<" not in shown.content, at
    report = script.get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    assert report["baseline"] == "server:theirs"
    assert script.get(f"/api/v1/comparisons/{comparison.pk}/what-if/").status_code == 409
    assert script.get("/api/v1/runs/").json()["results"][0]["pair"] is None


def test_the_form_offers_the_teams_servers_and_launches_with_a_pair_or_without_one(world, by, ready):
    theirs, page = make.endpoint(by), world.page(world.bob)
    make.endpoint(by, "others")
    made_of = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk)}
    page.post("/comparisons/new/", {**made_of, "server": ["theirs", "others"], "launch": ""})
    comparison = Comparison.objects.get()
    theirs.refresh_from_db()
    assert theirs.frozen and theirs.runs.count() == 1
    assert [run.label for run in comparison.runs.all()][1:] == ["server:theirs", "server:others"]
    cloned = page.get(f"/comparisons/new/?clone={comparison.pk}").content.decode()
    assert re.findall(r'name="server" value="(\w+)" checked', cloned) == ["others", "theirs"]

    make.pair(by, "another")
    shown = page.get("/comparisons/new/?strategies=autoregressive,server:theirs").content.decode()
    assert 'value="theirs" checked' in shown
    asked = {"dataset": str(ready[1].pk), "use": "autoregressive", "server": "theirs"}
    assert "server:theirs</p>" in page.post("/comparisons/new/", asked).content.decode()
    page.post("/comparisons/new/", {**asked, "launch": ""})
    alone = Comparison.objects.exclude(pk=comparison.pk).get()
    assert [run.label for run in alone.runs.all()] == ["server:theirs"]


def test_a_result_without_rounds_has_no_number_that_is_none_and_a_share_neither_address_nor_key(world, by):
    comparison = make.served(by)
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "server:theirs" in page and "NaN" not in page and ">None<" not in page
    row = Figures.objects.get(run__label="server:theirs")
    assert (row.draft_passes, row.draft_share) == (None, None)
    script = world.script("read")
    report = script.get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    [found] = [row for row in report["strategies"] if row["role"] == "server"]
    assert (found["num_target_passes"], found["per_device"]) == (None, None)
    assert found["why"]["refusal"].startswith("A server does not report its rounds")
    rounds = script.get(f"/api/v1/comparisons/{comparison.pk}/rounds.csv").getvalue().decode()
    assert "static:4" in rounds and "server:theirs" not in rounds

    Job.objects.filter(pk=comparison.job.pk).update(reason="theirs at http://127.0.0.1:9 cannot be reached")
    for hides in (False, True):
        _, secret = sharing.share(comparison=comparison, days=1, hides_texts=hides, by=by)
        for path in (f"/shared/{secret}/", f"/shared/{secret}/file/", f"/shared/{secret}/events/"):
            answer = world.page(None).get(path)
            assert answer.status_code == 200 and b"127.0.0.1:9" not in answer.content
            assert b"sk-a-key" not in answer.content


def test_a_link_that_hides_texts_hides_what_servers_deliver():
    event = {"event": "delivered", "tokens": [5, 6], "count": 2, "text": "words", "end_ns": 1, "seq": 1}
    [shown] = without_texts({"t": "events", "words": {"5": "a"}, "events": [event]})["events"]
    assert (shown["tokens"], shown["text"]) == ([0, 0], "")
