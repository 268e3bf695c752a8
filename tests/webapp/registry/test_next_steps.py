"""Links from what was added to the next step towards a comparison."""

from __future__ import annotations

import html
import re

import pytest

from tests.webapp import make

pytestmark = pytest.mark.django_db


def test_the_second_of_two_new_models_offers_to_pair_them_the_larger_as_target(world):
    by, client = world.actor(world.alice), world.page(world.alice)
    small = make.model(by, "small", layers=1)
    assert "Pair small with" not in client.get(f"/models/{small.pk}/").content.decode()
    large = make.model(by, "large", layers=4)
    page = client.get(f"/models/{large.pk}/").content.decode()
    address = html.unescape(re.search(r'href="([^"]*)">Pair large with small<', page)[1])
    form = client.get(address).content.decode()
    assert 'value="large with small"' in form
    for model in (large, small):
        assert f'<option value="{model.pk}" selected>' in form


def test_prompts_that_are_added_for_a_pair_lead_to_the_comparison_of_both(world):
    by, client = world.actor(world.alice), world.page(world.alice)
    pair = make.pair(by)
    answer = client.post(f"/datasets/new/?pair={pair.pk}", {"name": "mine", "text": "one\ntwo", "add": ""})
    assert answer["Location"].startswith("/comparisons/new/?")
    form = client.get(answer["Location"]).content.decode()
    assert f'<option value="{pair.pk}" selected>' in form and re.search(r"selected>mine", form)
