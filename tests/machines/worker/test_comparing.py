"""A comparison on a worker: its results, and its state when something ends it half-way."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from django.db import OperationalError, connection

from decoding.choice import choose
from decoding.measure.sample import Audit, sample_from_events
from decoding.trace.events import Finished, Started, Verified
from tests.kit import make
from tests.kit.comparisons import is_whole, state, succeeded
from tests.kit.postgres import Server
from tests.kit.processes import until
from tests.machines.worker.conftest import model, prompts
from tests.machines.worker.orders import LosesItsGpu
from webapp.accounts.actor import Actor
from webapp.comparisons import services as comparisons
from webapp.comparisons.kinds import COMPARISON
from webapp.comparisons.models import Sample
from webapp.comparisons.report import report
from webapp.jobs import ends
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, JobEvent, Queue
from webapp.registry import lengths, prompt_sets
from webapp.registry import services as registry
from webapp.registry.models import Dataset, Pair
from worker.attempt import Attempt
from worker.engine_process import EngineDied
from worker.jobs import count_tokens
from worker.jobs.comparison import Compare
from worker.jobs.comparison.messages import Audited, Began, Grew, SampleDecoded, TracesGrown, Tuned, Weighed
from worker.jobs.comparison.rows import ComparisonRows
from worker.pulse import Hold

pytestmark = pytest.mark.slow


def finished() -> int:
    return Sample.objects.finished().count()


@pytest.mark.smoke
def test_a_comparison_runs_to_its_end(launch, make_worker):
    comparison = launch(texts=2, repeats=2)
    make_worker().look()
    assert state(comparison) == "succeeded", comparison.job.reason
    assert (comparison.job.done_count, comparison.job.total_count) == (12, 12)
    samples = list(Sample.objects.select_related("run", "prompt"))
    assert {(s.run.label, s.prompt.name, s.repeat) for s in samples} == {
        (label, prompt, repeat)
        for label in ("autoregressive", "static:3", "threshold:0.4")
        for prompt in ("1", "2")
        for repeat in (1, 2)
    }
    assert all(is_whole(sample) for sample in samples)
    comparison.refresh_from_db()
    assert comparison.hardware["torch"] == torch.__version__ and comparison.hardware["drafthouse"]
    assert {sample.device.split(", ")[-1] for sample in samples} == {comparison.hardware["dtype"]}
    assert all(sample.device and sample.attempt == 1 and sample.worker == "w1" for sample in samples)
    rows = report(comparison)["strategies"]
    assert [(row["audit"]["identical"], row["sample_count"]) for row in rows] == [(4, 4)] * 3


@pytest.mark.smoke
def test_a_target_alone_is_compared_without_a_draft(launch, make_worker, team, pair):
    alone = registry.add_pair(name="alone", target=pair.target, by=team)
    comparison = launch(pair=alone, strategies=[{"strategy": "lookup"}])
    make_worker().look()
    rows = report(succeeded(comparison))["strategies"]
    assert [(row["sample_count"], row["audit"]["identical"]) for row in rows] == [(2, 2), (2, 2)]


def test_an_engine_whose_gpu_failed_ends_and_a_fresh_one_goes_on(launch, make_worker, engine, monkeypatch):
    """Every later call to the GPU would fail in the same process."""
    comparison, submit, orders = launch(texts=2), engine.submit, []

    def submit_failing(order, allowed=None):
        orders.append(order)
        submit(order if len(orders) > 1 else LosesItsGpu(order, 2), allowed)

    monkeypatch.setattr(engine, "submit", submit_failing)
    hands = make_worker()
    for _ in range(2):
        make.waited()
        hands.look()
    assert state(comparison) == "succeeded", comparison.job.reason
    told = " ".join(JobEvent.objects.values_list("sentence", flat=True))
    assert "an illegal memory access" in told and "cannot use a GPU after that" in told
    assert len(orders) == 2 and finished() == Sample.objects.count() == 6


def test_a_baseline_that_kills_the_engine_is_given_up_and_the_others_end_without_an_audit(launch, make_worker, engine):
    """A comparison whose others waited for such a baseline used to be ordered again without end."""
    comparison, deaths = launch(texts=1), []

    def kill() -> None:
        deaths.append(engine.pid)
        os.kill(engine.pid, signal.SIGUSR1)
        engine.go_on()
        if len(deaths) < 2:
            engine.after(1, kill, (Began,))

    engine.after(1, kill, (Began,))
    make_worker().look()
    assert state(comparison) == "failed" and "autoregressive on prompt 1: The engine" in comparison.job.reason
    assert [s.numbers["audit"]["outcome"] for s in Sample.objects.finished()] == ["not_compared"] * 2


def test_a_sample_that_kills_the_engine_twice_is_given_up_and_named(launch, engine):
    launch(texts=2)
    hold = Hold(jobs.claim(worker="w1", queues=["cpu"]))
    work = ComparisonRows(Attempt(hold, engine), Compare)
    killer = ("static:3", "1", 0)
    for _ in range(2):
        assert work.order().given_up == frozenset()
        work.store(Began(killer))
        work.engine_died(EngineDied("It was ended by SIGSEGV."))
    assert work.order().given_up == {killer}
    assert "static:3 on prompt 1: It was ended by SIGSEGV." in work.what_broke()
    with pytest.raises(EngineDied):  # a third death, and nothing was finished in between
        work.engine_died(EngineDied("Again."))


def test_a_later_attempt_uses_the_prices_and_kernels_that_the_first_has_found(launch, engine):
    comparison = launch(texts=2)
    work = ComparisonRows(Attempt(Hold(jobs.claim(worker="w1", queues=["cpu"])), engine), Compare)
    assert work.order().prices == {}
    found = {"a classifier": {"rules": {"priced": {"card": 0.4, "run": 0.8, "doubt": 0.15}}, "costs": {"target": [0]}}}
    work.store(Weighed(found, "Another was not weighed."))
    work.store(Tuned({"device_name": "A card", "dtype": "bfloat16", "kernels": {"unread draft of 4": "used"}}))
    assert JobEvent.objects.filter(sentence="Another was not weighed.").count() == 1
    assert work.order().prices == found
    comparison.refresh_from_db()
    assert comparison.prices == found
    assert comparison.hardware["kernels"] == {"unread draft of 4": "used"} and comparison.hardware["drafthouse"]


def test_texts_and_numbers_that_no_database_would_take_are_kept_as_far_as_they_can_be(launch, engine):
    """A model may well say NUL, and the distance to a token that sampling rules out is infinite."""
    launch(texts=1)
    work = ComparisonRows(Attempt(Hold(jobs.claim(worker="w1", queues=["cpu"])), engine), Compare)
    work.order()
    which = ("autoregressive", "1", 0)
    started, verified, ended = Started(3, 10), Verified(1, 0, 7, "correction", 0, 10, 20), Finished("length", 1, 20)
    spoiled = dataclasses.replace(
        sample_from_events(
            [started, verified, ended],
            choice=choose("autoregressive"), prompt="1", category="", repeat=0, tokens=[7], text="a\0b",
        ),
        audit=Audit("divergent", 0, 7, 8, math.inf),
    )  # fmt: skip
    work.store(Began(which))
    work.store(TracesGrown([Grew(which, 1, [started, verified, ended], {7: "\0"}, time.perf_counter_ns())]))
    work.store(SampleDecoded(spoiled, 3))
    work.store(SampleDecoded(spoiled, 3))  # as after a connection that broke before the first was confirmed
    work.store(Audited([spoiled]))
    stored = Sample.objects.get()
    assert is_whole(stored)
    assert (stored.numbers["text"], stored.numbers["audit"]["gap"]) == ("a\ufffdb", None)


def test_a_lease_lost_to_another_stops_the_old_worker_and_the_next_does_only_the_rest(launch, make_worker, engine):
    comparison = launch(texts=4, tokens=32)

    def lose() -> None:
        assert make.silence() == 1

    def another_takes_it() -> None:
        lose()
        assert jobs.claim(worker="w2", queues=["cpu"]) is not None

        engine.go_on()

    engine.after(2, another_takes_it)
    make_worker("w1").look()
    comparison.job.refresh_from_db()
    assert (comparison.job.state, comparison.job.worker, comparison.job.attempt) == ("running", "w2", 2)
    kept = set(Sample.objects.finished().values_list("pk", flat=True))
    assert 2 <= len(kept) < 12 and not engine.is_busy

    lose()  # w2 never began
    make.waited()
    make_worker("w3").look()
    assert state(comparison) == "succeeded", comparison.job.reason
    assert finished() == Sample.objects.count() == 12
    assert set(Sample.objects.filter(attempt=1).values_list("pk", flat=True)) == kept
    assert {sample.attempt for sample in Sample.objects.exclude(pk__in=kept)} == {3}
    assert all(sample.numbers["audit"]["outcome"] == "identical" for sample in Sample.objects.all())


def test_a_job_that_takes_too_long_fails_and_goes_on_once_it_may_take_longer(launch, make_worker, team, settings):
    settings.JOB_LIMIT_S = 0
    comparison = launch(texts=1, tokens=4)
    make_worker().look()
    assert state(comparison) == "failed" and "raise DRAFTHOUSE_JOB_HOURS" in Job.objects.get().reason
    settings.JOB_LIMIT_S = 3600
    jobs.retry(job=Job.objects.get(), by=team)
    make_worker().look()
    assert state(comparison) == "succeeded"


def test_trying_again_decodes_only_what_is_missing(launch, make_worker, team, engine):
    """Cancelling keeps what is finished, and the models loaded."""
    comparison = launch(texts=6, tokens=96)
    hands = make_worker()
    engine.after(4, lambda: jobs.cancel(job=Job.objects.get(), by=team))
    hands.look()
    before, pid = dict(Sample.objects.values_list("pk", "finished")), engine.pid
    assert 4 <= finished() == len(before) < 18 and state(comparison) == "cancelled"
    jobs.retry(job=comparison.job, by=team)
    hands.look()
    assert state(comparison) == "succeeded", comparison.job.reason
    after = dict(Sample.objects.values_list("pk", "finished"))
    assert len(after) == 18 and before.items() <= after.items() and engine.pid == pid


def test_what_the_engine_says_for_a_job_that_was_put_down_is_never_taken_for_the_next_ones(launch, make_worker, engine):
    """An absence of the database that nobody waits out drops the job, and the engine goes on with it unheard."""
    launch(texts=6, tokens=96)
    hands = make_worker()

    def away() -> NoReturn:
        engine.go_on()
        raise OperationalError("the connection was closed")

    engine.after(2, away)
    hands.look()
    put_down = Job.objects.get()
    following = launch(texts=6, tokens=4)
    hands.look()
    told = list(JobEvent.objects.filter(job=put_down).values_list("sentence", flat=True))
    assert f"w1 could not reach the database for a while. {ends.OUTSIDE}" in told
    assert state(following) == "succeeded", following.job.reason
    samples = Sample.objects.filter(run__comparison=following)
    assert [len(sample.numbers["tokens"]) for sample in samples] == [4] * 18


def test_the_end_of_a_job_is_written_down_when_the_database_is_back(launch, make_worker, engine):
    """Else it would be said to run until somebody missed its worker."""
    comparison = launch(texts=1, tokens=4)
    refusals = 2

    def away_at_the_end(execute, sql, params, many, context):
        nonlocal refusals
        if refusals and sql.startswith("UPDATE") and "succeeded" in (params or ()):
            refusals -= 1
            raise OperationalError("the connection was closed")
        return execute(sql, params, many, context)

    hands = make_worker()
    with connection.execute_wrapper(away_at_the_end):
        hands.look()
    assert refusals < 2
    assert (state(comparison), comparison.job.attempt) == ("succeeded", 1)


LOAD = {"strategies": [{"strategy": "static", "params": {"lookahead": 3}}], "concurrency": [3]}


@pytest.mark.smoke
def test_an_engine_killed_in_a_full_batch_costs_only_what_was_unfinished(launch, make_worker, engine):
    comparison = launch(texts=9, tokens=48, **LOAD)
    kept: dict[object, int] = {}

    def kill() -> None:
        assert Sample.objects.filter(finished=None).count() == 3, "the batch is full"
        kept.update(Sample.objects.finished().values_list("pk", "last_seq"))
        os.kill(engine.pid, signal.SIGKILL)

    engine.after(6, kill, (Began,))  # autoregressive texts are as long as each other, and begin one after another
    make_worker().look()
    assert state(comparison) == "succeeded", comparison.job.reason
    assert (comparison.job.attempt, comparison.job.counted_ends, len(kept)) == (2, 0, 3)
    assert kept.items() <= dict(Sample.objects.values_list("pk", "last_seq")).items()
    labels = ("autoregressive @3", "static:3 @3")
    made = Sample.objects.values_list("run__label", "prompt__name", "repeat")
    assert sorted(made) == sorted((label, str(n), 1) for label in labels for n in range(1, 10))
    samples = list(Sample.objects.all())
    assert all(is_whole(sample) and sample.numbers["audit"]["outcome"] == "identical" for sample in samples)
    assert {sample.attempt for sample in samples} == {1, 2}
    told = " ".join(JobEvent.objects.values_list("sentence", flat=True))
    assert "ended by SIGKILL" in told and ends.OUTSIDE in told


HOME = os.environ.get("DRAFTHOUSE_TEST_POSTGRES")


@pytest.mark.skipif(HOME is None, reason="needs a server of its own: test_on_postgres.py runs it on one")
def test_after_the_database_was_stopped_the_worker_goes_on_where_it_was(launch, make_worker, engine, caplog):
    """The engine decodes on meanwhile. What it says waits, and the attempt is the same."""
    comparison = launch(texts=6, tokens=48)
    server = Server(Path(HOME))

    def start_again() -> None:
        until(lambda: "what the engine says waits" in caplog.text, "the worker to notice")
        server.start()

    other = threading.Thread(target=start_again)

    def stop() -> None:
        server.stop()
        other.start()
        engine.go_on()

    engine.after(2, stop)
    make_worker().look()
    other.join()
    comparison.job.refresh_from_db()
    assert (comparison.job.state, comparison.job.attempt) == ("succeeded", 1), comparison.job.reason
    assert Sample.objects.finished().count() == Sample.objects.count() == 18
    assert all(sample.numbers["audit"]["outcome"] == "identical" for sample in Sample.objects.all())


TEMPLATE = b"{% for m in messages %}{{ 'w1 ' if m.role == 'user' else 'w2 ' }}{{ m.content }} {% endfor %}w2"


@pytest.fixture
def talks(team: Actor) -> Dataset:
    rows = [{"id": f"t{n}", "turns": [f"w{n + 3} w{n + 4}", "w5"]} for n in range(4)]
    text = "\n".join(map(json.dumps, rows))
    return prompt_sets.add_dataset(name="talks", file_name="talks.jsonl", text=text, by=team)


@pytest.fixture
def chatting(team: Actor, checkpoints: dict[str, dict[str, bytes]]) -> Pair:
    """A pair whose target has a chat template."""
    target = model(team, {**checkpoints["target"], "chat_template.jinja": TEMPLATE}, "target")
    return Pair.objects.create(team=team.home, name="chat", target=target, draft=model(team, checkpoints["draft"], "d"))


def test_after_a_crash_later_turns_follow_the_answers_given_before_it(team, chatting, talks, make_worker, engine):
    asked = {"strategies": [{"strategy": "static"}], "sampling": {"max_new_tokens": 8, "ignore_eos": True}}
    comparison = comparisons.launch(name="talks", by=team, pair=chatting, dataset=talks, concurrency=[2], **asked)
    engine.after(10, lambda: os.kill(engine.pid, signal.SIGKILL))
    make_worker().look()
    runs = Sample.objects.filter(run__comparison=succeeded(comparison), run__strategy="autoregressive").finished()
    samples = [sample.numbers for sample in runs]
    read, answered = ({one["prompt"]: one[key] for one in samples} for key in ("rendered", "text"))
    assert len(read) == 8
    assert read["t1"] == "w1 w4 w5 w2"
    for number in range(4):
        assert read[f"t{number}#2"] == read[f"t{number}"] + f" {answered[f't{number}']} w1 w5 w2"


def test_a_worker_counts_with_the_pairs_tokenizer_and_template(team, pair, chatting, talks, make_worker):
    words = prompts(team, ["w1 w2 w3", "w4", *["w5 w6"] * count_tokens.AT_ONCE])  # more than one order's worth
    counted = lengths.count(dataset=words, pair=pair, by=team)
    chats = lengths.count(dataset=talks, pair=chatting, by=team)
    make_worker(queue="light").look()
    assert (succeeded(chats).document["shortest"], chats.document["longest"]) == (3, 4)
    document = succeeded(counted).document
    assert (document["shortest"], document["median"], document["longest"]) == (1, 2, 3)
    assert document["prompt_count"] == count_tokens.AT_ONCE + 2
    assert document["context"]["target"] == document["context"]["draft"] > 3


JOB_COUNT, RACERS = 60, 3
ROOT = Path(__file__).parents[3]
RACER = """
import json, sys
name, database = sys.argv[1], json.loads(sys.argv[2])
from webapp.config import settings as ours
ours.DATABASES["default"].update(database)
import django; django.setup()
from webapp.jobs import services

