"""Counting a prompt set's tokens with a pair's tokenizer, some hundred prompts at a time."""

from __future__ import annotations

from webapp.registry import lengths
from webapp.registry.models import TokenLengths
from worker.database import insist
from worker.engine_process import EngineProcess
from worker.listening import reports
from worker.materials import folder_of
from worker.messages import Counted, CountTokens
from worker.pulse import Hold

AT_ONCE = 200


def count(hold: Hold, engine: EngineProcess) -> None:
    chosen = TokenLengths.objects.select_related("dataset", "pair__target__upload", "pair__draft__upload")
    wanted = insist(hold, lambda: chosen.filter(job=hold.job).first())
    if wanted is None:
        return  # the set is gone
    target = insist(hold, lambda: folder_of(hold, wanted.pair.target))
    draft = insist(hold, lambda: folder_of(hold, wanted.pair.draft))
    texts = insist(hold, lambda: list(wanted.dataset.prompts.order_by("number").values_list("text", flat=True)))
    found: list[int] = []
    for start in range(0, len(texts), AT_ONCE):
        for report in reports(hold, engine, CountTokens(target, draft, texts[start : start + AT_ONCE])):
            if isinstance(report, Counted):
                found += report.lengths
                contexts = report.contexts
        hold.progress(len(found), len(texts))
    insist(hold, lambda: lengths.counted(job=hold.job, lengths=found, contexts=contexts))
