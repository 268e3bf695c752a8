"""Answers to what-if questions from the traces of the strategies that ran, and sentences about what is not known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.core.cache import cache

from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.replay.what_if.places import TracedText
from decoding.strategies import STRATEGIES
from decoding.trace.events import Anticipated, Drafted, Verified
from tests.golden.behaviour import difference
from tests.kit import make
from tests.kit.what_if import ask, comparison, decode, live
from tests.kit.worlds import some_classifier
from webapp.comparisons.models import Comparison, Sample, TraceChunk
from webapp.comparisons.what_if.asking import knobs
from webapp.comparisons.what_if.recorded import version
from webapp.registry import services as registry
from webapp.registry.models import Pair
from webapp.studies.classifiers import services as classifying

REST = Path(__file__).parents[2] / "golden" / "rest.json"
ASKED = (
    "strategy=static&lookahead=3",
    "strategy=static&lookahead=3&users=4",
    "strategy=tree&rows=6",
    "strategy=hybrid",
)
ANSWERS = ("", "report/", *(f"what-if/?{asked}" for asked in ASKED))
MADE_ANEW = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)"  # ids and dates


def test_rest_answers_about_a_comparison_are_those_that_were_recorded(world):
    """To record them anew, remove the file and run this test twice."""
    made = comparison(world, "static:2,static:4,threshold:0.4,lookup:4,tree:2/11", prompts=6)  # none follows a clock
    decode(made)
    path, answers = f"/api/v1/comparisons/{made.pk}/", {}
    for each in ANSWERS:
        answer = world.api(world.bob).get(path + each)
        words = re.sub(MADE_ANEW, "…", b"".join(answer).decode())
        answers[each] = json.loads(words)
    if not REST.exists():
        REST.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
        pytest.fail("There was no record, so this run wrote it.")
    assert difference("REST", answers, json.loads(REST.read_text())) == ""


def test_for_several_users_an_answer_says_which_prices_were_measured_and_adds_its_point_to_the_curve(world):
    made = comparison(world, "static:3,ssd:3,placement=in-turn", prompts=4, concurrency=[1, 4])
    decode(made)

    def asked(query):
        return ask(world.api(world.bob), made, query).json()

    four, two, many = (asked(f"strategy=static&lookahead=2&users={users}") for users in (4, 2, 16))
    assert (four["label"], four["measured"][0]["label"]) == ("static:2 @4", "static:3 @4")
    assert four["measured"][0]["simulated"] == pytest.approx(four["measured"][0]["speedup"]["ratio"])
    assert four["bound"] is None and many["measured"] == []
    for answer, note in (
        (four, "Passes of 4 texts are priced as measured here."),
        (two, "Passes of 2 texts are priced between those measured here, of 1 and 4 texts."),
        (many, "Nothing here ran with 16 users. Prices were measured for 1 and 4 texts"),
    ):
        assert note in " ".join(answer["notes"])
    here, missing = four["curve"]["points"], four["curve"]["missing"]
    assert [point["value"] for point in here] == [2] and sorted([2, *missing]) == list(range(1, 21))

    one, four, many = (asked(f"strategy=ssd&users={users}") for users in (1, 4, 16))
    assert "Preparing is priced as measured here with 4 users." in four["notes"]
    assert "Preparing for 16 users is priced as for 4" in " ".join(many["notes"])
    assert not [note for note in four["notes"] if "After a miss" in note]
    for answer, label in ((one, "ssd:3"), (four, "ssd:3 @4")):
        assert answer["label"] == label and 0 < answer["hit_rate"] <= 1
        ran = {row["strategy"]: row["simulated"] for row in answer["measured"]}
        assert ran["ssd"] and ran["static"] is None, "turns are not compared with two models at once"
    there = asked("strategy=ssd&lookahead=6")
    TraceChunk.objects.all().delete()
    cache.delete(
        f"recorded-3:{version(Comparison.objects.get(pk=made.pk))}"
    )  # so that nothing could be played any more
    assert asked("strategy=ssd") == {**one, "curve": there["curve"]}, "a place where the slider has been"


def test_what_strategies_lose_beside_their_passes_is_taken_off(world):
    made = comparison(world, "static:2,static:4")
    decode(made)
    told = ask(world.api(world.bob), made, "lookahead=10").json()
    assert told["correction"] == pytest.approx(1.0, rel=0.01) and told["error"] < 0.01
    assert told["unmeasured"] > 0.5 and "more than 5 rows. Their price is extrapolated" in " ".join(told["notes"])
    for sample in Sample.objects.exclude(run__strategy="autoregressive"):
        sample.numbers["decode_ns"] *= 2
        sample.save()
    cache.clear()
    told = ask(world.api(world.bob), made, "lookahead=2").json()
    assert told["correction"] == pytest.approx(0.5, rel=0.01)
    first = told["measured"][0]
    assert told["speedup"]["ratio"] == pytest.approx(first["speedup"]["ratio"], rel=0.01)
    assert first["simulated"] == pytest.approx(first["speedup"]["ratio"], rel=0.01)
    assert "The passes alone would give a speed-up 2.0" in " ".join(told["notes"])


def test_noise_that_makes_long_drafts_look_cheap_is_answered_and_said(world):
    """It used to make a drafted token's price nothing, and the page said that there was nothing to replay."""
    made = comparison(world, "static:2,static:6")
    decode(made, drafting=lambda tokens: 12 - tokens)
    told = ask(world.api(world.bob), made, "lookahead=4").json()
    assert "Long drafts took no longer than short ones" in " ".join(told["notes"])
    gains = [point["ratio"] for point in told["curve"]["points"] if point["value"] >= 8]
    assert gains == sorted(gains, reverse=True)  # more drafting is never taken to be free


