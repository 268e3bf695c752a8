"""Answers to what-if questions from the traces of the strategies that ran, and sentences about what is not known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.core.cache import cache

from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.replay.what_if.simulation import simulate
from decoding.strategies import STRATEGIES
from decoding.trace.events import Drafted, Verified
from tests.golden.behaviour import difference
from tests.kit import make
from tests.kit.what_if import ask, comparison, decode, live
from tests.kit.worlds import some_classifier
from webapp.comparisons.models import Sample, TraceChunk
from webapp.comparisons.what_if.asking import knobs
from webapp.comparisons.what_if.recorded import recorded as recorded_of
from webapp.registry import services as registry
from webapp.registry.models import Pair
from webapp.studies.classifiers import services as classifying

BY_ORDER = "suffix:memory=true copies from earlier requests, so what it gains depends on their order."


def counts_of(events):
    """How often each number of tokens was drafted, and how many were accepted."""
    drafts = {event.round: len(event.tokens) for event in events if isinstance(event, Drafted)}
    verdicts = [event for event in events if isinstance(event, Verified)]
    rounds = sorted(drafts.get(verdict.round, 0) for verdict in verdicts)
    return rounds, sum(verdict.accepted for verdict in verdicts)


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
    recorded = json.loads(REST.read_text())
    assert difference("REST", answers, recorded) == ""


def test_what_if_is_asked_for_several_users_and_says_which_prices_were_measured(world):
    made = comparison(world, "static:4", prompts=6, concurrency=[1, 4])
    decode(made)

    one, four, three, many = (
        ask(world.api(world.bob), made, f"strategy=static&lookahead=3&users={users}").json() for users in (1, 4, 3, 16)
    )
    assert [answer["users"] for answer in (one, four, many)] == [1, 4, 16]
    assert (one["label"], four["label"]) == ("static:3", "static:3 @4")
    assert [row["label"] for row in one["measured"]] == ["static:4"]
    assert [row["label"] for row in four["measured"]] == ["static:4 @4"] and many["measured"] == []
    assert four["measured"][0]["simulated"] == pytest.approx(four["measured"][0]["speedup"]["ratio"])
    assert "Passes of 4 texts are priced as measured here." in four["notes"]
    assert "Passes of 3 texts are priced between those measured here, of 1 and 4 texts." in three["notes"]
    assert "Nothing here ran with 16 users. Prices were measured for 1 and 4 texts" in " ".join(many["notes"])
    assert four["bound"] is None and four["speedup"]["prompts"] == 6
    here, missing = four["curve"]["points"], four["curve"]["missing"]
    assert [point["value"] for point in here] == [3] and sorted([3, *missing]) == list(range(1, 21))
    assert [point["unmeasured"] for point in many["curve"]["points"]] == [1.0]


def test_on_the_strategies_that_ran_the_replay_says_what_was_measured(world):
    made = comparison(world, "static:2,static:4,heuristic,threshold:0.3")
    decode(made)
    told = ask(world.api(world.bob), made, "lookahead=2").json()
    assert told["correction"] == pytest.approx(1.0, rel=0.01)
    for row in told["measured"]:
        assert row["simulated"] == pytest.approx(row["speedup"]["ratio"], rel=0.01), row["label"]
    assert told["error"] < 0.01


def test_what_strategies_lose_beside_their_passes_is_taken_off(world):
    made = comparison(world, "static:2,static:4")
    decode(made)
    for sample in Sample.objects.exclude(run__strategy="autoregressive"):
        sample.numbers["decode_ns"] *= 2
        sample.save()
    told = ask(world.api(world.bob), made, "lookahead=2").json()
    assert told["correction"] == pytest.approx(0.5, rel=0.01)
    [first, _] = told["measured"]
    assert told["speedup"]["ratio"] == pytest.approx(first["speedup"]["ratio"], rel=0.01)
    assert first["simulated"] == pytest.approx(first["speedup"]["ratio"], rel=0.01)
    assert "The passes alone would give a speed-up 2.0" in " ".join(told["notes"])


def test_a_longer_draft_than_any_that_ran_says_that_its_price_is_extended(world):
    made = comparison(world, "static:2")
    decode(made)
    told = ask(world.api(world.bob), made, "lookahead=10").json()
    assert told["unmeasured"] > 0.5 and told["error"] is None  # one strategy cannot say how far off the replay is
    assert "more than 3 rows. Their price is extrapolated" in " ".join(told["notes"])


def test_noise_that_makes_long_drafts_look_cheap_is_answered_and_said(world):
    """It used to make a drafted token's price nothing, and the page said that there was nothing to replay."""
    made = comparison(world, "static:2,static:6")
    decode(made, drafting=lambda tokens: 12 - tokens)
    told = ask(world.api(world.bob), made, "lookahead=4").json()
    assert "Long drafts took no longer than short ones" in " ".join(told["notes"])
    gains = [point["ratio"] for point in told["curve"]["points"] if point["value"] >= 8]
    assert gains == sorted(gains, reverse=True)  # more drafting is never taken to be free


