"""The bars under load, measured for `bench load`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pickle
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from benchmarks._engine_bars import Bar, ratio
from benchmarks._ready_pair import ready_pair
from benchmarks.load import STARTER
from decoding.backends.contestants.base import Request
from decoding.backends.contestants.transformers import Transformers
from decoding.backends.joint_probing import Probing
from decoding.backends.ours import Ours
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose, parse_choices
from decoding.core.ending import Ending
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.records import RecordedText
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.schedule import SampleKey, stints
from decoding.measure.summary import report
from decoding.models.runner import ModelRunner
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prepared_in
from decoding.prompts.prompt import PromptItem
from decoding.replay.at_load import PlayedRun, play
from decoding.replay.confirming import run_all
from decoding.replay.planning import AUTOREGRESSIVE, study
from decoding.replay.planning_at_load import PlanInputs
from decoding.replay.probing import probe
from decoding.replay.ssd.simulator import simulate_together
from decoding.ssd.speculator.speculator import plan_of
from decoding.trace.accounting import answers_of
from decoding.trace.events import EventSink, NullSink
from decoding.trace.theory import without_hits
from worker.jobs.comparison.tracing import Tracing
from worker.terminal.arguments import read_arguments

Rows = dict[str, Any]  # by label
BATCH = 8
REPEATS = 5


def measure_all(given: argparse.Namespace) -> None:
    asked = read_arguments(
        ["--limit", str(given.limit), "--max-new-tokens", str(given.tokens), "--threads", str(given.threads)]
    )
    pair, about = ready_pair(asked)
    prompts = asked.prompts
    sampling = dataclasses.replace(asked.sampling, ignore_eos=True)
    users = [int(count) for count in given.loads.split(",")]
    choices = [AUTOREGRESSIVE, *parse_choices(given.strategies)]
    rows: Rows = {}
    places = pair.caches()
    probing = {count: Probing(pair, count, sampling, places) for count in users}

    def loads() -> list[Bar]:
        rows.update(in_turns(pair, prompts, sampling, choices, probing, given.repeats))
        costs = probing[max(users)].costs()
        return [*at_loads(rows, choices, users), *without_prompts(costs, rows)]

    ways: dict[str, Callable[[], list[Bar]]] = {
        "loads": loads,
        "transformers": lambda: beside_transformers(pair, prompts, given.tokens),
        "worthless": lambda: worthless(pair, prompts, sampling, max(users)),
        "replay": lambda: replayed(pair, prompts, sampling, rows, choices, probing),
        "tracing": lambda: traced(pair, prompts, sampling, max(users)),
        "ssd": lambda: ssd(pair, prompts, sampling, [count for count in users if count <= BATCH]),
    }
    bars = [bar for step in given.steps.split(",") for bar in ways[step]()]
    for bar in bars:
        print(f"{bar.what:64} {bar.figure:7.3f}  bar {'<=' if bar.at_most else '>='} {bar.bar:<5} {bar.reached}")
    if given.json:
        kept = {label: {k: v for k, v in row.items() if k != "samples"} for label, row in rows.items()}
        document = {"hardware": about.hardware, "bars": [dataclasses.asdict(b) for b in bars], "rows": kept}
        given.json.write_text(json.dumps(document, indent=1, default=str) + "\n")


def in_turns(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    choices: Sequence[Choice],
    probing: Mapping[int, Probing],
    repeats: int,
) -> Rows:
    """Run all strategies at all loads, and probe prices in between: they can change within seconds."""
    everywhere = [c.at(Load(count)) for count in probing for c in choices]
    comparison = Measurement(pair, prompts, everywhere, sampling, repeats)
    comparison.warm_up()
    samples: list[SampleResult] = []
    for group in comparison.schedule():
        found: list[SampleResult] = []
        for stint in stints(group):
            found += [sample for _, sample in comparison.decode_stint(stint) if isinstance(sample, SampleResult)]
            if len(stint) > 1 or stint[0] is group[-1]:
                probing[stint[0].choice.load.concurrency].take_turn()
        samples += comparison.audited(found)
    return {row["label"]: row for row in report(everywhere, {choice.label: "" for choice in everywhere}, samples)}


def at_loads(rows: Rows, choices: Sequence[Choice], users: Sequence[int]) -> list[Bar]:
    speed = {label: row["tokens_per_s_device"] for label, row in rows.items()}
    for count in users:
        shown = "  ".join(f"{c.settings} {speed[c.at(Load(count)).label]:.0f}" for c in choices)
        print(f"{Load(count)!s:14} tokens/s  {shown}")
    alone = AUTOREGRESSIVE.at(Load(users[-1] if 8 not in users else 8)).label
    bars = [
        Bar(
            f"autoregressive{alone.removeprefix('autoregressive')} / one user",
            speed[alone] / speed[AUTOREGRESSIVE.label],
            4.0,
        )
    ]
    audits = [row["audit"] for row in rows.values()]
    exact = sum(a["identical"] + a["tie"] for a in audits) / sum(sum(a.values()) for a in audits)
    bars.append(Bar("texts identical with one user's, or ties", exact, 1.0))
    fixed = [c for c in choices if c.strategy in ("autoregressive", "static")]
    for count in users if any(choice.strategy == "budget" for choice in choices) else ():
        best = max(fixed, key=lambda c: speed[c.at(Load(count)).label])
        own = paired(rows, "budget:8", best.settings, Load(count))
        bars.append(Bar(f"budget / best fixed ({best.settings}) at {count}", own, 0.98))
    return bars


def without_prompts(costs: CostModel, rows: Rows) -> list[Bar]:
    """Rounds of autoregressive alone: a prompt takes as long for each of many texts as for one."""
    one, many = (costs.verify(texts, texts) + costs.fixed(texts) for texts in (1, BATCH))
    samples = rows[AUTOREGRESSIVE.label]["samples"]
    reading, growing = (sum(sample[part] for sample in samples) for part in ("prefill_ns", "decode_ns"))
    most = BATCH * (reading + growing) / (BATCH * reading + growing)
    print(f"With its prompts it could gain {most:.2f}, if a round of {BATCH} texts took no longer than a round of one.")
    return [Bar(f"autoregressive, rounds of {BATCH} texts / of one, without prompts", BATCH * one / many, 4.0)]


def paired(rows: Rows, above: str, below: str, load: Load) -> float:
    """Median over prompts and repeats of the ratio of end-to-end speeds, interleaved in one run."""
    speeds = [
        {(s["prompt"], s["repeat"]): _end_to_end(s) for s in rows[settings + load.suffix]["samples"]}
        for settings in (above, below)
    ]
    return statistics.median(speeds[0][key] / speeds[1][key] for key in speeds[0])


def _end_to_end(sample: dict[str, Any]) -> float:
    return len(sample["tokens"]) / (sample["timing"]["queued_ns"] + sample["prefill_ns"] + sample["decode_ns"])


def turns(ways: Sequence[Callable[[], float]]) -> list[list[float]]:
    """Run each way in turn, after one that does not count."""
    rounds = [[way() for way in ways] for _ in range(REPEATS + 1)][1:]
    return [list(column) for column in zip(*rounds, strict=True)]


def speed_of(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    choice: Choice,
    sink: Callable[[SampleKey], EventSink],
) -> float:
    """Tokens per second of one stint."""
    comparison = Measurement(pair, prompts, [choice], sampling, sink_for=sink)
    [group] = comparison.schedule()
    samples = [sample for _, sample in comparison.decode_stint(group) if isinstance(sample, SampleResult)]
    [row] = report([choice], {choice.label: ""}, samples, choice.label)
    return float(row["tokens_per_s_device"])


def beside_transformers(pair: ModelPair, prompts: Sequence[PromptItem], tokens: int) -> list[Bar]:
    """Ours against `generate` on a left-padded batch of the same prompts, the same number of tokens each."""
    sampling = Sampling(max_new_tokens=tokens, ignore_eos=True)
    texts = [pair.tokenizer.encode(prompt.text) for prompt in prompts[:BATCH]]
    longest = max(map(len, texts))
    ids = torch.tensor([[0] * (longest - len(text)) + list(text) for text in texts])
    mask = torch.tensor([[0] * (longest - len(text)) + [1] * len(text) for text in texts])
    models = [
        Transformers(dataclasses.replace(pair, dtype=dtype)).models[0] for dtype in (torch.float32, torch.bfloat16)
    ]
    requests = [Request(AUTOREGRESSIVE, text, sampling, 0, Ending(frozenset())) for text in texts]

    def ours() -> float:
        began = time.perf_counter()
        list(Ours(pair).run(requests, lambda _: NullSink(), never, Load(BATCH)))
        return time.perf_counter() - began

    def theirs(model: Any) -> Callable[[], float]:
        def generate() -> float:
            began = time.perf_counter()
            with torch.inference_mode():
                model.generate(
                    ids,
                    attention_mask=mask,
                    max_new_tokens=tokens,
                    min_new_tokens=tokens,
                    do_sample=False,
                    pad_token_id=0,
                )
            return time.perf_counter() - began

        return generate

    own, *others = turns([ours, *map(theirs, models)])
    fastest = min(others, key=statistics.median)
    return [Bar(f"ours / transformers generate, batch of {BATCH}", ratio(fastest, own), 2.0)]


def worthless(pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, users: int) -> list[Bar]:
    """A draft that is never right: its output head reads another model's words."""
    from decoding.models.checkpoints import load

    draft = load(STARTER / "pair" / "draft", dtype="auto", device=pair.draft.device, context=pair.draft.context).runner
    _shuffle(draft)
    wrong = dataclasses.replace(pair, draft=draft, contestants={}, fingerprints=None)
    choices = [c.at(Load(users)) for c in (AUTOREGRESSIVE, *parse_choices("budget"))]
    rows = run_all(wrong, prompts, sampling, choices)
    figure = paired(dict(rows), "budget:8", AUTOREGRESSIVE.label, Load(users))
    return [Bar(f"worthless draft: budget / autoregressive at {users}", figure, 0.98)]