@pytest.mark.parametrize(
    ("labels", "asked", "code", "told"),
    [
        ("oracle", {}, "nothing-recorded", "measured on static, heuristic, threshold, schedule or vllm-adaptive"),
        ("static:2", {"temperature": 0.7, "dice": "ratio"}, "not-replayable", ""),
        ("static:2", {"concurrency": [2]}, "nothing-recorded", "decoded for one user at a time"),
    ],
)
def test_where_nothing_can_be_replayed_it_says_what_to_run(world, labels, asked, code, told):
    made = comparison(world, labels, **asked)
    decode(made)
    answer = ask(world.api(world.bob), made)
    assert (answer.status_code, answer.json()["code"]) == (409, code) and told in str(answer.json())
    page = world.page(world.bob).get(f"/comparisons/{made.pk}/").context
    assert page["refused"].code == code


def test_a_question_that_makes_no_sense_is_refused_in_words(world):
    made = comparison(world, "static:2,tree:2x2", prompts=2)
    decode(made, prompts=False)
    for query, status, says in (
        ("strategy=disco", 400, "replayed; static, heuristic, threshold, schedule, ssd, lookup, suffix, hybrid, tree"),
        ("strategy=vllm-adaptive", 400, "These traces do not tell what it would do."),
        ("strategy=ssd-disco", 400, "Make a plan: it replays with it."),
        ("strategy=static&lookahead=0", 400, "outside 1 to 64"),
        ("strategy=ssd&branches=64", 400, "branches up to 32"),
        *((f"users={users}", 400, "from 1 to 64") for users in ("0", "65", "4" * 5000)),
        ("strategy=ssd", 409, "No ssd has run here"),
        ("strategy=lookup&lookahead=3", 409, "lack the tokens of the prompts"),  # traces of an earlier version
        ("strategy=suffix&classifier=newest", 409, "copies"),
    ):
        answer = ask(world.api(world.bob), made, query)
        assert (answer.status_code, says in json.dumps(answer.json())) == (status, True), answer.json()
    told = ask(world.api(world.bob), made, "strategy=static&lookahead=3").json()
    assert [bool(row["simulated"]) for row in told["measured"]] == [True, False]
    assert f"tree:2x2 is left out: {STRATEGIES['tree'].why_not}." in told["notes"]


