"""The first comparison of a new team: the starter pair on prompts that it was not trained on."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from decoding.public import STRATEGIES, choose, without_draft
from webapp.accounts.actor import Actor
from webapp.comparisons import services
from webapp.comparisons.models import Comparison
from webapp.core.problems import NotFound
from webapp.jobs.models import FINAL
from webapp.registry.models import Dataset, Pair

STARTER = "Starter"  # name of the included pair, and prefix of its prompt sets
DEFAULTS = settings.BASE_DIR / "starter" / "defaults.json"
PROMPTS = 12


def wanted(by: Actor) -> dict[str, Any] | None:
    """Return the body of the request; None if this team has no starter pair or prompts."""
    if not by.can_submit:
        return None
    pair = Pair.objects.visible_to(by).kept().filter(name=STARTER).first()
    prompts = Dataset.objects.visible_to(by).kept().filter(name=f"{STARTER} code").first()
    if pair is None or prompts is None:
        return None
    defaults = json.loads(DEFAULTS.read_text(encoding="utf-8"))
    return {
        "name": "Demo",
        "pair": pair,
        "dataset": prompts,
        "split": "test",
        "limit": PROMPTS,
        "strategies": _strategies(pair),
        "sampling": {**defaults["sampling"], "max_new_tokens": defaults["max_new_tokens"]},
    }


def _strategies(pair: Pair) -> list[dict[str, Any]]:
    if pair.is_undrafted:
        return [{"strategy": choice.strategy, "params": dict(choice.params)} for choice in without_draft.usual()]
    has_classifier = pair.classifiers.kept().exists()
    able = [each for each in STRATEGIES.values() if has_classifier or choose(each.slug).classifier is None]
    return [{"strategy": each.slug, "params": params} for each in able for params in each.demo]


def launch(*, by: Actor) -> Comparison:
    """Launch the demo, or return the one that has not ended: another would only wait behind it."""
    asked = wanted(by)
    if asked is None:
        raise NotFound("The starter pair or its prompts are not in this team.", hint="Add models and prompts.")
    alike = (
        Comparison.objects.visible_to(by).kept().filter(**{part: asked[part] for part in ("name", "pair", "dataset")})
    )
    if unfinished := alike.exclude(job__state__in=FINAL).order_by("created").first():
        return unfinished
    return services.launch(by=by, **asked)
