"""The names of strategies in a report, and the samples behind it."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from decoding.measure.sample import sample_from_dict
from decoding.measure.speedups import speedup
from tests.kit import make
from tests.kit.comparisons import decoded_at
from webapp.comparisons.models import Sample
from webapp.comparisons.report import names_of, report, so_far, step
from webapp.jobs import services as jobs
from webapp.registry import services as registry
from webapp.registry.models import Readiness


def test_a_classifier_is_named_only_where_nothing_else_tells_strategies_apart():
    labels = ["static:4", "disco:priced,classifier=a5ed7160", "ssd-disco:8,classifier=a5ed7160,branches=8"]
    assert list(names_of(labels).values()) == ["static:4", "disco:priced", "ssd-disco:8,branches=8"]
    judged = ["suffix:0.3", "suffix:0.3,classifier=3f2a1b4c"]  # it runs without one too
    assert list(names_of(judged).values()) == ["suffix:0.3", "suffix:0.3,classifier"]
    two = ["disco:priced,classifier=a5ed7160", "disco:priced,classifier=0badcafe"]
    assert list(names_of(two).values()) == two


def test_a_report_is_made_of_the_samples_it_counts(world, by):
    comparison = make.comparison(world.actor(world.bob))
    job = jobs.claim(worker="w1", queues=["cpu"])
    runs = list(comparison.runs.all())
    prompts = list(comparison.prompts)
    for prompt, some in ((prompts[0], runs), (prompts[1], runs[:1])):
        for run in some:
            make.decode_one(job, run, prompt, 1)
    found = so_far(comparison)
    assert found["samples"] == sum(row["sample_count"] for row in found["strategies"]) == len(runs) + 1
    comparison = make.comparison(by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    for prompt in list(comparison.prompts)[:2]:
        for run in comparison.runs.all():
            make.decode_one(job, run, prompt, 1)
    found = [so_far(comparison)]
    jobs.cancel(job=job, by=by)
    jobs.stop(job=job)
    comparison.job.refresh_from_db()
    found.append(so_far(comparison))
    began = [one["verdict"].partition(",")[0] for one in found]
    assert began == ["So far after 2 of 3 prompts", "Stopped after 2 of 3 prompts"]
    assert [one["ranking"]["more_prompts"] for one in found] == [None, None]


def test_the_longer_a_comparison_runs_the_rarer_its_report_is_made_anew():
    made = {count - count % step(count, 5) for count in range(5 * 2000)}
    assert sorted(made)[:65] == [5 * prompts for prompts in range(65)]
    assert len(made) < 250  # else 2,000 reports of up to 10,000 samples each
    latest = max(made)
    assert 5 * 2000 - latest <= 0.04 * latest


@pytest.mark.django_db
def test_a_result_says_which_models_were_gguf_files_and_whose_speed_it_is(world):
    comparison = make.comparison(world.actor(world.bob))
    target = comparison.pair.target
    facts = {**target.facts, "gguf": "a GGUF file (Q4_K_M, 1 MB)"}
    registry.model_was_checked(model=target, state=Readiness.READY, facts=facts)
    make.decode_all(comparison)
    (warning,) = report(comparison)["warnings"]
    assert warning.startswith("The target was dequantised from a GGUF file (Q4_K_M, 1 MB)")


def test_few_prompts_have_no_interval_but_the_difference_to_the_baseline(world):
    comparison = make.comparison(world.actor(world.bob))
    make.decode_all(comparison)
    baseline, *others = report(comparison)["strategies"]
    assert baseline["gained_tokens_per_s"] == 0
    for row in others:
        assert row["gained_tokens_per_s"] == row["tokens_per_s"] - baseline["tokens_per_s"]
    page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "run 3 more." in page and '<td class="num quiet">3 prompts</td>' in page
    assert report(comparison)["strategies"][1]["speedup"]["low"] is None


@pytest.fixture
def decoded(world):
    return decoded_at(world, {"autoregressive": 100.0, "static:4": 160.0})


def flags(world, comparison):
    page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/").content.decode()
    return " ".join(html.unescape(page).partition('class="elsewhere"')[2].partition("</details>")[0].split())


ENGINES = ("vLLM", "SGLang", "llama.cpp", '"num_speculative_tokens": 4', "set this in other engines: static:4")


@pytest.mark.parametrize(
    ("others", "told", "is_untold"),
    [
        ({"static:4": 160.0}, ENGINES, "No other engine"),
        ({"heuristic:5": 250.0, "static:4": 160.0}, (ENGINES[-1], "No other engine can do heuristic:5;"), None),
        ({"static:4": 60.0}, (), "engine"),  # no gain
    ],
)
def test_what_the_verdict_names_can_be_copied_as_settings_of_engines_that_can_do_it(world, others, told, is_untold):
    shown = flags(world, decoded_at(world, {"autoregressive": 100.0, **others}))
    assert all(words in shown for words in told) and (is_untold is None or is_untold not in shown)


def test_a_sample_that_finishes_while_a_report_is_made_is_in_all_of_it_or_in_none(world, decoded):
    """It was once read in one go and its noise in another: "while 29 of 28 samples were decoded"."""
    with CaptureQueriesContext(connection) as asked:
        report(decoded)
    assert sum('FROM "comparisons_sample"' in query["sql"] for query in asked.captured_queries) == 1


def numbers_of(comparison, label):
    rows = Sample.objects.filter(run__comparison=comparison, run__label=label)
    return [sample_from_dict(numbers) for numbers in rows.values_list("numbers", flat=True)]


def test_whatever_is_pinned_gets_the_same_paired_interval_and_the_verdict_is_about_the_others(world, decoded):
    rows = {row["label"]: row for row in report(decoded, "static:4")["strategies"]}
    alone = rows["autoregressive"]
    expected = speedup(numbers_of(decoded, "autoregressive"), numbers_of(decoded, "static:4"))
    assert (alone["speedup"]["ratio"], alone["speedup"]["low"]) == (expected.ratio, expected.low)
    assert alone["speedup"]["high"] < 1 and alone["gained_tokens_per_s"] < 0
    assert rows["static:4"]["speedup"]["ratio"] == 1 and rows["static:4"]["gained_tokens_per_s"] == 0
    assert rows["static:4"]["why"] == report(decoded)["strategies"][1]["why"]  # over autoregressive in any case
    assert report(decoded)["verdict"].startswith("static:4 is 1.")
    assert report(decoded, "static:4")["verdict"].startswith("Nothing to rank: no strategy")


def test_the_text_shown_first_is_that_of_the_strategy_that_the_verdict_names(world):
    """The page used to show the first strategy's where none was a gain."""
    comparison = decoded_at(world, {"autoregressive": 100.0, "static:2": 40.0, "static:4": 60.0})
    page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/")
    assert "static:4 comes closest" in page.context["report"]["verdict"] and page.context["shown_label"] == "static:4"


