"""Rows of a comparison: find which samples are missing, and write what the engine reports of those that it decodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.db import transaction
from django.db.models import Q

from decoding.dice.sampling import Sampling
from decoding.measure.sample import SampleResult, sample_from_dict
from decoding.trace.events import to_dict
from webapp.comparisons import services as comparisons
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Run, Sample, SampleQuerySet
from webapp.core.problems import Conflict
from webapp.core.version import version
from webapp.jobs import services as jobs
from webapp.registry.models import Prompt
from webapp.registry.prompt_sets import prompt_of
from webapp.studies.models import Classifier
from worker import noise
from worker.attempt import Attempt
from worker.database import Stopped, storable
from worker.engine_process import EngineDied
from worker.jobs.comparison.messages import (
    Audited,
    Began,
    Broke,
    SampleDecoded,
    SampleId,
    ToCompare,
    TracesGrown,
    Tuned,
    Weighed,
    called,
)
from worker.messages import PairLoaded, Reply
from worker.servers import local_pids, servers_asked

MOST_DEATHS = 3  # of the engine, with no sample finished in between


class ComparisonRows:
    def __init__(self, attempt: Attempt, order: type[ToCompare]) -> None:
        self.attempt, self._order_class = attempt, order
        self.job = attempt.job
        chosen = Comparison.objects.select_related(
            "pair__target__upload", "pair__draft__upload", "pair__target", "pair__draft"
        )
        self.comparison = chosen.get(job=self.job)
        runs = self.comparison.runs.select_related("endpoint__target")
        self.runs: dict[str, Run] = {run.label: run for run in runs}
        self._beside = local_pids(run.endpoint.spec for run in runs if run.endpoint)
        self.prompts: dict[str, Prompt] = {prompt.name: prompt for prompt in self.comparison.prompts}
        self.samples: dict[SampleId, Sample] = {}
        self.broken: dict[SampleId, str] = {}
        self.device = ""
        self._under_way: dict[SampleId, noise.Mark | None] = {}  # being decoded, and the machine when that began
        self._has_begun = False
        self._killers: set[SampleId] = set()
        self._deaths = 0

    def order(self) -> ToCompare | None:
        """Order the samples that are missing. None: all are decoded or given up."""
        self._read_samples()
        audited = self._finished().filter(~Q(numbers__audit=None) & Q(numbers__has_key="audit"))
        ended = Counter((name, repeat - 1) for name, repeat in audited.values_list("prompt__name", "repeat"))
        ended.update((name, repeat) for _, name, repeat in self.broken)
        heats = [(name, repeat) for repeat in range(self.comparison.repeats) for name in self.prompts]
        done_heats = {heat for heat in heats if ended[heat] >= len(self.runs)}
        if len(done_heats) == len(heats):
            return None
        return self._order_class(
            pair=self.attempt.local_pair(pair, self._classifiers()) if (pair := self.comparison.pair) else None,
            prompts=[prompt_of(row) for row in self.prompts.values()],
            choices=[run.choice for run in self.runs.values()],
            sampling=Sampling.from_dict(self.comparison.sampling),
            repeats=self.comparison.repeats,
            done_heats=frozenset(done_heats),
            finished=self._results_needed(done_heats),
            given_up=frozenset(self.broken),
            prices=self.comparison.prices,
            servers=servers_asked({run.endpoint for run in self.runs.values() if run.endpoint}),
        )

    def store(self, reply: Reply) -> None:
        match reply:
            case PairLoaded() | Tuned():
                self._begin_on({"drafthouse": version(), **reply.hardware})
            case Weighed():
                self._keep_prices(reply)
            case TracesGrown():
                self.attempt.insist(lambda: self._append(reply))
                self.attempt.hold.stored_event(min(grew.since_ns for grew in reply.traces))
            case Audited():
                self.attempt.insist(lambda: self._audit(reply))
            case Began() | SampleDecoded() | Broke():
                self._note_sample(reply)

    def _note_sample(self, reply: Began | SampleDecoded | Broke) -> None:
        match reply:
            case Began():
                self._under_way[reply.which], self._has_begun = noise.mark(self.attempt.engine.pid, self._beside), True
                self.samples[reply.which] = self.attempt.insist(lambda: self._begin(reply.which))
            case SampleDecoded():
                self.attempt.insist(lambda: self._finish(reply))
            case Broke():
                for which in reply.samples:
                    self._under_way.pop(which, None)
                    self.broken[which] = reply.sentence
                others = f" and {more} more samples" if (more := len(reply.samples) - 1) else ""
                self._note(f"{called(reply.samples[0])}{others}: {reply.sentence}")

    def _begin_on(self, hardware: Mapping[str, object]) -> None:
        self.attempt.insist(lambda: comparisons.begin(job=self.job, hardware=hardware))
        self.device = _device(hardware)

    def _keep_prices(self, found: Weighed) -> None:
        if found.trouble:
            self._note(found.trouble)
        self.comparison.prices = {**found.prices}
        self.attempt.insist(lambda: comparisons.store_prices(job=self.job, prices=found.prices))

    def engine_died(self, death: EngineDied) -> None:
        """End this attempt if something outside killed the engine. If the job can have caused it, decode the sample
        anew; after the second time, give it up. Of several samples at work, none is given up."""
        if not self.attempt.hold.may_go_on():
            raise Stopped
        if not death.counts:
            raise death
        self._deaths += 1
        lost, self._under_way = [*self._under_way], {}
        if self._deaths >= MOST_DEATHS or not self._has_begun:  # nothing had begun: it is the loading that kills it
            raise death
        if len(lost) != 1:
            count = f"{len(lost)} samples were" if lost else "No sample was"
            self._note(f"{death} {count} at work just then; a new engine decodes what is missing.")
            return
        [at] = lost
        if at in self._killers:
            self.broken[at] = str(death)
        self._killers.add(at)
        outcome = "It is given up." if at in self.broken else "It is decoded anew."
        self._note(f"{called(at)}: {death} {outcome}")

    def what_broke(self) -> str:
        which, sentence = next(iter(self.broken.items()))
        count = len(self.broken)
        samples = "1 sample" if count == 1 else f"{count} samples"
        return (
            f"{samples} could not be decoded; all others are done. {called(which)}: {sentence} "
            "Trying again decodes only what is missing."
        )

    def _classifiers(self) -> list[Classifier]:
        named = [name for run in self.runs.values() if (name := run.choice.classifier)]
        return list(Classifier.objects.filter(pk__in=named).select_related("upload"))

    def _finished(self) -> SampleQuerySet:
        return Sample.objects.filter(run__comparison=self.comparison).finished()

    def _read_samples(self) -> None:
        rows = self._finished().select_related("run", "prompt").defer("numbers", "prompt__text", "prompt__reference")
        self.samples = {(row.run.label, row.prompt.name, row.repeat - 1): row for row in rows}
        self.attempt.progress(len(self.samples), len(self.runs) * len(self.prompts) * self.comparison.repeats)

    def _results_needed(self, done_heats: set[tuple[str, int]]) -> list[SampleResult]:
        followed = {(follows, repeat) for follows in self._followed() for repeat in range(self.comparison.repeats)}
        needed = {which for which in self.samples if which[1:] not in done_heats or which[1:] in followed}
        wanted = [row.pk for which, row in self.samples.items() if which in needed]
        return [sample_from_dict(row.numbers) for row in Sample.objects.filter(pk__in=wanted)]

    def _followed(self) -> set[str]:
        """Name the prompts whose answers later turns follow."""
        return {prompt.follows for prompt in self.prompts.values()} - {""}

    @transaction.atomic
    def _begin(self, which: SampleId) -> Sample:
        label, name, repeat = which
        jobs.reached(job=self.job, place=called(which))
        return comparisons.begin_sample(
            job=self.job, run=self.runs[label], prompt=self.prompts[name], repeat=repeat + 1, device=self.device
        )

    @transaction.atomic
    def _append(self, grown: TracesGrown) -> None:
        jobs.require_lease(self.job)
        for grew in grown.traces:
            events = [storable(to_dict(event, seq)) for seq, event in enumerate(grew.events, grew.first_seq)]
            trace.append(
                sample=self.samples[grew.which], first_seq=grew.first_seq, events=events, words=storable(grew.words)
            )

    @transaction.atomic
    def _finish(self, decoded: SampleDecoded) -> None:
        numbers = decoded.sample
        which = numbers.strategy, numbers.prompt, numbers.repeat
        sample = self.samples[which]
        try:
            comparisons.finish_sample(
                job=self.job,
                sample=sample,
                last_seq=decoded.last_seq,
                numbers=storable(numbers.to_dict()),
                noise=noise.between(self._under_way.get(which), noise.mark(self.attempt.engine.pid, self._beside)),
            )
        except Conflict as refusal:
            if refusal.code != "sample-is-over":  # else an earlier try was taken, and we were not told
                raise
        done = self.attempt.hold.done + 1
        jobs.progressed(job=self.job, done=done)
        self.attempt.hold.done = done
        self._under_way.pop(which, None)
        self._deaths = 0

    def _audit(self, audited: Audited) -> None:
        numbers = {
            self.samples[sample.strategy, sample.prompt, sample.repeat]: storable(sample.to_dict())
            for sample in audited.samples
        }
        comparisons.audit_samples(job=self.job, numbers=numbers)

    def _note(self, sentence: str) -> None:
        self.attempt.insist(lambda: jobs.note(job=self.job, sentence=sentence))


def _device(hardware: Mapping[str, object]) -> str:
    """Describe what runs the models; servers alone run them elsewhere."""
    name, threads = str(hardware["device_name"]), hardware.get("threads")
    return f"{name}, {threads} thread{'' if threads == 1 else 's'}, {hardware['dtype']}" if threads else name
