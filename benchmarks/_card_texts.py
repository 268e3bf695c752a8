"""Parts of `bench card` that decode texts: by strategy, by load, by host cores, and with a classifier trained there."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections import Counter, abc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks._card import Card
from benchmarks._gpu_bars import STARTER, Numbers, rows_of, starter_pair
from benchmarks._made_pairs import layers, models, runner_of
from benchmarks._pair_shapes import PairShape
from benchmarks._placements import against_static
from decoding.backends.pair import ModelPair
from decoding.backends.registry import Parts, build
from decoding.backends.serving import CachePool, TextCaches
from decoding.choice import Choice, choose
from decoding.core.ending import Ending
from decoding.core.loop import decode_all
from decoding.core.sequence import Drafter, Sequence
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import load_classifier
from decoding.errors import BrokenModel, DrafthouseError
from decoding.measure.audit import audit
from decoding.measure.measurement import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prompts.prompt import PromptItem, read_prompts
from decoding.ssd.transport.two_lanes import Lane, Lanes
from decoding.trace.accounting import rates
from decoding.trace.events import Recorder
from decoding.trace.timing import Clock
from decoding.training.making import make_classifier
from decoding.training.splits import Splits

LOADS = {"1B": (1, 4, 16, 32), "8B": (1, 8, 32)}
COMPARED = 4  # texts that are also decoded alone
PROMPT_TOKENS = 128
STRATEGIES = (choose("autoregressive"), choose("static", {"lookahead": 3}))
TRAINING_PROMPTS = 10
SSD_MINUTES = 1.0
GAPS = (0.25, 0.5, 1, 2, 4, 8)  # edges of the histogram; 8 units are a tie in bfloat16
SSD = choose("ssd", {"lookahead": 3, "branches": 4, "backup": "neural", "placement": "two-streams"})


def made_pair(card: Card, shape: PairShape, context: int) -> ModelPair:
    """Make an untrained pair on the card; nothing but its runners is kept. A dry run takes a GPU's passes too."""
    target, draft = models(shape, card.device, torch.bfloat16)
    made = [
        runner_of(model, shape.config | layers(count), context, "bfloat16", static=True)
        for model, count in ((target, shape.config["num_hidden_layers"]), (draft, shape.draft_layers))
    ]
    return ModelPair(made[0], made[1], Numbers(), frozenset(), torch.bfloat16)


def prompts(vocab: int, count: int, tokens: int) -> list[list[int]]:
    dice = torch.Generator().manual_seed(5)
    return torch.randint(0, vocab, (count, tokens), generator=dice).tolist()


# One text ------------------------------------------------------------------------------------------------------------


def texts(card: Card) -> None:
    """Decode a text by each strategy with an untrained pair."""
    tokens, new_tokens = (12, 24) if card.is_tiny else (260, 96)
    pair = made_pair(card, card.shape, tokens + new_tokens + 64)
    [prompt] = prompts(pair.vocab, 1, tokens)
    choices = [STRATEGIES[0], *(choose("static", {"lookahead": k}) for k in (2, 3, 4, 6)), SSD]
    _one_by_one(card, pair, PromptItem("made", " ".join(map(str, prompt))), choices, new_tokens, ignore_eos=True)


def starter(card: Card) -> None:
    """Decode a text with the shipped pair and its classifier: real models, whose texts must be the same."""
    found = starter_pair(card.device, beside=False)
    found.hold("", load_classifier(STARTER / "pair" / "disco"))
    file = STARTER / "prompts" / "code.jsonl"
    prompt = next(each for each in read_prompts(file.read_text(), file.name) if each.split == "test")
    choices = [STRATEGIES[0], choose("static", {"lookahead": 4}), choose("disco"), SSD]
    _one_by_one(card, found, prompt, choices, 16 if card.is_tiny else 96)


