"""Servers on a worker: a comparison of our strategies with them, the check of one, and its key, which shows nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from decoding.backends.contestants.servers.endpoint import EndpointSpec
from decoding.backends.contestants.servers.guard import allowed
from tests.kit.servers.formats import speaking
from tests.kit.servers.stage import greedy_steps, streamed_words
from tests.kit.servers.wire import Asked, Reply, Script, Wire, events, serving
from webapp.accounts.actor import Actor
from webapp.comparisons.models import Comparison, Sample
from webapp.jobs.models import Job, JobEvent
from webapp.registry.endpoints import services as endpoints
from webapp.registry.models import Endpoint
from worker.servers import local_pids

pytestmark = pytest.mark.slow
KEY = "sk-the-key-of-theirs"
THEIRS = {"strategy": "server", "params": {"name": "theirs"}}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Script]:
    """Scripts of servers that run the target of the tests' pair, by dialect."""
    from tests.kit.models import LLAMA, save

    folder: Path = tmp_path_factory.mktemp("theirs")
    save(folder, "llama", **LLAMA)
    steps, decode = greedy_steps(folder), streamed_words(folder)
    return lambda dialect: speaking(dialect, steps, decode)


@pytest.fixture
def wire(honest: Callable[[str], Script]) -> Iterator[Wire]:
    with serving(honest("llamacpp")) as wire:
        yield wire


def register(by: Actor, url: str, dialect: str = "llamacpp", **more: Any) -> Endpoint:
    return endpoints.add_endpoint(**{"name": "theirs", "url": url, "dialect": dialect, "deadline_s": 60, **more}, by=by)


def test_a_hostile_server_costs_its_own_samples_and_its_key_shows_nowhere(launch, team, make_worker, wire, caplog):
    def hostile(asked: Asked) -> Reply:
        if asked.method == "GET":
            return Reply([f'{{"data": [{{"id": "Bearer {KEY}"}}]}}'.encode()])
        if asked.body["prompt"] == "w1 w2 w3":
            return Reply(events({"error": f"bad key {KEY}"}))
        odd = {"index": 0, "text": f"w3 \ud800 {KEY}", "finish_reason": "length"}
        return Reply(events({"choices": [odd], "usage": {"completion_tokens": 1e30}}))

    with serving(hostile) as other:
        register(team, wire.address)
        bad = register(team, other.address, dialect="openai", name="bad", key=KEY)
        strategies = [THEIRS, {"strategy": "server", "params": {"name": "bad"}}]
        comparison = launch(texts=2, strategies=strategies, sampling={"max_new_tokens": 16})
        make_worker(queue="light").look()
        make_worker("w2").look()
    comparison.job.refresh_from_db()
    bad.refresh_from_db()
    assert comparison.job.state == "failed" and "broke off with an error: bad key (key)" in comparison.job.reason
    finished = Sample.objects.finished().values_list("run__label", flat=True)
    assert sorted(finished) == ["autoregressive"] * 2 + ["server:bad"] + ["server:theirs"] * 2
    assert {asked.headers.get("Authorization") for asked in other.asked} == {f"Bearer {KEY}"}
    tables = (Endpoint, JobEvent, Sample, Comparison, Job)
    stored = [repr(list(each.objects.values())) for each in tables]
    assert not any(KEY in each for each in (*stored, caplog.text)) and "(key)" in stored[0] and "(key)" in stored[2]


@pytest.fixture
def checked(team, make_worker):
    def check(url: str, **more: Any) -> Endpoint:
        theirs = register(team, url, **more)
        make_worker(queue="light").look()
        theirs.refresh_from_db()
        return theirs

    return check


def test_a_worker_checks_a_server_and_refuses_one_that_fails_without_its_key(checked, wire):
    theirs = checked(wire.address)
    assert (theirs.state, theirs.reason, theirs.serves) == ("ready", "", "m")
    sentences = {"Prompts go to it as token ids.", f"It is healthy: {wire.address}/health answers 200."}
    assert sentences <= {finding["sentence"] for finding in theirs.findings}
    told = f'{{"error": "no such key: {KEY}"}}'.encode()
    with serving(lambda asked: Reply([told], 401 if "Authorization" in asked.headers else 404)) as wire:
        absent = checked(f"{wire.address}/v1", dialect="vllm", name="absent")
        closed = checked(wire.address, key=KEY, name="closed")
    assert (absent.state, absent.findings) == ("refused", [])
    assert f"{wire.address}/health answers 404" in absent.reason
    assert closed.state == "refused" and "401" in closed.reason and KEY not in closed.reason


def test_an_address_that_the_operator_does_not_allow_is_never_connected_to(team, make_worker, wire, settings):
    theirs = register(team, wire.address.replace("127.0.0.1", "localhost"))
    settings.SERVERS = allowed(["10.0.0.0/8"])
    make_worker(queue="light").look()
    theirs.refresh_from_db()
    assert theirs.state == "refused" and "the operator does not allow" in theirs.reason
    assert not wire.asked


def test_a_server_on_this_machine_is_known_by_its_process_so_that_its_work_is_no_noise(wire):
    here = EndpointSpec("here", wire.address, "llamacpp")
    elsewhere = EndpointSpec("elsewhere", "http://192.0.2.1:80", "llamacpp")
    assert local_pids([here, elsewhere]) == [os.getpid()]