def test_more_samples_change_the_answer(world):
    made = comparison(world, "static:2")
    bob = world.api(world.bob)
    assert "Wait until some are finished" in ask(bob, made).json()["hint"]
    decode(made)
    assert ask(bob, made).status_code == 200
    TraceChunk.objects.all().delete()
    assert ask(bob, made, "lookahead=5").status_code == 200  # read once, kept for the next question
    cache.clear()
    for sample in made.runs.get(strategy="static").samples.all():  # another text, whose places are others
        sample.numbers["tokens"][0] += 1
        sample.save()
    assert ask(bob, made).json()["code"] == "nothing-recorded"


def test_whoever_has_the_link_may_ask_too_and_an_answer_fills_the_form_in(world):
    made = comparison(world, "static:2")
    decode(made)
    link = world.api(world.bob).post(f"/api/v1/comparisons/{made.pk}/shares/").json()["link"]
    assert world.api(None).get(f"{link}what-if/?lookahead=3").json()["label"] == "static:3"
    assert world.api(None).get(f"{link}what-if/?lookahead=99").status_code == 400
    page = world.page(world.bob).get(f"/comparisons/new/?clone={made.pk}&strategies=static:6,threshold:0.25,cap=8")
    form = page.context["form"]
    chosen = {box.spec.slug: [p.value for p in (box.first, *box.rest)] for box in form.strategies if box.is_chosen}
    assert chosen == {"static": ["6"], "threshold": ["0.25", "8"]} and form.body["pair"] == made.pair.pk
    plain = world.page(world.bob).get("/comparisons/new/?strategies=nonsense").context["form"]
    assert [box.spec.slug for box in plain.strategies if box.is_chosen] == ["autoregressive", "static", "heuristic"]


def counts_of(events):
    """How often each number of tokens was drafted, and how many were accepted."""
    drafts = {event.round: len(event.tokens) for event in events if isinstance(event, Drafted)}
    verdicts = [event for event in events if isinstance(event, Verified)]
    return sorted(drafts.get(verdict.round, 0) for verdict in verdicts), sum(verdict.accepted for verdict in verdicts)


def judged_by(world, pair, path):
    """A classifier of copies, as training stores it: the one that `live` asks."""
    made, by = some_classifier(), world.actor(world.bob)
    made.card = {"features": features.NAMES, "design": "sources", "thresholds": {"copied": 0.35}}
    made.save(path / "c")
    upload = make.upload(by, {file.name: file.read_bytes() for file in (path / "c").iterdir()})
    return classifying.add_classifier(name="c", pair=pair, upload=upload, by=by)


def test_copies_that_a_classifier_judges_do_what_the_replay_says_by_the_one_that_ran_here(world, by, tmp_path):
    """What-if used to refuse them: the traces do not contain the classifier."""
    pair = make.pair(by)
    make.classifier(by, pair, design="sources")
    spoilt = comparison(world, "static:2,suffix:0.05", prompts=2, pair=pair)
    decode(spoilt)
    refused = ask(world.api(world.bob), spoilt, "strategy=suffix&classifier=newest").json()
    assert refused["code"] == "no-classifier", "its weights cannot be read"
    assert not any(knob["param"] == "classifier" for of in knobs(spoilt, set()) for knob in of["knobs"])

    ran = judged_by(world, pair, tmp_path)
    made = comparison(world, f"static:2,suffix:0.35,classifier={ran.pk},hybrid:{ran.pk}", prompts=4, pair=pair)
    decode(made)
    judged_by(world, pair, tmp_path)  # a newer one
    bob, sampling = world.api(world.bob), Sampling(**{**made.sampling, "stop": ()})
    told = ask(bob, made, "strategy=lookup&classifier=newest&threshold=0.4").json()
    label = "lookup:20,threshold=0.4,classifier=newest"
    rounds = [counts_of(live(label, sampling, prompt.number)[1])[0] for prompt in made.prompts]
    assert told["num_target_passes"] == sum(map(len, rounds)) and told["num_draft_passes"] == 0
    assert told["label"] == label.replace("newest", str(ran.pk)[:8])
    assert all(row["simulated"] for row in told["measured"]) and len(told["measured"]) == 3
    mixed = ask(bob, made, "strategy=hybrid&classifier=newest").json()
    assert "probability stands for the classifier's estimate" in str(mixed["notes"])
    form = {of["slug"]: of for of in knobs(made, {"static"})}
    assert [knob["options"] for knob in form["lookup"]["knobs"]][-1] == ("", "newest")
    assert form["ssd"]["why_not"] == "none ran here"


