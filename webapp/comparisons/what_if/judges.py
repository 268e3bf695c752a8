"""Classifiers that judge copied tokens, for replays: those that ran here, and the newest that the pair has."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from django.core.cache import cache

from decoding.public import SOURCES, BadStrategy, Choice, CopyJudge, Prices
from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.recorded import KEPT_SECONDS
from webapp.core.problems import Problem
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier


def judging(comparison: Comparison) -> dict[str, Classifier]:
    """Return the classifiers by id, first the one that a question gets which names none."""
    ran = [run.choice.classifier or "" for run in comparison.runs.all() if run.choice.judges_copies]
    used = {str(one.pk): one for one in Classifier.objects.filter(pk__in=ran)}
    if used or not comparison.pair:
        return {name: used[name] for name in ran if name in used}
    newest = classifying.usable_on(comparison.pair).filter(card__design=SOURCES)[:1]
    return {str(one.pk): one for one in newest}


def judges(comparison: Comparison) -> dict[str, CopyJudge]:
    """Read them. One whose files cannot be read is left out."""
    found: dict[str, CopyJudge] = {}
    for name, classifier in judging(comparison).items():
        with suppress(BadStrategy, Problem, OSError):
            judge: Any = cache.get_or_set(f"judge:{name}", partial(classifying.judge_of, classifier), KEPT_SECONDS)
            stored = comparison.prices.get(name)
            found[name] = replace(judge, prices=Prices.from_dict(stored)) if stored else judge
    return found


def with_judge(judges: Iterable[str], choice: Choice) -> Choice:
    """Name the classifier that judges the copies, if there is one."""
    return choice.asking(next(iter(judges), "")) if choice.judges_copies else choice
