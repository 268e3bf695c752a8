"""The metrics that Prometheus reads."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings as django_settings
from django.db.models.functions import Now
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from tests.kit import make
from tests.kit.everything import in_other_states, one_of_everything
from tests.kit.live import valkey  # noqa: F401
from webapp.backup import saving
from webapp.comparisons.models import Comparison
from webapp.config.door import Door
from webapp.core import tallies
from webapp.core.version import version
from webapp.jobs import services as jobs
from webapp.jobs import telemetry
from webapp.jobs.models import Job, Worker

TOKEN = "a token for Prometheus"
DOCS = Path(__file__).parents[3] / "docs"
LISTED = set(re.findall(r"^\| `(drafthouse_\w+)", (DOCS / "metrics.md").read_text(), re.MULTILINE))


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def ask(token: str | None = TOKEN) -> tuple[int, str]:
    """As a web process answers it."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    scope = {"type": "http", "path": "/metrics", "method": "GET", "headers": headers, "query_string": b""}
    asyncio.run(Door(nothing)(scope, None, send))  # type: ignore[arg-type]  a scrape has no body
    return sent[0]["status"], sent[1]["body"].decode()


def told() -> dict[str, dict[tuple[str, ...], float]]:
    """Return each metric's values, keyed by its labels' values in the order of the labels' names."""
    status, text = ask()
    assert status == 200
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return found


@pytest.fixture(autouse=True)
def with_token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def test_metrics_are_told_to_who_has_the_token_and_only_where_one_is_set(settings: Any) -> None:
    assert {ask(token)[0] for token in (None, "", "wrong", TOKEN + "x", "ö")} == {401}
    settings.METRICS_TOKEN = ""
    assert ask("")[0] == ask(None)[0] == ask()[0] == 404


@pytest.mark.django_db(transaction=True)
def test_queues_leases_jobs_and_workers_are_told(world: Any) -> None:
    by = world.actor(world.alice)
    make.comparison(by)
    running = make.comparison(by)
    make.begin_a_heat(running)
    done = make.comparison(by)
    Job.objects.filter(pk=done.job.pk).update(priority=9)
    make.decode_all(done)
    jobs.register_worker(name="cpu-1@here", queues=["cpu"], devices=[], versions={})
    gpu = {"name": "H200", "utilisation": 0.5, "memory_used": 7}
    running.job.refresh_from_db()
    telemetry.keep(job=running.job, values={"gpus": [gpu], "event_lag_s": 0.12})
    found = told()
    assert found["drafthouse_queue_waiting"]["comparison", "cpu"] == 1
    assert found["drafthouse_queue_oldest_seconds"]["comparison", "cpu"] >= 0
    assert found["drafthouse_queue_paused"] == {("cpu",): 0, ("gpu",): 0, ("light",): 0}
    assert found["drafthouse_leases"]["cpu",] == 1
    assert 0 <= found["drafthouse_lease_renewed_seconds"]["cpu",] < 20
    assert found["drafthouse_jobs"]["comparison", "", "succeeded"] == 1
    assert found["drafthouse_tokens_per_second"][()] == pytest.approx(18 / 60)
    assert found["drafthouse_workers"] == {("cpu",): 1, ("gpu",): 0, ("light",): 0}
    assert found["drafthouse_worker_seen_seconds"]["cpu-1@here",] >= 0
    worker = running.job.worker
    assert found["drafthouse_event_lag_seconds"] == {(worker,): 0.12}
    assert found["drafthouse_gpu_utilisation"] == {("0", worker): 0.5}
    assert found["drafthouse_database_up"][()] == 1
    assert found["drafthouse_broker_up"][()] == 0  # tests have none


@pytest.mark.django_db(transaction=True)
def test_the_build_its_schema_and_whether_store_and_broker_answer_are_told(settings: Any, valkey: str) -> None:  # noqa: F811
    settings.REDIS_URL = valkey
    found = told()
    assert found["drafthouse_store_up"][()] == found["drafthouse_broker_up"][()] == 1
    [(_, schema, build)] = found["drafthouse_info"]
    assert build == version() and re.search(r"\bjobs\.\d{4}\b", schema)
    settings.S3_BUCKET, settings.S3_ENDPOINT = "uploads", "http://127.0.0.1:1"
    assert told()["drafthouse_store_up"][()] == 0