def _one_by_one(
    card: Card, pair: ModelPair, prompt: PromptItem, choices: list[Choice], new_tokens: int, ignore_eos: bool = False
) -> None:
    """Decode each choice three times: the first two capture. A row is written at once, and a choice that fails costs
    the others nothing."""
    comparison = Measurement(pair, [prompt], choices, Sampling(max_new_tokens=new_tokens, ignore_eos=ignore_eos))
    if card.is_tiny:  # a processor has no streams
        pair.lanes["two-streams"] = Lanes(Lane(card.device), Lane(card.device), pair.draft)
    audits: list[dict[str, Any]] = []
    for choice in choices:
        try:
            pair.begin([choice])
            for repeat in range(3):
                [(_, answer)] = comparison.decode_stint([SampleKey(choice, prompt, repeat)])
                if isinstance(answer, BrokenModel):
                    raise answer
                [sample] = comparison.audited([answer])
                drafted = sample.num_draft_tokens
                audits += [dataclasses.asdict(sample.audit)] if sample.audit else []
                card.say(
                    section="text", strategy=choice.label, repeat=repeat, tokens=len(sample.tokens),
                    captures=sample.captures, tokens_per_s=sample.tokens_per_s, prefill_ms=sample.prefill_ns / 1e6,
                    acceptance_rate=(sample.num_accepted_draft_tokens or 0) / drafted if drafted else None,
                    **rates([sample.hits] if sample.hits else []),
                    audit=dataclasses.asdict(sample.audit) if sample.audit else None,
                )  # fmt: skip
        except Exception as error:
            card.fails(error, strategy=choice.label)
    card.say(section="audits", **histogram(audits))


