"""The names of strategies in a report, the samples behind it, its turns of chats, and the page that shows it."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from decoding.measure.sample import sample_from_dict
from decoding.measure.speedups import speedup
from decoding.prompts.prompt import read_prompts
from tests.kit import make
from tests.kit.comparisons import decoded_at
from webapp.comparisons.models import Sample
from webapp.comparisons.report import names_of, report, samples_a_report, so_far
from webapp.jobs import services as jobs
from webapp.registry import prompt_sets
from webapp.registry import services as registry
from webapp.registry.models import Readiness


@pytest.fixture
def decoded(world):
    return decoded_at(world, {"autoregressive": 100.0, "static:4": 160.0})


def shown(world, comparison, query=""):
    return world.page(world.bob).get(f"/comparisons/{comparison.pk}/{query}").content.decode()


def test_a_classifier_is_named_only_where_nothing_else_tells_strategies_apart():
    labels = ["static:4", "disco:priced,classifier=a5ed7160", "ssd-disco:8,classifier=a5ed7160,branches=8"]
    assert list(names_of(labels).values()) == ["static:4", "disco:priced", "ssd-disco:8,branches=8"]
    judged = ["suffix:0.3", "suffix:0.3,classifier=3f2a1b4c"]  # it runs without one too
    assert list(names_of(judged).values()) == ["suffix:0.3", "suffix:0.3,classifier"]
    two = ["disco:priced,classifier=a5ed7160", "disco:priced,classifier=0badcafe"]
    assert list(names_of(two).values()) == two


def test_a_report_is_made_of_the_samples_it_counts(by):
    comparison = make.comparison(by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    runs = list(comparison.runs.all())
    first, second, third = comparison.prompts
    for prompt, some in ((first, runs), (second, runs), (third, runs[:1])):
        for run in some:
            make.decode_one(job, run, prompt, 1)
    found = [so_far(comparison)]
    assert found[0]["samples"] == sum(row["sample_count"] for row in found[0]["strategies"]) == 2 * len(runs) + 1
    jobs.cancel(job=job, by=by)
    jobs.stop(job=job)
    comparison.job.refresh_from_db()
    found.append(so_far(comparison))
    began = [one["verdict"].partition(",")[0] for one in found]
    assert began == ["So far after 2 of 3 prompts", "Stopped after 2 of 3 prompts"]
    assert found[1]["strategies"][1]["speedup"]["low"] is None


def test_the_longer_a_comparison_runs_the_rarer_its_report_is_made_anew():
    made = {count - count % samples_a_report(count, 5) for count in range(5 * 2000)}
    assert sorted(made)[:65] == [5 * prompts for prompts in range(65)]
    assert len(made) < 250  # else 2,000 reports of up to 10,000 samples each
    assert 5 * 2000 - max(made) <= 0.04 * max(made)


def test_a_result_says_which_models_were_gguf_files_and_whose_speed_it_is(by):
    comparison = make.comparison(by)
    target = comparison.pair.target
    facts = {**target.facts, "gguf": "a GGUF file (Q4_K_M, 1 MB)"}
    registry.model_was_checked(model=target, state=Readiness.READY, facts=facts)
    make.decode_all(comparison)
    (warning,) = report(comparison)["warnings"]
    assert warning.startswith("The target was dequantised from a GGUF file (Q4_K_M, 1 MB)")


ENGINES = ("vLLM", "SGLang", "llama.cpp", '"num_speculative_tokens": 4', "set this in other engines: static:4")


@pytest.mark.parametrize(
    ("others", "told", "is_untold"),
    [
        ({"static:4": 160.0}, ENGINES, "No other engine"),
        ({"heuristic:5": 250.0, "static:4": 160.0}, (ENGINES[-1], "No other engine can do heuristic:5;"), None),
        ({"static:2": 40.0, "static:4": 60.0}, (), "engine"),  # no gain
    ],
)
def test_what_the_verdict_names_can_be_copied_as_settings_of_engines_that_can_do_it(world, others, told, is_untold):
    comparison = decoded_at(world, {"autoregressive": 100.0, **others})
    page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/")
    flags = html.unescape(page.content.decode()).partition('class="elsewhere"')[2].partition("</details>")[0]
    flags = " ".join(flags.split())
    assert all(words in flags for words in told) and (is_untold is None or is_untold not in flags)
    fastest = max(others, key=lambda label: others[label])
    assert page.context["shown_label"] == fastest, "the text shown first is the verdict's, a gain or not"


def test_a_sample_that_finishes_while_a_report_is_made_is_in_all_of_it_or_in_none(decoded):
    """It was once read in one go and its noise in another: "while 29 of 28 samples were decoded"."""
    with CaptureQueriesContext(connection) as asked:
        report(decoded)
    assert sum('FROM "comparisons_sample"' in query["sql"] for query in asked.captured_queries) == 1


def numbers_of(comparison, label):
    rows = Sample.objects.filter(run__comparison=comparison, run__label=label)
    return [sample_from_dict(numbers) for numbers in rows.values_list("numbers", flat=True)]


def test_whatever_is_pinned_gets_the_same_paired_interval_and_the_verdict_is_about_the_others(decoded):
    usual = report(decoded)
    rows = {row["label"]: row for row in report(decoded, "static:4")["strategies"]}
    alone, pinned = rows["autoregressive"], rows["static:4"]
    expected = speedup(numbers_of(decoded, "autoregressive"), numbers_of(decoded, "static:4"))
    assert (alone["speedup"]["ratio"], alone["speedup"]["low"]) == (expected.ratio, expected.low)
    assert alone["gained_tokens_per_s"] == alone["tokens_per_s"] - pinned["tokens_per_s"] < 0
    assert pinned["speedup"]["ratio"] == 1 and pinned["gained_tokens_per_s"] == 0
    assert pinned["why"] == usual["strategies"][1]["why"]  # over autoregressive in any case
    assert usual["verdict"].startswith("static:4 is 1.")
    assert report(decoded, "static:4")["verdict"].startswith("Nothing to rank: no strategy")


def test_report_page_and_link_are_relative_to_what_the_address_pins(world, decoded):
    bob, path = world.api(world.bob), f"/api/v1/comparisons/{decoded.pk}"
    assert bob.get(f"{path}/report/").json()["baseline"] == "autoregressive"
    told = bob.get(f"{path}/report/?baseline=static:4").json()
    assert told["baseline"] == "static:4" and told["strategies"][0]["speedup"]["ratio"] < 1
    page = shown(world, decoded, "?baseline=static:4")
    assert '<option value="static:4" selected>' in page and '"baseline": "static:4"' in page
    assert "worst.jsonl?baseline=static%3A4" in page and "shares/?baseline=static%3A4" in page
    answer = world.page(world.bob).post(f"/comparisons/{decoded.pk}/shares/?baseline=static:4", {"days": 3})
    link = answer.context["link"].removeprefix("http://testserver")
    assert link.endswith("/?baseline=static%3A4")
    assert f'href="/comparisons/{decoded.pk}/?baseline=static%3A4">Back to the comparison' in answer.content.decode()
    assert '<option value="static:4" selected>' in world.page(None).get(link).content.decode()
    for asked in ("%ed%a0%80", "%22%3E%3Cscript%3E"):  # what no strategy is called
        answer = world.page(world.bob).get(f"/comparisons/{decoded.pk}/shares/?baseline={asked}")
        [back] = re.findall(r'href="([^"]*)">Back to the comparison', answer.content.decode())
        assert b'"><script>' not in answer.content and "&" not in back
        for answer in (
            bob.get(f"{path}/worst.jsonl?baseline={asked}"),
            world.page(world.bob).get(f"/comparisons/{decoded.pk}/?baseline={asked}"),
            world.page(None).get(f"{link.partition('?')[0]}?baseline={asked}"),
        ):
            assert answer.status_code == 400 and "autoregressive, static:4" in answer.content.decode()


def test_a_verdict_doubts_itself_when_more_than_a_fifth_of_its_samples_are_noisy(decoded):
    """A fifth of the twelve is between two and three. Where others used most of the machine there are no intervals."""
    for noisy in (2, 3):
        some = Sample.objects.filter(run__comparison=decoded).values_list("pk", flat=True)[:noisy]
        Sample.objects.filter(pk__in=list(some)).update(noise="Other programs used 40% of the 2 cores.")
        found = report(decoded)
        assert found["noisy_count"] == noisy and found["strategies"][1]["is_shown"] is True
        assert found["is_noisy"] is found["doubt"].startswith("The machine was not quiet: ") is (noisy == 3)
    Sample.objects.filter(run__comparison=decoded).update(noise="Other programs used 80 % of the 2 cores.")
    found = report(decoded)
    row = found["strategies"][1]
    assert (row["speedup"]["low"], row["end_to_end"]["low"], row["is_shown"]) == (None, None, False)
    assert found["doubt"].endswith("so no interval would hold.") and found["ranking"]["leader"] is None


@pytest.fixture
def talked(by):
    """A comparison of two conversations of two turns, decoded."""
    rows = [{"id": "t", "turns": ["Hello", "Bye"]}, {"id": "u", "turns": ["One", "Two"]}]
    text = "\n".join(map(json.dumps, rows))
    made = make.comparison(by, dataset=prompt_sets.add_dataset(name="t", file_name="t.jsonl", text=text, by=by))
    make.decode_all(made)
    for sample in Sample.objects.select_related("prompt", "run"):
        turn = sample.prompt.turn
        told = {"turn": turn, "conversation": sample.prompt.follows, "answer": f"answer to {sample.prompt.name}"}
        rendered = {"rendered": f"<|user|>{sample.prompt.text}"} if sample.run.strategy == "autoregressive" else {}
        slower = {"decode_ns": sample.numbers["decode_ns"] * (3 if sample.run.strategy == "static" else 1) * turn}
        sample.numbers.update(told | rendered | slower)
        sample.save()
    return made


def test_the_report_is_also_by_turn_and_the_page_shows_a_chat_as_the_target_read_it(world, talked):
    row = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/report/").json()["strategies"][1]
    assert [(turn["turn"], turn["speedup"]["prompts"]) for turn in row["by_turn"]] == [(1, 2), (2, 2)]
    assert row["speedup"]["prompts"] == 2
    page = world.page(world.victor).get(f"/comparisons/{talked.pk}/").content.decode()
    assert "By turn" in page and "Turn 2, " in page and "\\u003C|user|\\u003EBye" in page


def test_the_worst_prompts_are_a_prompt_file_that_stands_alone(world, talked):
    def asked(query):
        return world.script("read").get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl?{query}")

    text = b"".join(asked("strategy=static:4").streaming_content).decode()
    rows = list(map(json.loads, text.splitlines()))
    assert len(rows) == 4 and all(row["speedup"] == pytest.approx(2 / 3, abs=1e-3) for row in rows)
    prompts = {prompt.id: prompt for prompt in read_prompts(text, "worst.jsonl")}
    assert [message["content"] for message in prompts["t#2"].chat.messages] == ["Hello", "answer to t", "Bye"]
    assert b"".join(asked("limit=1").streaming_content).count(b"\n") == 1
    assert (asked("strategy=ssd").status_code, asked("limit=0").status_code) == (400, 400)
