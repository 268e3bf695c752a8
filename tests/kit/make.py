"""Things for tests, made by plain functions through the services that make them in earnest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import timezone
from safetensors.numpy import save

from decoding.measure.sample import sample_from_events
from decoding.trace import events
from webapp.accounts.actor import Actor
from webapp.comparisons import services as comparisons
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.jobs import services as jobs
from webapp.jobs.kinds import Kind
from webapp.jobs.leases import Reaper
from webapp.jobs.models import Job, Worker
from webapp.registry import prompt_sets, services
from webapp.registry.endpoints import services as endpoints
from webapp.registry.models import Dataset, Endpoint, LanguageModel, Pair, Prompt
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE
from webapp.studies.models import Classifier, Study, Training
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload

STUDIES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "studies.json").read_text())
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 32,
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "max_position_embeddings": 64,
}
LAYER = {
    "self_attn.q_proj": [8, 8],
    "self_attn.k_proj": [8, 8],
    "self_attn.v_proj": [8, 8],
    "self_attn.o_proj": [8, 8],
    "mlp.gate_proj": [16, 8],
    "mlp.up_proj": [16, 8],
    "mlp.down_proj": [8, 16],
    "input_layernorm": [8],
    "post_attention_layernorm": [8],
}


SPLITS = ("test", "train", "validation")
Events = Sequence[events.Event]


def safetensors(shapes: dict[str, list[int]]) -> bytes:
    return save({name: np.zeros(shape, np.float32) for name, shape in shapes.items()})


def tokenizer(vocab: int = 32, first: str = "a") -> bytes:
    words = {first if number == 0 else f"w{number}": number for number in range(vocab)}
    return json.dumps({"model": {"type": "BPE", "vocab": words, "merges": []}}).encode()


def checkpoint(*, layers: int = 2, vocab: int = 32, first: str = "a", **extra: bytes) -> dict[str, bytes]:
    """A whole model folder, as small as one can be."""
    config = {**CONFIG, "num_hidden_layers": layers, "vocab_size": vocab}
    weights = {"model.embed_tokens.weight": [vocab, 8], "model.norm.weight": [8]}
    for number in range(layers):
        weights |= {f"model.layers.{number}.{name}.weight": shape for name, shape in LAYER.items()}
    return {
        "config.json": json.dumps(config).encode(),
        "model.safetensors": safetensors(weights),
        "tokenizer.json": tokenizer(vocab, first),
        **extra,
    }


def upload(by: Actor, files: dict[str, bytes], name: str = "files") -> Upload:
    return uploads.keep(team=by.home, name=name, files=files.items(), by=by)


def model(by: Actor, name: str = "target", **options: Any) -> LanguageModel:
    return services.add_model(name=name, upload=upload(by, checkpoint(**options)), by=by)


def pair(by: Actor, name: str = "pair") -> Pair:
    return services.add_pair(name=name, target=model(by, "target", layers=4), draft=model(by, "draft", layers=1), by=by)


def target_alone(by: Actor, name: str = "alone") -> Pair:
    return services.add_pair(name=name, target=model(by, "target"), by=by)


def dataset(by: Actor, count: int = 3, name: str = "prompts") -> Dataset:
    text = "".join(
        json.dumps({"text": f"prompt {n}", "split": SPLITS[n % 3], "category": "abc"[n % 3]}) + "\n"
        for n in range(count)
    )
    return prompt_sets.add_dataset(name=name, file_name="prompts.jsonl", text=text, by=by)


def body(made_of: Pair, dataset: Dataset, **changes: Any) -> dict[str, Any]:
    return {
        "pair": str(made_of.pk),
        "dataset": str(dataset.pk),
        "strategies": [{"strategy": "autoregressive"}, {"strategy": "static", "params": {"lookahead": 4}}],
        "sampling": {"max_new_tokens": 8},
        **changes,
    }


def endpoint(by: Actor, name: str = "theirs", **changes: Any) -> Endpoint:
    """A server that nobody has asked yet."""
    asked = {"name": name, "url": "http://127.0.0.1:9", "dialect": "llamacpp", "deadline_s": 60.0, **changes}
    return endpoints.add_endpoint(**asked, by=by)


def served(by: Actor, **changes: Any) -> Comparison:
    """A comparison of a strategy with a server."""
    endpoint(by, key="sk-a-key-that-nobody-sees")
    server = {"strategy": "server", "params": {"name": "theirs"}}
    return comparison(by, strategies=[{"strategy": "static", "params": {"lookahead": 4}}, server], **changes)


def comparison(by: Actor, **changes: Any) -> Comparison:
    made_of = {"pair": pair(by), "dataset": dataset(by)}
    strategies = [{"strategy": "static", "params": {"lookahead": 4}}]
    asked = {**made_of, "strategies": strategies, "sampling": {"max_new_tokens": 8}, **changes}
    return comparisons.launch(name="one", by=by, **asked)


def study(by: Actor, kind: Kind = ORACLE, document: dict[str, Any] | None = None, **options: Any) -> Study:
    """One that has succeeded, with a document such as the engine makes."""
    options["pair"] = options.get("pair") or pair(by)
    options["dataset"] = options.get("dataset") or dataset(by)
    made = studies.launch(kind=kind, by=by, **options)
    Job.objects.filter(pk=made.job.pk).update(priority=10)
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert job == made.job
    studies.finish(job=job, document=document or STUDIES[kind.slug])
    made.refresh_from_db()
    made.job.refresh_from_db()
    return made


def training(by: Actor, **options: Any) -> Training:
    """One that still trains."""
    made = classifying.train_classifier(name="in the making", by=by, **options)
    Job.objects.filter(pk=made.job.pk).update(priority=10)
    jobs.claim(worker="w1", queues=["cpu"])
    made.job.refresh_from_db()
    return made


def card(**differs: Any) -> dict[str, bytes]:
    """The files of a classifier, its card as training writes it but for what differs."""
    weights = safetensors({"hidden.weight": [2]})
    return {"classifier.safetensors": weights, "card.json": json.dumps({**STUDIES["card"], **differs}).encode()}


def classifier(by: Actor, made_for: Pair, name: str = "c", **differs: Any) -> Classifier:
    """One that was brought along, with such a card."""
    return classifying.add_classifier(name=name, pair=made_for, upload=upload(by, card(**differs)), by=by)


def remaining(comparison: Comparison) -> Iterator[tuple[Prompt, int, list[Run]]]:
    """Return the samples that a worker would still decode: prompt by prompt, the order of strategies rotating."""
    runs = list(comparison.runs.all())
    done = set(
        Sample.objects.filter(run__comparison=comparison).finished().values_list("run_id", "prompt_id", "repeat")
    )
    turn = 0
    for repeat in range(1, comparison.repeats + 1):
        for prompt in comparison.prompts:
            order = runs[turn % len(runs) :] + runs[: turn % len(runs)]
            turn += 1
            if missing := [run for run in order if (run.pk, prompt.pk, repeat) not in done]:
                yield prompt, repeat, missing


def decode_all(comparison: Comparison, worker: str = "w1") -> None:
    """Decode as a worker does, with made-up numbers instead of models."""
    job = jobs.claim(worker=worker, queues=[comparison.job.queue])
    assert job is not None
    for prompt, repeat, runs in remaining(comparison):
        for run in runs:
            decode_one(job, run, prompt, repeat)
    jobs.succeed(job=job)
    comparison.job.refresh_from_db()


def decode_one(job: Job, run: Run, prompt: Prompt, repeat: int, happened: Events = (), **told: Any) -> Sample:
    sample = comparisons.begin_sample(job=job, run=run, prompt=prompt, repeat=repeat, device="cpu")
    records = [events.to_dict(event, seq) for seq, event in enumerate(happened or trace_of(run), 1)]
    trace.append(sample=sample, first_seq=1, events=records[:2])
    trace.append(sample=sample, first_seq=3, events=records[2:])
    numbers = numbers_of(run, prompt, repeat, happened, **told)
    comparisons.finish_sample(job=job, sample=sample, last_seq=len(records), numbers=numbers)
    return sample


def begin_a_heat(comparison: Comparison) -> None:
    """Every strategy is at one prompt, as far as its first round. Others' jobs stand back."""
    Job.objects.filter(pk=comparison.job.pk).update(priority=10)
    job = jobs.claim(worker=f"at {comparison.pk}", queues=["cpu"])
    assert job == comparison.job
    prompt, repeat, runs = next(remaining(comparison))
    for run in runs:
        sample = comparisons.begin_sample(job=job, run=run, prompt=prompt, repeat=repeat, device="cpu")
        trace.append(sample=sample, first_seq=1, events=[events.to_dict(trace_of(run)[0], 1)])