def _shuffle(draft: ModelRunner) -> None:
    decoder: Any = draft.decoder  # type: ignore[attr-defined]
    order = torch.randperm(draft.vocab_size, generator=torch.Generator().manual_seed(1))
    head = decoder.head
    decoder.head = lambda rows: head(rows)[:, order]


def replayed(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    rows: Rows,
    choices: Sequence[Choice],
    probing: Mapping[int, Probing],
) -> list[Bar]:
    classifier = pair.classifier("")
    recorded = study(pair, prompts, sampling, tails=True)
    costs = probe(pair, prompts, sampling, "")
    found = []
    for count, probed in probing.items():
        material = PlanInputs(recorded, probed.costs(costs), classifier)
        alone, base = (
            rows[AUTOREGRESSIVE.at(Load(count)).label],
            material.run(AUTOREGRESSIVE, count).tokens_per_s_device,
        )
        print(f"autoregressive at {count}: predicted {base:.0f} tokens/s, measured {alone['tokens_per_s_device']:.0f}")
        for choice in choices[1:]:
            played, run = rows[choice.at(Load(count)).label], material.run(_tuned(choice, classifier), count)
            predicted = run.tokens_per_s_device / base
            measured = played["tokens_per_s_device"] / alone["tokens_per_s_device"]
            what = (
                f"replay: {choice.settings} at {count}, predicted {predicted:.2f}, measured {measured:.2f}; "
                f"tokens a draft {_per_draft(run):.2f}, {played['mean_acceptance_length']:.2f}"
            )
            found.append(Bar(what, abs(predicted / measured - 1), 0.05, at_most=True))
    return found


