import pytest

from decoding.choice import Choice, choose, parse_choices, relabelled
from decoding.core.load import ONE, Load
from decoding.drafting.params import Value
from decoding.errors import BadStrategy
from decoding.strategies import STRATEGIES


def test_a_list_of_strategies_is_read_as_it_is_written() -> None:
    choices = parse_choices("autoregressive, static:6,threshold:0.3,cap=10,assisted:lookahead=3,threshold=0")
    assert [(c.strategy, dict(c.params)) for c in choices] == [
        ("autoregressive", {}),
        ("static", {"lookahead": 6}),
        ("threshold", {"threshold": 0.3, "cap": 10}),
        ("assisted", {"lookahead": 3, "threshold": 0.0, "schedule": "constant"}),
    ]


@pytest.mark.parametrize("slug", STRATEGIES)
def test_a_label_reads_back_as_the_same_choice(slug: str) -> None:
    choice = choose(slug)
    assert parse_choices(choice.label) == [choice]


@pytest.mark.parametrize(
    ("earlier", "params", "now", "kind"),
    [
        ("disco-lookup", {}, "lookup:20,classifier=newest", "lookup:classifier=newest"),
        ("suffix-memory:0,cap=6", {"threshold": 0.0, "cap": 6}, "suffix:0,cap=6,memory=true", "suffix:memory=true"),
        ("disco-hybrid", {"classifier": ""}, "hybrid:newest", "hybrid:classifier=newest"),
    ],
)
def test_a_strategy_of_an_earlier_version_is_a_setting_of_another_now(
    earlier: str, params: dict[str, Value], now: str, kind: str
) -> None:
    """Labels, requests and stored rows name it."""
    [read], slug = parse_choices(earlier), earlier.partition(":")[0]
    assert read.label == relabelled(earlier) == now and relabelled(f"{earlier} @4") == f"{now} @4"
    assert choose(slug, params) == read == parse_choices(now)[0]
    stored = Choice(slug, params)
    assert (stored.label, stored.kind, stored.all_params) == (now, kind, read.params)


def test_a_stored_row_may_hold_a_parameter_that_is_gone() -> None:
    stored = Choice.of({"strategy": "server", "params": {"name": "it", "speculation": "as-started"}})
    assert (stored.label, stored.all_params) == ("server:it", {"name": "it"})


def test_the_classifier_decides_what_a_choice_sees_and_needs() -> None:
    plain, judged, named, always = parse_choices("hybrid,hybrid:newest,hybrid:c,disco")
    assert [choice.classifier for choice in (plain, judged, named, always)] == [None, "", "c", ""]
    assert [choice.sees for choice in (plain, judged)] == ["lead", "estimate"]
    assert [choice.judges_copies for choice in (plain, judged, always)] == [False, True, False]
    assert plain.asking("c") == plain and judged.asking("c") == named and named.asking("") == judged
    assert parse_choices("suffix:memory=true")[0].remembers and not choose("suffix").remembers


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "No strategy is named"),
        ("magic", r"no strategy 'magic'.*assisted, .*transformers-lookup, tree, server\.$"),
        ("statik", r"no strategy 'statik'.* Did you mean static\?"),
        ("static:0", "outside 1 to 64"),
        ("static:four", "not a whole number"),
        ("ssd:4,branches=some", "neither a whole number nor auto"),
        ("threshold:high", "not a number"),
        ("suffix:memory=perhaps", "neither true nor false"),
        ("assisted:schedule=sometimes", "not one of constant, heuristic"),
        ("disco:classifier=" + "x" * 2000, "not a text of at most"),
        ("static:" + "4" * 400, "not a whole number"),
        ("static:lookahead=4,depth=2", "no parameter 'depth'; it takes lookahead"),
        ("cap=3", "before any strategy"),
        ("lookup:threshold=0.2", "lookup: threshold needs a classifier; add classifier=newest"),
        ("suffix:0,classifier=newest,disco-suffix", "named twice"),
        ("ssd:k=3,fanout=5/4/3", "which has 3 entries where a lookahead of 3 has 4"),
        ("ssd:k=2,fanout=5/4/3+5/4/2", "which adds up to 11 where branches is 12"),
        ("ssd:k=2,fanout=5/-4/11", "neither uniform, geometric, measured nor a list"),
        ("ssd:k=4,lookahead=4", "lookahead twice"),
        *((f"schedule:table={table}", "table is") for table in ("4:", "8:1/4:2", "4:65")),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(text: str, sentence: str) -> None:
    with pytest.raises(BadStrategy, match=sentence):
        parse_choices(text)


def test_a_label_keeps_names_as_they_are_and_tells_ids_by_their_first_part() -> None:
    assert choose("disco", {"classifier": "Ours"}).label == "disco:priced,classifier=Ours"
    long = "9c305924-3438-48eb-bec7-cc3b69a8db4b"
    assert choose("disco", {"classifier": long}).label == "disco:priced,classifier=9c305924"


def test_a_row_of_an_earlier_version_has_defaults_for_what_it_lacks_and_keeps_its_label() -> None:
    now, params = choose("disco", {"cap": 8}), {"rule": "priced", "cap": 8, "lost": True}
    assert Choice("disco", params).label == now.label
    assert type(Choice("disco", params).source()) is type(now.source())
    stored = Choice("disco", params, Load(4), "disco:priced,cap=8,lost=true @4")
    assert (stored.label, stored.settings) == ("disco:priced,cap=8,lost=true @4", "disco:priced,cap=8,lost=true")
    assert stored.at(ONE).label == stored.asking("").label.removesuffix(" @4") == now.label
