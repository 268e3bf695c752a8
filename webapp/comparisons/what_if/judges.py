"""Classifiers that judge copied tokens, for replays: those that ran here, and the newest that the pair has."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from django.core.cache import cache

from decoding.public import SOURCES, BadStrategy, Choice, Judge
from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.recorded import KEPT_SECONDS
from webapp.core.problems import Invalid
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier


def judging(comparison: Comparison) -> dict[str, Classifier]:
    """Return the classifiers by id, first the one that a question gets which names none."""
    ran = [run.params["classifier"] for run in comparison.runs.all() if run.choice.spec.judges_copies]
    used = {str(one.pk): one for one in Classifier.objects.filter(pk__in=ran)}
    newest = classifying.usable_on(comparison.pair).filter(card__design=SOURCES).first() if comparison.pair else None
    first = {name: used[name] for name in ran if name in used}
    return first or ({str(newest.pk): newest} if newest else {})


def judges(comparison: Comparison) -> dict[str, Judge]:
    """Read them. One whose files cannot be read is left out."""
    found: dict[str, Judge] = {}
    for name, classifier in judging(comparison).items():
        with suppress(BadStrategy, Invalid):
            judge = cache.get(f"judge:{name}") or classifying.judge_of(classifier)
            cache.set(f"judge:{name}", judge, KEPT_SECONDS)
            found[name] = judge
    return found


def with_judge(comparison: Comparison, choice: Choice) -> Choice:
    """Name the classifier that judges the copies, if there is one."""
    name = next(iter(judges(comparison)), None) if choice.spec.judges_copies else None
    return replace(choice, params={**choice.params, "classifier": name}) if name else choice