@pytest.mark.parametrize(
    ("labels", "asked", "is_decoded", "code", "told"),
    [
        ("oracle", {}, True, "nothing-recorded", "measured on static, heuristic, threshold, schedule or vllm-adaptive"),
        ("static:2", {}, False, "nothing-recorded", "Wait until some are finished"),
        ("static:2", {"temperature": 0.7, "dice": "ratio"}, False, "not-replayable", ""),
        ("static:2", {"concurrency": [2]}, True, "nothing-recorded", "decoded for one user at a time"),
    ],
)
def test_where_nothing_can_be_replayed_it_says_what_to_run(world, labels, asked, is_decoded, code, told):
    made = comparison(world, labels, **asked)
    if is_decoded:
        decode(made)
    answer = ask(world.api(world.bob), made)
    assert (answer.status_code, answer.json()["code"]) == (409, code) and told in str(answer.json())


def test_a_question_that_makes_no_sense_is_refused_in_words(world):
    made = comparison(world, "static:2")
    for query, says in (
        ("strategy=disco", "replayed; static, heuristic, threshold, schedule, ssd, lookup, suffix, hybrid, tree can"),
        ("strategy=vllm-adaptive", "These traces do not tell what it would do."),
        ("strategy=hybrid&lookahead=3", "has no parameter 'lookahead'"),
        ("strategy=static&lookahead=0", "outside 1 to 64"),
        ("lookahed=3", "lookahed"),
        *((f"users={users}", "from 1 to 64") for users in ("0", "65", "4" * 5000)),
    ):
        answer = ask(world.api(world.bob), made, query)
        assert (answer.status_code, says in json.dumps(answer.json())) == (400, True), answer.json()


def test_trees_of_other_shapes_can_be_asked_and_those_that_ran_check_the_answer(world):
    made = comparison(world, "static:2,tree:3/22,tree:2x2", prompts=6, concurrency=[1, 4])
    decode(made)
    four = ask(world.api(world.bob), made, "strategy=tree&rows=6&depth=3&users=4").json()
    assert four["label"] == "tree:auto,rows=6,depth=3 @4" and four["speedup"]["ratio"] > 0
    assert [bool(row["simulated"]) for row in four["measured"]] == [True, True, False]
    found = ask(world.api(world.bob), made, "strategy=tree&rows=6&depth=3").json()
    assert found["label"] == "tree:auto,rows=6,depth=3" and found["possible"]["high"] >= found["speedup"]["ratio"] > 1
    simulated = {row["label"]: row["simulated"] for row in found["measured"]}
    assert simulated["tree:2x2"] is None, "the draft's own probabilities shaped it"
    assert f"tree:2x2 is left out: {STRATEGIES['tree'].why_not}." in found["notes"]
    [measured] = [row["speedup"]["ratio"] for row in found["measured"] if row["label"] == "tree:3/22"]
    assert simulated["tree:3/22"] == pytest.approx(measured, rel=0.1)


def test_more_samples_change_the_answer(world):
    made = comparison(world, "static:2")
    bob = world.api(world.bob)
    assert ask(bob, made).status_code == 409
    decode(made)
    assert ask(bob, made).status_code == 200
    TraceChunk.objects.all().delete()
    assert ask(bob, made, "lookahead=5").status_code == 200  # read once, kept for the next question
    cache.clear()
    for sample in made.runs.get(strategy="static").samples.all():  # another text, whose places are others
        sample.numbers["tokens"][0] += 1
        sample.save()
    assert ask(bob, made).json()["code"] == "nothing-recorded"