def numbers_of(run: Run, prompt: Prompt, repeat: int = 1, happened: Events = (), **told: Any) -> dict[str, Any]:
    told = {"category": prompt.category, "tokens": (5, 6, 7), "text": "abc", **told}
    made = [*happened] or trace_of(run)
    return sample_from_events(made, choice=run.choice, prompt=prompt.name, repeat=repeat, **told).to_dict()


def trace_of(run: Run) -> list[Any]:
    """One round that accepted two tokens, or three rounds without a draft; of a server, its deliveries."""
    if run.endpoint_id:
        delivered = [events.Delivered((5,), 1, "", 1000), events.Delivered((6, 7), 2, "", 2500)]
        return [events.Started(3, 1000), *delivered, events.Reported(new_tokens=3), events.Finished("length", 3, 2500)]
    if lookahead := run.params.get("lookahead", 0):
        drafted = events.Drafted(1, 3, lookahead, (5, 6), (0.9, 0.8), (), "limit", "fresh", 2, 1000, 1500)
        rounds: list[Any] = [drafted, events.Verified(1, 2, 7, "bonus", 500, 1500, 2500)]
    else:
        rounds = [events.Verified(n, 0, 4 + n, "bonus", 0, n * 1000, n * 1000 + 1000) for n in (1, 2, 3)]
    return [events.Started(3, 1000), *rounds, events.Finished("length", 3, rounds[-1].end_ns)]


def silence() -> int:
    """No worker renews for longer than a lease; how many jobs are taken back."""
    now = 0.0
    reaper = Reaper(clock=lambda: now)
    taken = reaper.look()
    while now <= jobs.LEASE.total_seconds():
        now += 7
        taken += reaper.look()
    return taken


def waited() -> None:
    """All jobs that wait for their next attempt may begin it."""
    Job.objects.update(not_before=None)


def gone(worker: str) -> None:
    """Nothing was heard of it for longer than a worker may be silent."""
    Worker.objects.filter(name=worker).update(seen=timezone.now() - 2 * Worker.SILENCE)