def ssd(pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, users: Sequence[int]) -> list[Bar]:
    """Print SSD relative to a fixed lookahead on the same core, beside Corollary 16 and the simulator.

    In turn nothing is hidden: the draft prepares before the target verifies, so a round with hits takes the
    verification and the preparation, and one with a miss the backup's drafting too. Beside, the draft has a core of its
    own."""
    fixed, in_turn, *others = parse_choices(
        "static:4,ssd:4,backup=neural,placement=in-turn,ssd:4,backup=auto,placement=in-turn"
    )
    beside = parse_choices("ssd:4,backup=neural,placement=beside") if pair.draft_process else []
    choices = [AUTOREGRESSIVE, fixed, in_turn, *beside, *others]
    rows = dict(run_all(pair, prompts, sampling, [c.at(Load(count)) for count in users for c in choices]))
    simulated = _Simulated.of(pair, prompts, sampling, fixed, max(users))
    for count in users:
        alone, plain = (rows[choice.at(Load(count)).label] for choice in (AUTOREGRESSIVE, fixed))
        for own in (in_turn, *beside):
            row = rows[own.at(Load(count)).label]
            branches = own.ahead and own.ahead.branches
            prices = prepared_in([(branches, row["samples"])], alone["samples"], simulated.costs, count)
            assert prices, "it prepares"
            said, hits = simulated.over_fixed(own, prices, count)
            expected = _corollary_16(row, plain, count)
            measured = paired(rows, own.settings, fixed.settings, Load(count))
            print(
                f"{own.settings} / {fixed.settings} at {count}: measured {measured:.2f}, Corollary 16 {expected:.2f}, "
                f"simulated {said:.2f}; hits {row['hit_rate']:.2f}, simulated {hits:.2f}{_beside(own, prices)}"
            )
        for other in others:
            ratio = paired(rows, other.settings, fixed.settings, Load(count))
            print(f"  {other.settings}: measured {ratio:.2f}.")
    return []


