"""The jobs of the models page: bring a model here, from chunks or from the hub, and tell whether it can be run."""

from __future__ import annotations

from decoding.errors import DrafthouseError
from webapp.registry import services as registry
from webapp.registry.models import LanguageModel
from worker.database import insist
from worker.disk import NotNow
from worker.engine_process import EngineDied, EngineProcess
from worker.listening import reports
from worker.materials import NotHere, folder_of
from worker.messages import Checked, CheckModel
from worker.pulse import Hold

MIB = 2**20


def check(hold: Hold, engine: EngineProcess) -> None:
    """The model is ready or refused, and the job has succeeded or failed accordingly. What is not the model's fault
    leaves it unchecked, with the reason; another attempt may do better."""
    model = insist(hold, lambda: LanguageModel.objects.select_related("upload").get(job=hold.job))
    facts: dict[str, object] = {}
    try:
        folder = insist(hold, lambda: folder_of(hold, model, lambda done, due: hold.progress(done // MIB, due // MIB)))
        for report in reports(hold, engine, CheckModel(folder)):
            if isinstance(report, Checked):
                facts = report.facts
    except DrafthouseError as refusal:
        sentence = str(refusal)
        insist(hold, lambda: registry.refuse_model(model=model, reason=sentence))
        raise
    except (NotHere, NotNow, EngineDied) as trouble:
        sentence = str(trouble)
        insist(hold, lambda: registry.could_not_check_model(model=model, reason=sentence))
        raise
    insist(hold, lambda: registry.model_is_ready(model=model, facts=facts))
