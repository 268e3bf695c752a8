"""SSD under settings that did not run: what branches told of the draft's list, and rounds played out along the text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core.cache import cache

from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.replay.what_if.ahead import Stood, ssd_tracks_of, stood, surer
from decoding.replay.what_if.places import TracedText
from decoding.trace.events import Anticipated, Drafted, Prompted, Verified
from tests.kit.what_if import ask, comparison, decode, dicts, timed
from tests.kit.worlds import World
from webapp.comparisons.models import Comparison, TraceChunk
from webapp.comparisons.what_if.recorded import version

PROMPT = (*range(24), *range(24))  # so that there is much to copy
LENGTH = 40  # what is played of a text
SHORT = [Sampling(max_new_tokens=LENGTH), Sampling(temperature=0.8, max_new_tokens=LENGTH)]


def live(label, sampling, seed):
    world = World.of_tables(24, seed=seed, sharpness=2.0, noise=0.5)
    [choice] = parse_choices(label)
    decoded, recorder = world.run(choice, PROMPT, sampling, seed)
    return decoded, recorder.events


def recorded(labels, sampling, seed):
    """The text, its places, and where the target's tokens stood, by the SSD among these strategies."""
    text = live("autoregressive", sampling, seed)[0].tokens
    places, where = TracedText.of(len(text), LENGTH, False), {}
    places.learn(dicts([Prompted(PROMPT, 0)]))
    for label in labels.split():
        events = live(label, sampling, seed)[1]
        places.learn(dicts(events))
        where = surer(where, stood(events))
    return text, places, where


def ahead(labels, sampling, seed):
    text, places, where = recorded(labels, sampling, seed)
    priced = [list(timed(live(name, sampling, seed)[1])) for name in ("autoregressive", "static:2", "static:4")]
    prepared = [live(name, sampling, seed)[1] for name in labels.split() if name.startswith("ssd")]
    return ssd_tracks_of([(text, places, where)], priced, prepared, lambda tokens: tokens * 10e-6, is_beside=False)


def alone(found, choice):
    """A choice played for one user, in both cases."""
    return found.play(choice, 1, found.prices)


def rounds_of(events):
    """How many tokens each round drafted, where from, and how many were kept."""
    drafts = {event.round: (len(event.tokens), event.source) for event in events if isinstance(event, Drafted)}
    return [(drafts.get(e.round, (0, "none")), e.accepted) for e in events if isinstance(e, Verified)]


def hits_in(events):
    return sum(isinstance(event, Drafted) and event.source == "hit" for event in events)


def round_one(drafted, accepted, token, branches):
    yield Drafted(1, 3, 2, drafted, (0.9,) * len(drafted), (), "limit", "fresh", 2, 0, 1, "")
    yield Verified(1, accepted, token, "bonus" if accepted == len(drafted) else "correction", 0, 1, 2)
    yield Anticipated(1, branches, 0.5, 1, 2)


def test_a_branch_tells_what_the_draft_preferred_and_of_two_samples_the_surer_is_believed():
    refused = round_one((5, 6), 1, 9, ((0, 3, 1), (1, 7, 1), (1, 9, 1), (2, 8, 1)))
    assert stood(refused) == {1: Stood((7,), True)}
    missed = round_one((5, 6), 1, 9, ((0, 3, 1), (1, 7, 1), (1, 4, 1)))
    assert stood(missed) == {1: Stood((7, 4), False)}
    after_all = round_one((5, 6), 2, 9, ((2, 8, 1), (2, 9, 1)))
    assert stood(after_all) == {2: Stood((8,), True)}
    one, other = {3: Stood((1, 2), False), 5: Stood((1,), False)}, {3: Stood((), True), 5: Stood((1, 2), False)}
    assert surer(one, other) == surer(other, one) == {3: Stood((), True), 5: Stood((1, 2), False)}


@pytest.mark.parametrize("sampling", SHORT, ids=["greedy", "shared dice"])
@pytest.mark.parametrize("label", ["ssd:2,branches=6", "ssd:3,fanout=uniform,branches=8"])
def test_a_setting_that_did_not_run_plays_the_rounds_that_it_makes_once_it_runs(label, sampling):
    for seed in range(2):
        [choice] = parse_choices(f"{label},backup=neural,placement=in-turn")
        events = live(f"{label},backup=neural,placement=in-turn", sampling, seed)[1]
        played = ahead("static:12 ssd:4,branches=40,backup=neural,placement=in-turn", sampling, seed)
        for simulated in alone(played, choice):
            assert rounds_of(simulated.traces[0]) == rounds_of(events)


@pytest.mark.parametrize("sampling", SHORT, ids=["greedy", "shared dice"])
@pytest.mark.parametrize("backup", ["copy", "ngram"])
def test_a_backup_that_copies_hits_as_often_as_the_live_run_and_drafts_the_same(backup, sampling):
    copied = 0
    for seed in range(4):
        label = f"ssd:4,branches=4,backup={backup},placement=in-turn"
        [choice] = parse_choices(label)
        events = live(label, sampling, seed)[1]
        played = ahead(f"static:12 {label}", sampling, seed)
        for simulated in alone(played, choice):
            assert hits_in(simulated.traces[0]) == hits_in(events)
            assert rounds_of(simulated.traces[0]) == rounds_of(events)
        copied += sum(isinstance(event, Drafted) and event.backup == backup for event in events)
    assert copied > 5


