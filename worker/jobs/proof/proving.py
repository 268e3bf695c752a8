"""Proof of a plan: its setting on llama-server beside the same server without speculation, and beside our engine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from decoding.backends.contestants.servers import SERVER
from decoding.backends.contestants.servers.dialects import dialect_called
from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.guard import allowed
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.drafting.strategy import LLAMA_CPP, LONGEST
from decoding.errors import BadStrategy
from decoding.measure.comparison import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.summary import report, so_few
from decoding.prompts.prompt import PromptItem
from decoding.strategies import BASELINE
from decoding.words import change
from worker import noise
from worker.cache import FileCache
from worker.jobs.proof import llama_server
from worker.started_server import StartedServer, started

FORMAT = "drafthouse.proof/1"
DIALECT = "llamacpp"
ON, OFF = "on", "off"  # names of the two servers
STEPS = WRITING, STARTING, WARMING, PROVING = "writing GGUF files", "starting llama-server", "warming up", "proving"
ALIKE = 0.02  # a share of the speed-up that is not worth a reason
UNEVEN = 1.5  # an interval whose ends differ by more tells nothing about a promise within it


@dataclass(frozen=True, slots=True)
class Promise:
    """A setting of a plan that llama.cpp can be given, and its predicted speed-up."""

    choice: Choice
    speedup: float

    @property
    def options(self) -> str:
        return self.choice.setting_in(LLAMA_CPP)


def promise_of(settings: Iterable[tuple[Choice, float]]) -> Promise:
    """Choose the setting with the largest predicted speed-up of those that llama.cpp can be given."""
    known = [Promise(choice, speedup) for choice, speedup in settings if choice.setting_in(LLAMA_CPP)]
    if not known:
        raise BadStrategy(f"This plan holds no setting that {LLAMA_CPP} can be given, so there is nothing to prove.")
    return max(known, key=lambda promise: promise.speedup)


def prove(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    promise: Promise,
    cache: FileCache,
    *,
    on_step: Callable[[str, int, int], None] = lambda phase, done, due: None,
    cancelled: Callable[[], bool] = never,
) -> dict[str, Any]:
    """Run both servers and both of our strategies in turns, and return what came of the promise. `on_step` gets how far
    each of the `STEPS` is."""
    on, off = (choose(SERVER.slug, {"name": name}) for name in (ON, OFF))
    ours, theirs = [choose(BASELINE), promise.choice], [off, on]
    comparison = Measurement(pair, prompts, [*ours, *theirs], sampling, cancelled=cancelled)
    program, facts = llama_server.program(), pair.target.facts
    due = len(prompts) * len(comparison.choices)
    with ExitStack() as using:
        on_step(WRITING, 0, 1)
        files = llama_server.weights(pair, cache, using, cancelled)

        def serve(name: str, options: Sequence[str]) -> StartedServer:
            command = llama_server.command(
                program,
                files,
                threads=facts.threads,
                context=_context(comparison),
                on_cpu=pair.target.device.type == "cpu",
                options=options,
            )
            on_step(STARTING, [OFF, ON].index(name), 2)
            return using.enter_context(started(name, command, dialect_called(DIALECT).health, cancelled))

        options = [str(files.draft) if word == "DRAFT" else word for word in shlex.split(promise.options)]
        pair.servers = _reach(serve(OFF, ()), serve(ON, options))
        pair.begin(comparison.choices)
        comparison.warm_up(on_progress=lambda done, due: on_step(WARMING, done, due))
        before = noise.mark(os.getpid())
        samples = comparison.run_whole(lambda done: on_step(PROVING, done, due))
        noisy = noise.between(before, noise.mark(os.getpid()))
    if cancelled():
        return {}
    return _document(promise, _measured(ours, samples), _measured(theirs, samples), noisy, facts.threads)


def _context(comparison: Measurement) -> int:
    """Tokens of the longest text, and of a draft that reaches past its end."""
    longest = max(len(comparison.tokens(prompt)) for prompt in comparison.prompts)
    return longest + comparison.sampling.max_new_tokens + LONGEST


def _reach(*servers: StartedServer) -> Reach:
    """Allow these servers and nothing else."""
    endpoints = {server.name: EndpointSpec(server.name, server.address, DIALECT) for server in servers}
    return Reach(endpoints, allowed=allowed(f"127.0.0.1:{server.port}" for server in servers))


def _measured(choices: Sequence[Choice], samples: Sequence[SampleResult]) -> dict[str, Any]:
    """Figures of one engine: with speculation, the second of its choices, over without."""
    plain, row = report(choices, {choice.label: "" for choice in choices}, samples, choices[0].label)
    length, gain = row["mean_acceptance_length"], row["speedup"]
    return {
        "tokens_per_s": row["tokens_per_s"],
        "plain_tokens_per_s": plain["tokens_per_s"],
        "speedup": gain,
        "mean_acceptance_length": length,
        # what a round costs, in passes of one token: the speed-up is what a round yields over what it costs
        "round_price": length / gain["ratio"] if length and gain else None,
        "audit": row["audit"],
    }


def _document(
    promise: Promise, ours: Mapping[str, Any], theirs: Mapping[str, Any], noisy: str, threads: int
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "engine": LLAMA_CPP,
        "setting": promise.choice.label,
        "options": promise.options,
        "weights": llama_server.DTYPE,
        "threads": threads,
        "promised": promise.speedup,
        "ours": ours,
        "theirs": theirs,
        "noise": noisy,
        "verdict": verdict(promise, theirs["speedup"], noisy),
        "reasons": reasons(promise, ours, theirs),
    }


def verdict(promise: Promise, gain: Mapping[str, Any] | None, noisy: str) -> str:
    if gain is None:
        return f"{LLAMA_CPP} wrote too few tokens to measure a speed-up. Allow more tokens, or take other prompts."
    result = f"With {promise.choice.label}, {LLAMA_CPP} is {gain['ratio']:.2f} times as fast as without speculation"
    promised = f"{promise.speedup:.2f} was promised"
    if gain["low"] is None:
        return f"{result} on {so_few(gain['prompts'])}, where {promised}. That is too few to judge the promise."
    measured = f"{result} (95 % interval {gain['low']:.2f} to {gain['high']:.2f}), where {promised}."
    doubt = "The machine was busy, so measure again before you rely on this. " if noisy else ""
    return f"{doubt}{_judged(promise, gain)} {measured}"


def _judged(promise: Promise, gain: Mapping[str, Any]) -> str:
    if gain["high"] < promise.speedup:
        return f"{LLAMA_CPP} does not keep the promise."
    if gain["low"] <= promise.speedup and gain["high"] > UNEVEN * gain["low"]:
        return "The measurement is too uneven to judge the promise."
    return f"{LLAMA_CPP} {'exceeds' if gain['low'] > promise.speedup else 'keeps'} the promise."


def reasons(promise: Promise, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Say why the engines differ. A speed-up is what a round yields over what it costs, so two ratios explain it."""
    if not (ours["round_price"] and theirs["round_price"]):
        return ["Too little was measured to explain a difference."]
    here, there = ours["speedup"]["ratio"], theirs["speedup"]["ratio"]
    yields = theirs["mean_acceptance_length"] / ours["mean_acceptance_length"]
    prices = ours["round_price"] / theirs["round_price"]
    plain_here, plain_there = (1000 / engine["plain_tokens_per_s"] for engine in (ours, theirs))
    found = [
        f"Our engine ran the same setting {here:.2f} times as fast as without speculation, where "
        f"{promise.speedup:.2f} was promised.",
        f"A round yields {theirs['mean_acceptance_length']:.2f} tokens there and "
        f"{ours['mean_acceptance_length']:.2f} here. {_effect(yields)}",
        f"A round costs as much as {theirs['round_price']:.2f} passes of one token there and "
        f"{ours['round_price']:.2f} here: the draft's passes, and one pass of several rows. {_effect(prices)}",
        f"Without speculation, a token takes {plain_there:.2f} ms there and {plain_here:.2f} ms here.",
    ]
    if theirs["audit"]["not_compared"]:
        found.append(
            f"{LLAMA_CPP} draws texts of its own, so part of this is chance. Temperature 0 gives the same texts."
        )
    if (plain_here > plain_there) == (here > there) and abs(here / there - 1) > ALIKE:
        slower = "Our engine" if plain_here > plain_there else LLAMA_CPP
        found.append(
            f"{slower} is slower without speculation and gains more: all tokens of a round share the work that an "
            "engine does once for each pass."
        )
    return found


def _effect(ratio: float) -> str:
    if abs(ratio - 1) <= ALIKE:
        return "That explains no difference."
    return f"That changes the speed-up there by {change(ratio)}."