@pytest.mark.django_db(transaction=True)
def test_ends_of_jobs_gone_workers_backups_and_wrong_sign_ins_are_counted(world: Any, tmp_path: Path) -> None:
    for _ in range(3):
        make.comparison(world.actor(world.alice))
    jobs.fail(job=jobs.claim(worker="w1", queues=["cpu"]), reason="It cannot be done.")
    jobs.refuse(job=jobs.claim(worker="w1", queues=["cpu"]), reason="No room.")
    jobs.give_back(job=jobs.claim(worker="w1", queues=["cpu"]), reason="It broke.", counts=True)
    tallies.add(tallies.ENGINE_DEATHS, "comparison", "outside")
    jobs.register_worker(name="w1", queues=["cpu"], devices=[], versions={}, others=0.25)
    Worker.objects.update(seen=Now() - timedelta(hours=2))
    before = told().get("drafthouse_sign_ins_refused_total", {})
    Client().post("/sign-in/", {"username": "alice", "password": "wrong"})
    Client().get("/api/v1/me/", headers={"authorization": "Bearer dh_x.y"})
    saving.save(str(tmp_path / "file"), with_bucket=False, tell=lambda word: None)
    found = told()
    ended, totals = found["drafthouse_jobs"], found["drafthouse_job_ends_total"]
    assert (ended["comparison", "error", "failed"], ended["comparison", "refused", "failed"]) == (1, 1)
    assert totals["error", "comparison"] == totals["refused", "comparison"] == 1
    assert found["drafthouse_attempt_ends_total"]["counted", "comparison"] == 1
    assert found["drafthouse_engine_deaths_total"]["outside", "comparison"] == 1
    refused = found["drafthouse_sign_ins_refused_total"]
    assert all(refused[by,] == before.get((by,), 0) + 1 for by in ("password", "token"))
    assert found["drafthouse_backups_total"][()] == 1 and 0 <= found["drafthouse_backup_age_seconds"][()] < 3600
    assert found["drafthouse_workers"]["cpu",] == 0 and found["drafthouse_worker_others"]["w1",] == 0.25
    for name in ("seen_seconds", "clock_off_seconds"):
        assert found[f"drafthouse_worker_{name}"]["w1",] == pytest.approx(7200, abs=60)
    Comparison.objects.all().delete()
    Job.objects.all().delete()
    Worker.objects.update(seen=Now() - timedelta(days=2))
    found = told()
    assert found["drafthouse_job_ends_total"] == totals, "the bin takes nothing from a total"
    assert "drafthouse_worker_seen_seconds" not in found, "one that has gone is told for a day"


@pytest.mark.django_db(transaction=True)
def test_requests_are_counted_by_their_route(world: Any) -> None:
    before, client = told().get("drafthouse_http_requests_total", {}), world.page(world.alice)
    client.get("/comparisons/")
    client.get("/no-such-page/")
    client.generic("BREW", "/comparisons/")
    after = told()["drafthouse_http_requests_total"]
    grown = {key for key, count in after.items() if count > before.get(key, 0)}
    assert ("GET", "/comparisons/", "200") in grown and ("GET", "(none)", "404") in grown
    assert ("other", "/comparisons/", "405") in grown


def test_what_is_open_is_counted_until_it_is_closed() -> None:
    seen: list[list[float]] = []

    def counts() -> list[float]:
        found = told()
        return [found[f"drafthouse_{name}"][()] for name in ("sockets", "long_polls", "http_requests_in_flight")]

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        seen.append(await asyncio.to_thread(counts))
        raise ConnectionError

    before = counts()
    for kind, query, opened in (
        ("websocket", b"", [1, 0, 0]), ("http", b"after=%C3%A9&wait=20", [0, 1, 1]), ("http", b"awaited=1", [0, 0, 1]),
    ):  # fmt: skip
        scope = {"type": kind, "method": "GET", "path": "/x", "query_string": query}
        with pytest.raises(ConnectionError):
            asyncio.run(Door(slow)(scope, None, None))  # type: ignore[arg-type]
        assert [now - then for now, then in zip(seen[-1], before, strict=True)] == opened
        assert counts() == before


@pytest.mark.django_db(transaction=True)
def test_every_metric_is_in_the_table_and_no_other_and_no_label_holds_a_name_an_id_or_a_path(world: Any) -> None:
    things = one_of_everything(world)
    in_other_states(world, things)
    Client(raise_request_exception=False).get(f"/comparisons/{things['comparison'].pk}/")
    tallies.add(tallies.BACKUPS)
    text = ask()[1]
    assert not re.search("[0-9a-f]{8}-[0-9a-f]{4}|alice|charlie", text, re.IGNORECASE)
    assert str(django_settings.DATA_DIR) not in text
    names = set(re.findall(r"^# TYPE (drafthouse_\w+) ", text, re.MULTILINE))
    pools = {name for name in LISTED if "_pool_" in name}  # of PostgreSQL alone
    assert {name.removesuffix("_created") for name in names} - LISTED == set()
    assert LISTED - pools <= names


def test_alerts_and_dashboard_ask_for_metrics_that_are_told_and_say_what_to_do() -> None:
    texts = [(DOCS.parent / "docker" / "monitoring" / name).read_text() for name in ("alerts.yml", "dashboard.json")]
    for text in texts:
        asked = {re.sub("_bucket$", "", metric) for metric in re.findall(r"\bdrafthouse_\w+", text)}
        assert asked and asked - LISTED == set()
        assert [name for name in LISTED if name.endswith("_up") and name not in text] == []
    for rule in yaml.safe_load(texts[0])["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["expr"] and set(rule["annotations"]) == {"summary", "description"}