def test_report_page_and_link_are_relative_to_what_the_address_pins(world, decoded):
    bob, path = world.api(world.bob), f"/api/v1/comparisons/{decoded.pk}"
    assert bob.get(f"{path}/report/").json()["baseline"] == "autoregressive"
    told = bob.get(f"{path}/report/?baseline=static:4").json()
    assert told == bob.get(f"{path}/report/?baseline=static:4").json()  # kept apart from the one before
    assert told["baseline"] == "static:4" and told["strategies"][0]["speedup"]["ratio"] < 1
    page = world.page(world.bob).get(f"/comparisons/{decoded.pk}/?baseline=static:4").content.decode()
    assert '<option value="static:4" selected>' in page and '"baseline": "static:4"' in page
    assert "worst.jsonl?baseline=static%3A4" in page and "shares/?baseline=static%3A4" in page
    answer = world.page(world.bob).post(f"/comparisons/{decoded.pk}/shares/?baseline=static:4", {"days": 3})
    link = answer.context["link"]
    assert link.endswith("/?baseline=static%3A4")
    assert f'href="/comparisons/{decoded.pk}/?baseline=static%3A4">Back to the comparison' in answer.content.decode()
    shown = world.page(None).get(link.removeprefix("http://testserver"))
    assert '<option value="static:4" selected>' in shown.content.decode()


def test_the_way_back_from_sharing_holds_whatever_was_in_the_address(world, decoded):
    for asked in ("%ed%a0%80", "%22%3E%3Cscript%3E"):
        answer = world.page(world.bob).get(f"/comparisons/{decoded.pk}/shares/?baseline={asked}")
        assert answer.status_code == 200 and b'"><script>' not in answer.content
        [back] = re.findall(r'href="([^"]*)">Back to the comparison', answer.content.decode())
        assert back.startswith(f"/comparisons/{decoded.pk}/?baseline=") and "&" not in back


def test_what_no_strategy_is_called_cannot_be_pinned(world, decoded):
    link = world.api(world.bob).post(f"/api/v1/comparisons/{decoded.pk}/shares/").json()["link"]
    path, asked = f"/api/v1/comparisons/{decoded.pk}", "?baseline=%ed%a0%80"
    answers = [world.api(world.bob).get(f"{path}/{what}{asked}") for what in ("report/", "worst.jsonl")]
    answers.append(world.page(world.bob).get(f"/comparisons/{decoded.pk}/{asked}"))
    answers.append(world.page(None).get(f"{link.removeprefix('http://testserver')}{asked}"))
    for answer in answers:
        assert answer.status_code == 400 and "autoregressive, static:4" in answer.content.decode()


def test_a_verdict_doubts_itself_when_more_than_a_fifth_of_its_samples_are_noisy(world, decoded):
    """A fifth of the twelve is between two and three."""
    for noisy in (2, 3):
        some = Sample.objects.filter(run__comparison=decoded).values_list("pk", flat=True)[:noisy]
        Sample.objects.filter(pk__in=list(some)).update(noise="Other programs used 40% of the 2 cores.")
        found = report(decoded)
        assert found["noisy_count"] == noisy and found["verdict"].startswith("static:4 is 1.")
        assert found["is_noisy"] is found["doubt"].startswith("The machine was not quiet: ") is (noisy == 3)


def test_where_other_programs_used_most_of_the_machine_there_are_no_intervals(world, decoded):
    assert report(decoded)["strategies"][1]["is_shown"] is True
    Sample.objects.filter(run__comparison=decoded).update(noise="Other programs used 80 % of the 2 cores.")
    found = report(decoded)
    row = found["strategies"][1]
    assert (row["speedup"]["low"], row["end_to_end"]["low"], row["is_shown"]) == (None, None, False)
    assert found["doubt"].endswith("so no interval would hold.") and found["ranking"]["leader"] is None


def test_the_page_says_that_what_memory_gains_depends_on_the_order_of_the_prompts(world, by):
    """It used to say that the order is rotated, which one repeat is not."""
    strategies = [{"strategy": "suffix", "params": {"memory": True}}]
    for repeats, order in ((1, "there was one order"), (2, "each of the 2 repeats begins at")):
        comparison = make.comparison(by, strategies=strategies, repeats=repeats)
        make.decode_all(comparison)
        page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/").content.decode()
        assert page.count(f"what it gains depends on their order; {order}") == 1