@dataclasses.dataclass(frozen=True)
class _Simulated:
    """Recorded texts and measured joint costs."""

    pair: ModelPair
    fixed: Choice
    texts: Sequence[RecordedText]
    costs: CostModel

    @classmethod
    def of(
        cls, pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, fixed: Choice, users: int
    ) -> _Simulated:
        recorded = study(pair, prompts, sampling, tails=True)
        joint = Probing(pair, users, sampling, pair.caches()).measured()
        return cls(pair, fixed, recorded.texts(), joint)

    def over_fixed(self, own: Choice, prices: CostModel, users: int) -> tuple[float, float]:
        """Speed relative to the fixed lookahead, and hit rate."""
        plan, is_beside = plan_of(own, self.pair.vocab, None), self.pair.process_of(own) is not None
        ahead = simulate_together(self.texts, plan, prices, users, is_beside)
        fixed = play(self.texts, self.fixed.sources(), self.costs, users)
        return ahead.tokens_per_s_device / fixed.tokens_per_s_device, ahead.hit_rate


def _beside(own: Choice, prices: CostModel) -> str:
    """Prices of a draft that works beside the target."""
    if own.params["placement"] != "beside":
        return ""
    return (
        f"; a verification {prices.slower:.2f} times as long beside the draft, an answer {prices.answer * 1e3:.2f} ms"
    )


def _corollary_16(row: dict[str, Any], plain: dict[str, Any], users: int) -> float:
    """With the rates, tokens and times of this load's own rounds."""
    drafting = plain["draft_share"] / plain["verify_share"]
    counted = [hits for sample in row["samples"] if (hits := sample["hits"])]
    speculation = answers_of(counted).speculation("neural")
    assert speculation, "the model answers every miss of this run"
    return speculation.speedup(users) / without_hits(plain["mean_acceptance_length"], drafting).speedup(users)


def _per_draft(run: PlayedRun) -> float:
    """Tokens that a verified draft yields."""
    rounds = [each for request in run.requests for each in request.rounds if each.drafted]
    return 1 + sum(each.accepted for each in rounds) / max(1, len(rounds))


def _tuned(choice: Choice, classifier: DraftClassifier) -> Choice:
    """Fill in the threshold that a run takes from the classifier."""
    if choice.params.get("threshold") != 0:
        return choice
    return choose(choice.strategy, {**choice.params, "threshold": classifier.tuned(str(choice.params["rule"]))})


def traced(pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, users: int) -> list[Bar]:
    choice = parse_choices("static:2")[0].at(Load(users))
    with Tracing(pickle.dumps, pair.tokenizer.decode) as tracing:
        on, off = turns(
            [
                lambda: speed_of(pair, prompts, sampling, choice, tracing.sink_for),
                lambda: speed_of(pair, prompts, sampling, choice, lambda key: NullSink()),
            ]
        )
    return [Bar(f"tracing on / off at {users}", ratio(off, on), 1.03, at_most=True)]
