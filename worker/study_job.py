"""A study on this worker: an oracle analysis or a plan. What it finds is stored whole or not at all."""

from __future__ import annotations

from decoding.spec import Sampling
from webapp.jobs.models import Kind
from webapp.studies import services as studies
from webapp.studies.models import Classifier, Study
from worker.database import insist, storable
from worker.engine_process import EngineProcess
from worker.listening import reports
from worker.materials import place_of, prompt_of
from worker.messages import AskOracle, Found, MakePlan, Step
from worker.pulse import Hold
from worker.steps import Steps


def study(hold: Hold, engine: EngineProcess) -> None:
    chosen = Study.objects.select_related("job", "pair__target__upload", "pair__draft__upload", "dataset")
    wanted: Study = insist(hold, lambda: chosen.get(job=hold.job))
    steps = Steps(hold)
    for report in reports(hold, engine, insist(hold, lambda: _order(hold, wanted))):
        match report:
            case Step():
                steps.tell(report)
            case Found():
                document = storable(dict(report.document))
                insist(hold, lambda document=document: studies.finish(job=hold.job, document=document))  # type: ignore[misc]


def _order(hold: Hold, wanted: Study) -> AskOracle | MakePlan:
    prompts = [prompt_of(row) for row in wanted.prompts]
    sampling = Sampling.from_dict(wanted.sampling)
    if wanted.job.kind == Kind.ORACLE:
        return AskOracle(place_of(hold, wanted.pair), prompts, sampling, wanted.lookahead)
    return MakePlan(place_of(hold, wanted.pair, _classifiers(wanted)), prompts, sampling)


def _classifiers(wanted: Study) -> list[Classifier]:
    """The newest first: with that one DISCO runs."""
    kept = Classifier.objects.filter(pair=wanted.pair).kept().select_related("upload")
    return list(kept.order_by("-created")[: studies.MOST_CLASSIFIERS])