def test_whoever_has_the_link_may_ask_too_and_a_link_fills_the_form_in(world):
    made = comparison(world, "static:2")
    decode(made)
    link = world.api(world.bob).post(f"/api/v1/comparisons/{made.pk}/shares/").json()["link"]
    answer = world.api(None).get(f"{link}what-if/?lookahead=3")
    assert answer.status_code == 200 and answer.json()["label"] == "static:3"
    assert world.api(None).get(f"{link}what-if/?lookahead=99").status_code == 400
    page = world.page(world.bob).get(f"/comparisons/new/?clone={made.pk}&strategies=static:6,threshold:0.25,cap=8")
    form = page.context["form"]
    chosen = {box.spec.slug: [p.value for p in (box.first, *box.rest)] for box in form.strategies if box.is_chosen}
    assert chosen == {"static": ["6"], "threshold": ["0.25", "8", "False"]}
    assert form.body["pair"] == made.pair.pk
    plain = world.page(world.bob).get("/comparisons/new/?strategies=nonsense").context["form"]
    assert [box.spec.slug for box in plain.strategies if box.is_chosen] == ["autoregressive", "static", "heuristic"]


def test_a_setting_that_did_not_run_does_what_the_replay_says_once_it_runs(world):
    made = comparison(world, "static:12,static:15,threshold:0.2,lookup:4", prompts=4)
    decode(made)
    found = recorded_of(made)
    assert [[*places.prompt_tokens] for places in found.prompts] == [[1, 2, 3]] * 4
    copying = ("lookup:4", "lookup:7,ngram=1", "suffix:0.05", "suffix:0.05,memory=true")
    for label in (*copying, "static:1", "static:7", "heuristic:4", "threshold:0.3,cap=6"):
        [choice] = parse_choices(label)
        both = simulate(found, choice)
        for prompt, refused, accepted in zip(made.prompts, both.refused.requests, both.accepted.requests, strict=True):
            expected = counts_of(live(label, Sampling(**{**made.sampling, "stop": ()}), prompt.number)[1])
            played = sorted(one.drafted for one in refused.rounds), sum(one.accepted for one in refused.rounds)
            assert played == expected and refused == accepted
    told = ask(world.api(world.bob), made, "strategy=suffix&threshold=0.2").json()
    assert told["known"] == 1.0 and told["num_draft_passes"] == 0
    assert all(row["simulated"] for row in told["measured"]) and len(told["measured"]) == 4
    remembering = ask(world.api(world.bob), made, "strategy=suffix&memory=true&threshold=0.2").json()
    assert BY_ORDER in remembering["notes"] and BY_ORDER not in told["notes"]


def judged_by(world, pair, path):
    """A classifier of copies, as training stores it: the one that `live` asks."""
    made, by = some_classifier(), world.actor(world.bob)
    made.card = {"features": features.NAMES, "design": "sources", "thresholds": {"copied": 0.35}}
    made.save(path / "c")
    upload = make.upload(by, {file.name: file.read_bytes() for file in (path / "c").iterdir()})
    return classifying.add_classifier(name="c", pair=pair, upload=upload, by=by)


def test_copies_that_a_classifier_judges_do_what_the_replay_says_once_they_run(world, tmp_path):
    """What-if used to refuse them: the traces do not contain the classifier."""
    pair = make.pair(world.actor(world.bob))
    made = comparison(world, "static:2,suffix:0.05", prompts=6, concurrency=[1, 4], pair=pair)
    decode(made)
    bob, sampling = world.api(world.bob), Sampling(**{**made.sampling, "stop": ()})
    refused = ask(bob, made, "strategy=suffix&classifier=newest")
    assert (refused.status_code, refused.json()["code"]) == (409, "no-classifier")
    name = str(judged_by(world, pair, tmp_path).pk)
    for slug, label, threshold in (
        ("lookup", "lookup:20,threshold=0.4,classifier=newest", 0.4),
        ("suffix", "suffix:0.05,classifier=newest", 0.05),
    ):
        told = ask(bob, made, f"strategy={slug}&classifier=newest&threshold={threshold}").json()
        rounds = [counts_of(live(label, sampling, prompt.number)[1])[0] for prompt in made.prompts]
        assert told["num_target_passes"] == sum(map(len, rounds)) and told["num_draft_passes"] == 0
        assert told["label"] == label.replace("newest", name[:8])
        assert len(told["curve"]["points"]) > 15
    four = ask(bob, made, "strategy=suffix&classifier=newest&threshold=0.1&users=4").json()
    assert four["label"].endswith(" @4") and four["speedup"]["prompts"] == 6


