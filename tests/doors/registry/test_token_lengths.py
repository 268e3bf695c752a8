"""How long a set's prompts are for a pair: asked for once, counted by a worker, shown as a picture and as numbers."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.core.problems import Conflict
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry import lengths
from webapp.registry.models import Dataset, TokenLengths


@pytest.fixture
def asked(by):
    pair, dataset = make.pair(by), make.dataset(by, count=4)
    Job.objects.all().delete()
    return f"/api/v1/datasets/{dataset.pk}/token-lengths/", pair


def count(world, asked):
    return world.api(world.bob).post(asked[0], {"pair": str(asked[1].pk)})


def work(found: list[int], contexts=(64, 32)) -> None:
    job = jobs.claim(worker="w1", queues=["light"])
    lengths.counted(job=job, lengths=found, contexts=contexts)
    jobs.succeed(job=job)


def test_they_are_counted_once_however_often_they_are_asked_for_and_read_where_the_answer_said(world, asked):
    first = count(world, asked)
    assert (first.status_code, first.json()["document"]) == (202, None)
    assert count(world, asked).json()["id"] == first.json()["id"]
    work([3, 5, 9, 70])
    assert count(world, asked).json()["document"]["longest"] == 70
    assert Job.objects.count() == 1
    (found,) = world.api(world.victor).get(first["Location"]).json()["results"]
    document = found["document"]
    assert [document[name] for name in ("prompt_count", "total", "shortest", "median", "longest")] == [4, 87, 3, 9, 70]
    assert document["context"] == {"target": 64, "draft": 32}
    assert document["over"] == {"target": {"count": 1, "first": [4]}, "draft": {"count": 1, "first": [4]}}
    assert sum(bar["count"] for bar in document["histogram"]) == 4


def test_only_who_may_count_writes_and_a_cancelled_count_may_be_asked_for_again(world, asked):
    count(world, asked)
    jobs.cancel(job=Job.objects.get(), by=world.actor(world.bob))
    assert count(world, asked).status_code == 202
    assert Job.objects.filter(state="queued").count() == 1 and TokenLengths.objects.count() == 1
    job = jobs.claim(worker="w1", queues=["light"])
    jobs.give_back(job=job, reason="gone", counts=False)
    with pytest.raises(Conflict):
        lengths.counted(job=job, lengths=[1], contexts=(64, 32))
    theirs = make.pair(world.actor(world.charlie))
    answer = world.api(world.bob).post(asked[0], {"pair": str(theirs.pk)})
    assert (answer.status_code, answer.json()["field"]) == (400, "pair")
    assert TokenLengths.objects.get().document is None


def test_the_page_counts_waits_and_shows_them(world, asked):
    client = world.page(world.bob)
    address = f"/datasets/{Dataset.objects.get().pk}/"
    assert "a worker counts" in client.get(address).content.decode()
    sent = client.post(f"{address}token-lengths/", {"pair": str(asked[1].pk)})
    assert sent["Location"] == f"{address}?pair={asked[1].pk}#lengths"
    assert 'hx-trigger="load delay:2s"' in client.get(sent["Location"]).content.decode()
    work([3, 5, 9, 70])
    page = client.get(address).content.decode()
    assert "prompts have 3 to 70 tokens" in page and 'hx-trigger="load delay:2s"' not in page
    assert "1 prompt fills the target's whole context" in page
    assert '<script id="tokens" type="application/json">' in page and "charts/token-lengths" in page  # its chart
    assert client.get(f"{address}?pair=nonsense").status_code == 200
    assert "Choose a pair" in client.post(f"{address}token-lengths/", {}, follow=True).content.decode()
