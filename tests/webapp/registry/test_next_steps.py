"""Links from what was added to the next step towards a comparison."""

from __future__ import annotations

import re

import pytest

from tests.kit import make

pytestmark = pytest.mark.django_db


def test_prompts_that_are_added_for_a_pair_lead_to_the_comparison_of_both(world):
    by, client = world.actor(world.alice), world.page(world.alice)
    pair = make.pair(by)
    answer = client.post(f"/datasets/new/?pair={pair.pk}", {"name": "mine", "text": "one\ntwo", "add": ""})
    assert answer["Location"].startswith("/comparisons/new/?")
    form = client.get(answer["Location"]).content.decode()
    assert f'<option value="{pair.pk}" selected>' in form and re.search(r"selected>mine", form)
