"""Run studies of either kind. A study's document is stored whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from decoding.dice.sampling import Sampling
from decoding.prompts.prompt import PromptItem, first_turns
from webapp.core.problems import NotFound
from webapp.registry.prompt_sets import prompt_of
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Study
from worker.attempt import Attempt
from worker.database import storable
from worker.messages import Found, LocalPair, PairOrder, Reply


def study_of(attempt: Attempt) -> Study:
    chosen = Study.objects.select_related("pair__target__upload", "pair__draft__upload", "dataset")
    found: Study = attempt.insist(lambda: chosen.get(job=attempt.job))
    return found


def shared_fields(
    attempt: Attempt, study: Study, classifiers: Sequence[Classifier] = ()
) -> tuple[LocalPair, list[PromptItem], Sampling]:
    """Pair, prompts and sampling: the fields that both orders share. Of a conversation, a study takes the first turn:
    nobody has answered it when its prompts are read."""
    prompts = attempt.insist(lambda: first_turns(prompt_of(row) for row in study.prompts))
    return attempt.local_pair(study.pair, classifiers), prompts, Sampling.from_dict(study.sampling)


def run(attempt: Attempt, order: PairOrder, on_reply: Callable[[Reply], None] = lambda reply: None) -> None:
    """`on_reply` gets what the engine makes on the way to the document."""
    for reply in attempt.replies(order):
        if isinstance(reply, Found):
            _finish(attempt, storable(dict(reply.document)))
        else:
            on_reply(reply)


def _finish(attempt: Attempt, document: dict[str, Any]) -> None:
    attempt.insist(lambda: studies.finish(job=attempt.job, document=document))


def classifiers(attempt: Attempt, study: Study) -> list[Classifier]:
    """Classifiers that can decide on the study's pair: the chosen one first, or else the newest. DISCO runs with the
    first."""
    kept = classifying.usable_in_studies(study.pair).select_related("upload")
    found = attempt.insist(lambda: list(kept[: studies.MOST_CLASSIFIERS]))
    if not (asked := study.asked_classifier):
        return found
    chosen = attempt.insist(kept.filter(pk=asked).first)
    if chosen is None:
        raise NotFound("The classifier chosen for this study was deleted. Restore it, or launch the study again.")
    return [chosen, *(one for one in found if one != chosen)]