def test_without_a_draft_or_where_it_matches_text_answers_are_about_copies_and_say_why(world, by):
    """Such comparisons used to refuse every question, or to be told that static had not run, after it had."""
    models = {"target": make.model(by, "target", layers=4), "draft": make.model(by, "draft", layers=1, first="b")}
    matching = registry.add_pair(name="slem", **models, other_tokenizer="slem", by=by)
    bob = world.api(world.bob)
    for pair, labels, code in (
        (make.target_alone(by), "lookup:4", "no-draft"),
        (matching, "static:2,lookup:4", "other-tokenizer"),
    ):
        made = comparison(world, labels, prompts=2, pair=pair)
        decode(made, matches_text=pair == matching)
        told = ask(bob, made, "").json()
        assert (told["label"], told["speedup"]["prompts"]) == ("lookup:10", 2) and told["bound"] is None
        refused = ask(bob, made, "strategy=static&lookahead=3")
        assert (refused.status_code, refused.json()["code"]) == (409, code)
        page = world.page(world.bob).get(f"/comparisons/{made.pk}/").context
        assert page["refused"] is None and {knobs["slug"] for knobs in page["what_if"]} == {"lookup", "suffix"}
    Pair.objects.filter(pk=matching.pk).update(findings=[], other_tokenizer="auto")  # of models only a worker can open
    cache.clear()
    refused = ask(bob, made, "strategy=static&lookahead=3").json()["detail"]
    assert "these traces have none" in refused and "matches text (SLEM)" in refused


def ranks(*samples):
    """Ranks of the text's tokens on the draft's lists, and the least that they can be."""
    places = TracedText.of(3, 3, False, tokens=(5, 9, 9))
    for events in samples:
        places.learn(events, has_branches=True)
    return places.stood, places.beyond


def round_one(drafted, accepted, token, branches):
    yield Drafted(1, 3, 2, drafted, (0.9,) * len(drafted), (), "limit", "fresh", 2, 0, 1, "")
    yield Verified(1, accepted, token, "bonus" if accepted == len(drafted) else "correction", 0, 1, 2)
    yield Anticipated(1, branches, 0.5, 1, 2)


def test_a_branch_tells_what_the_draft_preferred_and_of_two_samples_the_surer_is_believed():
    refused = round_one((5, 6), 1, 9, ((0, 3, 1), (1, 7, 1), (1, 9, 1), (2, 8, 1)))
    assert ranks(refused) == ({0: 0, 1: 2}, {1: 1})
    missed = round_one((5, 6), 1, 9, ((0, 3, 1), (1, 7, 1), (1, 4, 1)))
    assert ranks(missed) == ({0: 0}, {1: 3})
    fewer = round_one((5, 6), 1, 9, ((0, 3, 1), (1, 7, 1)))
    assert ranks(round_one((5, 6), 1, 9, ((1, 7, 1), (1, 4, 1))), fewer) == ({0: 0}, {1: 3})
    whole = round_one((5, 6), 2, 9, ((2, 8, 1), (2, 9, 1)))
    assert ranks(whole) == ({0: 0, 1: 0, 2: 1}, {2: 0})