print("ready", flush=True)
while sys.stdin.readline():
    job = services.claim(worker=name, queues=["cpu"])
    print(job.pk if job else "nothing", flush=True)
    assert job is None or services.succeed(job=job)
"""


def racer(name: str) -> Any:
    command = [sys.executable, "-c", RACER, name, json.dumps({"NAME": str(connection.settings_dict["NAME"])})]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_every_job_is_claimed_once_and_every_racer_claims_some(team):
    """All start each look together, so that none is ahead however the machine deals its time."""
    Job.objects.bulk_create(
        Job(**COMPARISON.columns(), team=team.home, created_by=team.user, queue=Queue.CPU, title=str(number))
        for number in range(JOB_COUNT)
    )
    with ExitStack() as running:
        racers = [running.enter_context(racer(f"w{number + 1}")) for number in range(RACERS)]
        assert {one.stdout.readline() for one in racers} == {"ready\n"}
        claimed: list[list[str]] = [[] for _ in racers]
        while sum(map(len, claimed)) < JOB_COUNT:
            for one in racers:
                one.stdin.write("look\n")
                one.stdin.flush()
            for mine, one in zip(claimed, racers, strict=True):
                said = one.stdout.readline().strip()
                assert said, "a racer has broken down; it says above why"
                mine += [said] if said != "nothing" else []
        for one in racers:
            one.communicate()
        assert [one.returncode for one in racers] == [0] * RACERS
    assert len({job for mine in claimed for job in mine}) == sum(map(len, claimed)) == JOB_COUNT
    assert min(map(len, claimed)) == JOB_COUNT // RACERS
    assert Job.objects.filter(state="succeeded", attempt=1).count() == JOB_COUNT
    assert JobEvent.objects.filter(state="running").count() == JOB_COUNT
