"""The rounds behind a bar of "why it is not faster": on their page and as CSV."""

from __future__ import annotations

import csv
import io
import re

import pytest

from decoding.trace import events
from tests.kit import make
from webapp.comparisons.report import report
from webapp.jobs import services as jobs

PLANS = {"static": [(2, 2), (4, 1), (1, 0), (1, 1)], "autoregressive": [(0, 0)] * 8}  # drafted and accepted


def played(strategy: str) -> list[events.Event]:
    """Four rounds of static: one ends too early, one drafts past a refusal, one is right, one ends the text. A drafted
    token takes 100 ns, a verification 1,000 ns and 10 ns a token."""
    found: list[events.Event] = [events.Started(3, 1000)]
    at, position = 1000, 3
    for number, (tokens, accepted) in enumerate(PLANS[strategy], 1):
        begun, at = at, at + 100 * tokens
        if tokens:
            draft = (tuple(range(tokens)), (0.5,) * tokens, (), "limit", "fresh", tokens)
            found.append(events.Drafted(number, position, 4, *draft, begun, at))
        outcome = "bonus" if accepted == tokens else "correction"
        found.append(events.Verified(number, accepted, 9, outcome, at - begun, at, at + 1000 + 10 * tokens))
        at, position = at + 1000 + 10 * tokens, position + accepted + 1
    return [*found, events.Finished("length", 8, at)]


@pytest.fixture
def comparison(by):
    made = make.comparison(by, repeats=2)
    job = jobs.claim(worker="w1", queues=["cpu"])
    for prompt, repeat, runs in make.remaining(made):
        for run in runs:
            make.decode_one(job, run, prompt, repeat, played(run.strategy), tokens=tuple(range(8)))
    jobs.succeed(job=job)
    return made


def rows(world, comparison, **query) -> list[dict[str, str]]:
    answer = world.api(world.victor).get(f"/api/v1/comparisons/{comparison.pk}/rounds.csv", query)
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_a_bar_leads_to_exactly_the_rounds_behind_it_which_add_up_to_it(world, comparison):
    numbers = [prompt.number for prompt in comparison.prompts]
    why = report(comparison)["strategies"][1]["why"]
    seconds = {step["name"]: step["seconds"] for step in why["steps"]} | {"bound": 3 * 6 * why["row_ns"] / 1e9}
    for cause, behind in (("bound", {2, 3, 4}), ("early", {1}), ("rejected", {2}), ("width", {1, 2, 3, 4})):
        named = {"strategy": "static:4", "cause": cause}
        lines = rows(world, comparison, **named)
        assert sum(int(line["cause_ns"]) for line in lines) == pytest.approx(seconds[cause] * 1e9), cause
        page = world.page(world.victor).get(f"/comparisons/{comparison.pk}/rounds/", named).content.decode()
        expected = {f"{prompt}.{repeat}.{n}" for prompt in numbers for repeat in (1, 2) for n in behind}
        assert set(re.findall(r'data-round="([\d.]+)"', page)) == expected, cause
        assert {(line["strategy"], int(line["round"])) for line in lines} == {("static:4", n) for n in behind}
    lines = rows(world, comparison)
    assert len(lines) == 6 * (8 + 4) and "cause_ns" not in lines[0]


def test_a_bar_that_does_not_exist_is_refused(world, comparison):
    for query, status, said in (
        ({"strategy": "disco", "cause": "early"}, 400, "No strategy of this comparison is called"),
        ({"strategy": "static:4"}, 400, "No cause is called"),
        ({"strategy": "autoregressive", "cause": "early"}, 409, "It drafted nothing"),
    ):
        answer = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/rounds.csv", query)
        assert answer.status_code == status and said in answer.json()["detail"]
        assert world.page(world.bob).get(f"/comparisons/{comparison.pk}/rounds/", query).status_code == status