def test_a_backup_is_replayed_as_the_draft_model_only_if_the_traces_do_not_tell_what_it_drafts():
    found = ahead("static:12 ssd:4,branches=10,backup=neural,placement=in-turn", SHORT[0], 0)
    assert all(found.can_replay_backup(backup) for backup in ("auto", "ngram", "copy"))
    nothing = [replace(track, written=replace(track.written, prompt=())) for track in found.refused]
    older = replace(found, refused=nothing)
    assert older.can_replay_backup("neural") and not older.can_replay_backup("copy")
    [auto] = parse_choices("ssd")
    assert (found.plan(auto).settings.backup, older.plan(auto).settings.backup) == ("auto", "neural")


def test_what_stood_on_no_branch_is_played_both_ways_and_the_truth_lies_between():
    for seed in range(4):
        [choice] = parse_choices("ssd:3,branches=16,backup=neural,placement=in-turn")
        events = live("ssd:3,branches=16,backup=neural,placement=in-turn", SHORT[1], seed)[1]
        played = ahead("static:12 ssd:3,branches=5,backup=neural,placement=in-turn", SHORT[1], seed)
        least, most = (hits_in(simulated.traces[0]) for simulated in alone(played, choice))
        assert least <= hits_in(events) <= most and least < most


def test_over_rest_each_answer_adds_its_point_to_the_curve(world):
    made = comparison(world, "static:3,ssd:4,branches=8,placement=in-turn")
    decode(made)
    bob = world.api(world.bob)
    first = ask(bob, made, "strategy=ssd&lookahead=2&branches=6").json()
    assert first["simulated"] is True and first["label"] == "ssd:2,branches=6" and 0 <= first["hit_rate"] <= 1
    assert [point["value"] for point in first["curve"]["points"]] == [2]
    second = ask(bob, made, f"strategy=ssd&lookahead={first['curve']['missing'][0]:.0f}&branches=6").json()
    assert [point["value"] for point in second["curve"]["points"]] == [1, 2]
    [ran] = [row for row in first["measured"] if row["strategy"] == "ssd"]
    assert ran["simulated"] == pytest.approx(ran["speedup"]["ratio"], rel=0.01)  # by the correction
    assert [row["simulated"] for row in first["measured"] if row["strategy"] == "static"] == [None]


def test_over_rest_a_run_with_several_users_shows_its_own_price_of_preparing_and_checks_the_answer(world):
    made = comparison(world, "static:3,ssd:4,branches=8,placement=in-turn", prompts=4, concurrency=[1, 4])
    decode(made)
    bob = world.api(world.bob)
    four, many = (ask(bob, made, f"strategy=ssd&lookahead=2&branches=6&users={users}").json() for users in (4, 16))
    assert "Preparing is priced as measured here with 4 users." in four["notes"]
    assert "Preparing for 16 users is priced as for 4" in " ".join(many["notes"])
    assert not [note for note in four["notes"] if "After a miss" in note]
    [ran] = [row for row in four["measured"] if row["strategy"] == "ssd"]
    assert ran["label"] == "ssd:4,branches=8,placement=in-turn @4" and ran["simulated"]


def test_over_rest_a_number_of_branches_that_was_left_open_is_chosen_anew_for_each_number_of_users(world):
    made = comparison(world, "static:3,ssd:3,placement=in-turn", prompts=4, concurrency=[1, 4])
    decode(made)
    bob = world.api(world.bob)
    one, four, few = (ask(bob, made, f"strategy=ssd&{rest}").json() for rest in ("", "users=4", "branches=10"))
    assert [answer["label"] for answer in (one, four, few)] == ["ssd:3", "ssd:3 @4", "ssd:3,branches=10"]
    for answer in (one, four):
        [ran] = [row for row in answer["measured"] if row["strategy"] == "ssd"]
        assert ran["params"]["branches"] == "auto" and ran["simulated"] and 0 < answer["hit_rate"] <= 1
    assert "branches is 'some', which is neither" in ask(bob, made, "strategy=ssd&branches=some").json()["detail"]


def test_over_rest_a_place_where_the_slider_has_been_is_not_played_again(world):
    made = comparison(world, "static:3,ssd:4,branches=8,placement=in-turn")
    decode(made)
    bob = world.api(world.bob)
    here, there = (ask(bob, made, f"strategy=ssd&lookahead={lookahead}").json() for lookahead in (4, 6))
    TraceChunk.objects.all().delete()
    cache.delete(
        f"recorded-2:{version(Comparison.objects.get(pk=made.pk))}"
    )  # so that nothing could be played any more
    again = ask(bob, made, "strategy=ssd&lookahead=4").json()
    assert again == {**here, "curve": there["curve"]}
    assert ask(bob, made, "strategy=ssd&lookahead=5").status_code == 409


def test_over_rest_what_cannot_be_simulated_is_refused_in_words(world):
    made = comparison(world, "static:3")
    decode(made)
    bob = world.api(world.bob)
    assert "No ssd has run here" in ask(bob, made, "strategy=ssd").json()["detail"]
    assert "1 among the users at once" in ask(bob, made, "strategy=ssd&users=4").json()["hint"]
    judged = ask(bob, made, "strategy=ssd-disco&users=4")
    assert judged.status_code == 400 and "Make a plan: it replays with it." in judged.json()["detail"]
    assert "Run it to see its speed." in ask(bob, made, "strategy=vllm-adaptive").json()["detail"]
    many = ask(bob, made, "strategy=ssd&branches=64")
    assert (many.status_code, "branches up to 32" in many.json()["detail"]) == (400, True)
    assert ask(bob, made, "strategy=ssd&lookahead=2&branches=6&fanout=2/2/2").status_code == 400
    assert ahead("static:12", SHORT[0], 0) is None
