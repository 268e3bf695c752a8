"""The rounds behind a bar of "why it is not faster": on their page and as CSV."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest

from decoding.measure.sample import sample_from_events
from decoding.trace import events
from tests.kit import make
from webapp.comparisons import services as comparisons
from webapp.comparisons import trace
from webapp.comparisons.report import report
from webapp.jobs import services as jobs


def drafted(number: int, position: int, tokens: int, accepted: int, at: int) -> list[events.Event]:
    """A round of 100 ns for each drafted token, and 1,000 ns and 10 a token for the verification."""
    end = at + 100 * tokens
    draft = events.Drafted(
        number, position, 4, tuple(range(tokens)), (0.5,) * tokens, (), "limit", "fresh", tokens, at, end
    )
    verdict = events.Verified(
        number, accepted, 9, "bonus" if accepted == tokens else "correction", end - at, end, end + 1000 + 10 * tokens
    )
    return [draft, verdict]


def played(run) -> list[events.Event]:
    """Four rounds of static: one ends too early, one drafts past a refusal, one is right, one ends the text."""
    rounds: list[events.Event] = []
    plan = [(2, 2), (4, 1), (1, 0), (1, 1)] if run.strategy == "static" else [(0, 0)] * 8
    at, position = 1000, 3
    for number, (tokens, accepted) in enumerate(plan, 1):
        if tokens:
            rounds += drafted(number, position, tokens, accepted, at)
        else:
            rounds.append(events.Verified(number, 0, 9, "bonus", 0, at, at + 1000))
        at, position = rounds[-1].end_ns, position + accepted + 1  # type: ignore[union-attr]
    return [events.Started(3, 1000), *rounds, events.Finished("length", 8, at)]


def shared(run) -> list[events.Event]:
    """The same among four texts: the first pass reads a prompt, and before the third the others draft longer."""
    among = ({"prompt_rows": 9}, {"prompts_ns": 4}, {"held_ns": 6}, {})
    extra = [{"texts": 4, **each} for each in among] if run.strategy == "static" else [{"texts": 4}] * 8
    return [
        replace(event, **extra[event.round - 1]) if isinstance(event, events.Verified) else event
        for event in played(run)
    ]


@pytest.fixture
def comparison(world):
    return recorded(world, played)


def recorded(world, played, **asked):
    made = make.comparison(world.actor(world.bob), repeats=2, **asked)
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert job is not None
    for prompt, repeat, runs in make.remaining(made):
        for run in runs:
            happened = played(run)
            sample = comparisons.begin_sample(job=job, run=run, prompt=prompt, repeat=repeat, device="cpu")
            records = [events.to_dict(event, seq) for seq, event in enumerate(happened, 1)]
            trace.append(sample=sample, first_seq=1, events=records)
            numbers = sample_from_events(
                happened, choice=run.choice, prompt=prompt.name, category="", repeat=repeat,
                tokens=tuple(range(8)), text="abc",
            ).to_dict()  # fmt: skip
            comparisons.finish_sample(job=job, sample=sample, last_seq=len(records), numbers=numbers)
    jobs.succeed(job=job)
    return made


def page(world, comparison, **query) -> str:
    answer = world.page(world.victor).get(f"/comparisons/{comparison.pk}/rounds/", query)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def shown(html: str) -> set[str]:
    return set(re.findall(r'data-round="([\d.]+)"', html))


def rows(world, comparison, name: str = "rounds.csv", **query) -> list[dict[str, str]]:
    answer = world.api(world.victor).get(f"/api/v1/comparisons/{comparison.pk}/{name}", query)
    assert answer.status_code == 200, answer.content
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_a_bar_leads_to_exactly_the_rounds_behind_it_which_add_up_to_it(world, comparison):
    numbers = [prompt.number for prompt in comparison.prompts]
    why = report(comparison)["strategies"][1]["why"]
    seconds = {step["name"]: step["seconds"] for step in why["steps"]} | {"bound": 3 * 6 * why["row_ns"] / 1e9}
    everywhere, behind = {1, 2, 3, 4}, {"bound": {2, 3, 4}, "early": {1}, "rejected": {2}}
    for cause in ("bound", "drafting", "early", "rejected", "width", "overhead"):
        named = {"strategy": "static:4", "cause": cause}
        lines = rows(world, comparison, **named)
        assert sum(int(line["cause_ns"]) for line in lines) == pytest.approx(seconds[cause] * 1e9), cause
        assert {line["strategy"] for line in lines} == {"static:4"}
        assert shown(page(world, comparison, **named)) == {
            f"{prompt}.{repeat}.{n}" for prompt in numbers for repeat in (1, 2) for n in behind.get(cause, everywhere)
        }, cause


def test_under_load_a_bar_leads_to_the_rounds_in_which_others_took_time(world):
    made = recorded(world, shared, concurrency=[4])
    why = report(made)["strategies"][1]["why"]
    for cause, rounds in (("others", {3}), ("prompts", {1, 2}), ("width", {1, 2, 3, 4})):
        named = {"strategy": "static:4 @4", "cause": cause}
        assert {int(name.rpartition(".")[2]) for name in shown(page(world, made, **named))} == rounds, cause
        seconds = next(step["seconds"] for step in why["steps"] if step["name"] == cause)
        found = sum(int(line["cause_ns"]) for line in rows(world, made, **named))
        assert found == pytest.approx(seconds * 1e9, abs=24), cause


def test_without_a_bar_the_csv_holds_every_round_and_strangers_see_none(world, comparison):
    lines = rows(world, comparison)
    assert len(lines) == 6 * (8 + 4) and "cause_ns" not in lines[0]
    answer = world.page(world.charlie).get(f"/comparisons/{comparison.pk}/rounds/?strategy=static:4&cause=early")
    assert answer.status_code == 404


def test_a_bar_that_does_not_exist_is_refused(world, comparison):
    for query, status, said in (
        ({"strategy": "disco", "cause": "early"}, 400, "No strategy of this comparison is called"),
        ({"strategy": "static:4"}, 400, "No cause is called"),
        ({"strategy": "autoregressive", "cause": "early"}, 409, "It drafted nothing"),
    ):
        answer = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/rounds.csv", query)
        assert answer.status_code == status and said in answer.json()["detail"]
        assert world.page(world.bob).get(f"/comparisons/{comparison.pk}/rounds/", query).status_code == status
