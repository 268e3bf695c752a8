"""Two or more comparisons side by side: what differs in what was asked, and whether what came out lies apart."""

from __future__ import annotations

import html

import pytest
from django.core.cache import cache

from tests.kit import make
from webapp.comparisons import difference
from webapp.comparisons.models import Sample


@pytest.fixture
def two(by):
    dataset = make.dataset(by, count=6)
    first = make.comparison(by, dataset=dataset)
    make.decode_all(first)
    other = make.comparison(by, pair=first.pair, dataset=dataset, repeats=2)
    make.decode_all(other)
    return first, other


def address(*comparisons) -> str:
    return "/comparisons/difference/?" + "&".join(f"of={comparison.pk}" for comparison in comparisons)


def test_what_was_asked_otherwise_is_named_and_another_machine_is_a_reason_not_to_compare_speeds(world, two):
    page = world.page(world.bob).get(address(*two))
    assert {fact.name for fact in page.context["facts"] if fact.differs} - {"launched"} == {"repeats"}
    assert page.context["differing"] == [] and "1.00× the first's" in html.unescape(page.content.decode())
    cells = [cells for _, cells in page.context["rows"]]
    assert [[cell.is_apart for cell in row] for row in cells] == [[False, False]] * 2
    assert [row[1].ratio for row in cells] == [pytest.approx(1.0)] * 2
    Sample.objects.filter(run__comparison=two[1]).update(device="cuda:0")
    cache.clear()
    page = world.page(world.bob).get(address(*two))
    shown = page.content.decode()
    assert page.context["differing"] == ["machine"] and "the first's" not in html.unescape(shown)
    assert "so do not compare their speeds directly" in shown and "1.00 – 1.00" not in " ".join(shown.split())


def test_comparisons_that_two_classifiers_decide_differ_in_them_and_share_no_name(world, by, two):
    decided = []
    for _ in range(2):
        make.classifier(by, two[0].pair)
        strategies = [{"strategy": "disco"}]
        decided.append(make.comparison(by, pair=two[0].pair, dataset=two[0].dataset, strategies=strategies))
    found = world.page(world.bob).get(address(*decided)).context
    assert found["differing"] == ["classifier"] and len(set(found["heads"])) == 2
    without = make.comparison(by, pair=two[0].pair, dataset=two[0].dataset)
    assert world.page(world.bob).get(address(without, decided[0])).context["differing"] == []  # only one has any


def test_only_intervals_that_do_not_overlap_lie_apart():
    gain = {"ratio": 1.5, "low": 1.4, "high": 1.6}
    assert difference._is_apart(gain, {"ratio": 1.2, "low": 1.1, "high": 1.3})
    assert not difference._is_apart(gain, {"ratio": 1.3, "low": 1.1, "high": 1.45})
    assert not difference._is_apart(gain, {"ratio": 1.3, "low": None, "high": None})
    assert difference._is_apart(gain, {"ratio": 1.0, "low": None, "high": None}), "the baseline is 1 by definition"


def test_one_that_may_not_be_seen_or_is_alone_is_refused(world, two):
    assert world.page(world.bob).get(address(two[0])).status_code == 400
    assert world.page(world.bob).get("/comparisons/difference/?of=x").status_code == 400
    nothing = world.page(world.bob).get("/comparisons/difference/", follow=True).content.decode()
    assert "Choose 2 to 6 comparisons" in nothing and f'name="of" value="{two[0].pk}"' in nothing
    assert "0 comparisons are chosen" in world.page(world.charlie).get(address(*two)).content.decode()