def histogram(audits: abc.Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count texts by outcome, and those that differ by the gap between both tokens' scores at the first difference, in
    units of rounding (`decoding.measure.audit`): where do ties end?"""
    gaps = sorted(audit["gap"] for audit in audits if audit["gap"] is not None)
    edges = (*GAPS, math.inf)
    counts = {
        f"up to {edge}": sum(low < gap <= edge for gap in gaps) for low, edge in zip((-1, *GAPS), edges, strict=True)
    }
    return {"outcomes": Counter(audit["outcome"] for audit in audits), "gaps": gaps, "counts": counts}


# Host cores -----------------------------------------------------------------------------------------------------------


def cores(card: Card) -> None:
    """Time a token by how many host cores the process may use."""
    pair = made_pair(card, card.shape, 512)
    [prompt] = prompts(pair.vocab, 1, 12 if card.is_tiny else PROMPT_TOKENS)
    crowd, everywhere = Crowd(pair, [prompt], 24 if card.is_tiny else 120), sorted(os.sched_getaffinity(0))
    for choice in STRATEGIES:
        crowd.decode(choice, [0])
        crowd.decode(choice, [0])
    for count in (count for count in (1, 2, 4, 8, 16) if count <= len(everywhere)):
        _pin(everywhere[:count])
        for choice in STRATEGIES:
            before, found = time.process_time(), crowd.decode(choice, [0])
            busy = (time.process_time() - before) / found.seconds
            card.say(section="cores", cores=count, strategy=choice.label, tokens_per_s=found.speed, busy_cores=busy)
    _pin(everywhere)


def _pin(cores: abc.Iterable[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


# Load -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decoded:
    texts: list[list[int]]
    seconds: float  # prompts included

    @property
    def speed(self) -> float:
        return sum(map(len, self.texts)) / self.seconds


class Crowd:
    """Sequences that one loop decodes at once, in places that share passes, as those of a comparison."""

    def __init__(self, pair: ModelPair, prompts: list[list[int]], new_tokens: int) -> None:
        self._pair = pair
        self._prompts = prompts
        self._sampling = Sampling(max_new_tokens=new_tokens, ignore_eos=True)
        self._alone = TextCaches(pair.target, pair.draft)
        self._places: dict[int, list[TextCaches]] = {1: [self._alone]}

    def places(self, count: int) -> list[TextCaches]:
        """Return the caches of so many texts. Those of the last count are kept."""
        if count not in self._places:
            made = CachePool(self._pair.target.model, self._pair.draft.model)
            self._places = {1: [self._alone]}  # before others take memory
            self._places[count] = [place for _ in range(count) if (place := made.take(count))]
        return self._places[count]

    def decode(self, choice: Choice, numbers: abc.Sequence[int]) -> Decoded:
        """Decode the prompts with these numbers."""
        places = self.places(len(numbers))
        memory = dict[str, Any]()
        sequences = [self._sequence(choice, n, place, memory) for n, place in zip(numbers, places, strict=True)]
        start = time.perf_counter()
        decode_all(sequences)
        return Decoded([sequence.decoded.tokens for sequence in sequences], time.perf_counter() - start)

    def audit(self, number: int, text: list[int], expected: list[int]) -> dict[str, Any]:
        """Compare a text with the same one decoded alone: where they first differ, and by how much their scores do."""
        pair = self._pair
        found = audit(
            text, expected, self._prompts[number],
            target=pair.target, dtype=pair.dtype, sampling=self._sampling, seed=number, vocab=pair.vocab,
        )  # fmt: skip
        return dataclasses.asdict(found)

    def _sequence(self, choice: Choice, number: int, place: TextCaches, memory: dict[str, Any]) -> Sequence:
        pair, sampling, clock = self._pair, self._sampling, Clock()
        dice = dice_for(sampling, pair.vocab, number)
        parts = Parts(place.target, place.draft, dice, clock, frozenset(), pair.classifier, pair.pickers, memory=memory)
        drafter: Drafter = build(choice, parts)
        ending, prompt = Ending(frozenset()), self._prompts[number]
        return Sequence(prompt, sampling.max_new_tokens, ending, place.target, drafter, dice, Recorder(), clock)


def load(card: Card) -> None:
    """Decode texts at once. Audit those that differ from load 1: bfloat16 breaks ties by the shape of a pass."""
    tokens, new_tokens, loads = (12, 16, (1, 2, 4)) if card.is_tiny else (PROMPT_TOKENS, 96, LOADS[card.pair])
    pair = made_pair(card, card.shape, tokens + new_tokens + 32)
    crowd, all_audits = Crowd(pair, prompts(pair.vocab, max(loads), tokens), new_tokens), list[dict[str, Any]]()
    for choice in STRATEGIES:
        alone = [crowd.decode(choice, [number]).texts[0] for number in range(COMPARED)]
        for count in loads:
            found = _loaded(card, crowd, choice, range(count))
            audits = [crowd.audit(number, found.texts[number], alone[number]) for number in range(min(count, COMPARED))]
            card.say(
                section="load", strategy=choice.label, sequences=count, tokens_per_s=found.speed,
                tokens_per_s_each=found.speed / count, seconds=found.seconds, audits=audits,
            )  # fmt: skip
            all_audits += audits
    card.say(section="audits", **histogram(all_audits))


def _loaded(card: Card, crowd: Crowd, choice: Choice, numbers: abc.Sequence[int]) -> Decoded:
    """Decode twice without counting, which captures every form, then once."""
    for _ in range(2):
        crowd.decode(choice, numbers)
    card.wait()
    return crowd.decode(choice, numbers)


# A classifier trained there ------------------------------------------------------------------------------------------


def disco(card: Card) -> None:
    """Measure DISCO, with a classifier trained here, then SSD on two streams against the best static lookahead."""
    tokens, new_tokens, count = (12, 120, 1) if card.is_tiny else (PROMPT_TOKENS, 120, 2)
    pair = made_pair(card, card.shape, tokens + new_tokens + 64)
    rows = prompts(pair.vocab, TRAINING_PROMPTS + count, tokens)
    texts = [PromptItem(str(number), " ".join(map(str, row))) for number, row in enumerate(rows)]
    sampling = Sampling(max_new_tokens=new_tokens, ignore_eos=True)
    with torch.inference_mode(False):  # training needs gradients
        start = time.perf_counter()
        pair.hold("card", make_classifier(pair, Splits.of(texts[:TRAINING_PROMPTS]), sampling))
        card.say(section="classifier", seconds=time.perf_counter() - start)
    choices = [choose("autoregressive"), *(choose("static", {"lookahead": k}) for k in (2, 3, 4, 5, 6, 8))]
    choices += [choose("disco", {"rule": rule, "classifier": "card"}) for rule in ("priced", "threshold")]
    _compared(card, pair, texts[TRAINING_PROMPTS:], choices, sampling)
    found = against_static(pair, texts[TRAINING_PROMPTS:], sampling, SSD_MINUTES, print, ("two-streams",))
    card.say(section="ssd", **found)


def _compared(card: Card, pair: ModelPair, texts: list[PromptItem], choices: list[Choice], sampling: Sampling) -> None:
    try:
        comparison = Measurement(pair, texts, choices, sampling)
        comparison.warm_up()
        samples = comparison.run()
    except DrafthouseError as error:
        card.say(section="disco", error=str(error))
        return
    for label, row in rows_of(samples).items():
        card.say(section="disco", strategy=label, **row)