def test_a_question_about_judged_copies_gets_the_classifier_that_ran_here(world, tmp_path):
    pair = make.pair(world.actor(world.bob))
    ran = judged_by(world, pair, tmp_path)
    labels = f"static:2,suffix:0.35,classifier={ran.pk},hybrid:{ran.pk}"
    made = comparison(world, labels, prompts=4, pair=pair)
    decode(made)
    newer = judged_by(world, pair, tmp_path)
    bob = world.api(world.bob)
    told = ask(bob, made, "strategy=suffix&classifier=newest").json()
    assert told["params"]["classifier"] == str(ran.pk) != str(newer.pk)
    assert ask(bob, made, "strategy=suffix&classifier=newest&threshold=0.35").json()["speedup"] == told["speedup"]
    replayed = {row["strategy"]: bool(row["simulated"]) for row in told["measured"]}
    assert replayed == {"static": True, "suffix": True, "hybrid": True}
    mixed = ask(bob, made, "strategy=hybrid&classifier=newest").json()
    assert mixed["speedup"]["prompts"] == 4 and "probability stands for the classifier's estimate" in str(
        mixed["notes"]
    )
    form = {of["slug"]: of for of in knobs(made, {"static"})}
    assert [knob["options"] for knob in form["lookup"]["knobs"]][-1] == ("", "newest")
    assert form["ssd"]["why_not"] == "none ran here"


def test_a_classifier_whose_weights_cannot_be_read_judges_nothing(world, by):
    pair = make.pair(by)
    classifying.add_classifier(name="c", pair=pair, upload=make.upload(by, make.card(design="sources")), by=by)
    made = comparison(world, "static:2,hybrid,hybrid:newest", prompts=2, pair=pair)
    decode(made)
    told = ask(world.api(world.bob), made, "strategy=static&lookahead=3").json()
    replayed = [bool(row["simulated"]) for row in told["measured"]]
    assert replayed == [True, True, False]
    assert ask(world.api(world.bob), made, "strategy=suffix&classifier=newest").json()["code"] == "no-classifier"
    assert not any(knob["param"] == "classifier" for of in knobs(made, set()) for knob in of["knobs"])


def test_a_comparison_of_a_target_alone_answers_about_copying_and_says_what_needs_a_draft(world):
    """It used to refuse every question."""
    made = comparison(world, "lookup:4", prompts=3, concurrency=[1, 4], pair=make.target_alone(world.actor(world.bob)))
    decode(made)
    bob = world.api(world.bob)
    for users, label in ((1, "lookup:10"), (4, "lookup:10 @4")):
        told = ask(bob, made, f"users={users}").json()
        assert (told["label"], told["speedup"]["prompts"]) == (label, 3) and told["num_draft_passes"] == 0
    refused = ask(bob, made, "strategy=static&lookahead=2")
    assert (refused.status_code, refused.json()["code"]) == (409, "no-draft")
    page = world.page(world.bob).get(f"/comparisons/{made.pk}/").context
    assert page["refused"] is None
    assert [knobs["slug"] for knobs in page["what_if"] if not knobs["why_not"]] == ["lookup", "suffix"]


def test_where_the_draft_matches_text_answers_are_about_copies_and_say_why(world, by):
    """A question about the draft used to be told that static had not run, after static had run."""
    models = {"target": make.model(by, "target", layers=4), "draft": make.model(by, "draft", layers=1, first="b")}
    pair = registry.add_pair(name="slem", **models, other_tokenizer="slem", by=by)
    made = comparison(world, "static:2,lookup:4", prompts=3, pair=pair)
    decode(made, matches_text=True)
    bob = world.api(world.bob)
    told = ask(bob, made, "").json()
    assert (told["label"], told["speedup"]["prompts"]) == ("lookup:10", 3) and told["bound"] is None
    refused = ask(bob, made, "strategy=static&lookahead=3")
    assert (refused.status_code, refused.json()["code"]) == (409, "other-tokenizer")
    page = world.page(world.bob).get(f"/comparisons/{made.pk}/")
    assert not any(STRATEGIES[knobs["slug"]].needs_draft for knobs in page.context["what_if"])
    Pair.objects.filter(pk=pair.pk).update(findings=[], other_tokenizer="auto")  # of models only a worker can open
    cache.clear()
    refused = ask(bob, made, "strategy=static&lookahead=3").json()["detail"]
    assert "these traces have none" in refused and "matches text (SLEM)" in refused


def test_traces_without_the_prompts_tokens_refuse_a_question_about_copying(world):
    made = comparison(world, "static:2", prompts=2)
    decode(made, prompts=False)
    assert ask(world.api(world.bob), made, "strategy=static&lookahead=3").status_code == 200
    refused = ask(world.api(world.bob), made, "strategy=lookup&lookahead=3")
    assert refused.status_code == 409 and "lack the tokens of the prompts" in refused.json()["detail"]
