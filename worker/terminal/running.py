"""A comparison from loading to the table."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, TextIO

from decoding.backends.contestants.servers import SERVER
from decoding.backends.contestants.servers.dialects import dialect_called
from decoding.backends.contestants.servers.servers_only import ServersOnly
from decoding.core.load import ONE
from decoding.errors import BadPrompt
from decoding.measure.comparison import WARM_UP_TOKENS, Measurement, no_sink
from decoding.measure.sample import SampleResult
from decoding.measure.seeing import are_too_few, outlook
from decoding.measure.worst import USUAL, lines, ranked_by_loss
from decoding.prompts.prompt import first_turns
from decoding.replay.weighing import settle_prices
from worker import noise
from worker.servers import local_pids
from worker.started_server import started
from worker.terminal.arguments import Arguments
from worker.terminal.document import document, write_document
from worker.terminal.files import whole_file
from worker.terminal.guarded import opening, spare
from worker.terminal.interrupt import Interrupt
from worker.terminal.loading import LoadedPair, LoadedServers, load_pair
from worker.terminal.palette import palette_for
from worker.terminal.progress import ComparisonProgress, ProgressLine
from worker.terminal.servers import AskedServer, about, reach_of, shown
from worker.terminal.table import result
from worker.terminal.trace import Trace

NAMED = 8  # prompts that are left out, each with its reason; of more only the number


def run(args: Arguments) -> bool:
    """Whether it came to its end. Where Ctrl-C ended it, what was done until then is shown and written all the same."""
    with ExitStack() as outputs:
        worst_file = outputs.enter_context(whole_file(args.worst)) if args.worst else None
        json_file = outputs.enter_context(whole_file(args.json)) if args.json else None
        trace = Trace(outputs.enter_context(whole_file(args.trace))) if args.trace else None
        interrupt = Interrupt()
        servers = [serving(server, outputs, interrupt) for server in args.servers]
        beside = local_pids(server.spec for server in servers if not server.command)
        before = noise.mark(os.getpid(), beside)
        loaded = load(args, servers)
        outputs.callback(loaded.pair.close)
        comparison = Measurement(
            loaded.pair,
            args.prompts,
            args.choices,
            args.sampling,
            args.repeats,
            sink_for=trace.sink_for if trace else no_sink,
            cancelled=interrupt,
        )
        encode_all(comparison, args.shows_prompts)  # prompts that cannot be decoded are told now, not after an hour
        loaded.pair.begin(args.choices)  # likewise, what this machine cannot run
        warnings = loaded.pair.misfits(args.choices, args.sampling)
        announce(args, loaded, comparison.longest, warnings)
        if others := noise.between(before, noise.mark(os.getpid(), beside)):
            say(crowded(others, loaded.threads))
        prices = prepare(comparison)
        with interrupt:
            samples, noisy = decode_all(comparison, args, trace, beside)
        complete = len(samples) + len(comparison.left_out) == args.sample_count
        outcome = document(
            args,
            samples,
            complete=complete,
            noise=noisy,
            warnings=[*warnings, *left_out(comparison)],
            pair=loaded.about(),
            servers=[
                about(server, loaded.pair.contestant(server.choice).served_model(server.choice)) for server in servers
            ],
            hardware=loaded.hardware(args.choices, comparison.longest),
            runners={choice.label: loaded.pair.runner_of(choice) for choice in args.choices},
            prices=prices,
        )
        write_results(args, outcome, samples, json_file, worst_file)
    say_missing(comparison, len(samples), args.sample_count)
    print(result(outcome, palette_for(sys.stdout, os.environ)))
    return complete


def prepare(comparison: Measurement) -> dict[str, Any]:
    """Warm up and weigh the passes. Return the prices that the classifiers use."""
    some = "whole texts" if comparison.is_on_gpu else f"at most the first {WARM_UP_TOKENS} tokens"
    say(f"Warming up: {some} of each strategy, which do not count.\n")
    warming = ProgressLine(sys.stderr)
    comparison.warm_up(on_progress=lambda done, due: warming.show(done, due, "warmed up"))
    warming.close()
    weighing = ProgressLine(sys.stderr)
    prices = settle_prices(comparison, {}, say, lambda done, due: weighing.show(done, due, "turns of measuring costs"))
    weighing.close()
    return prices


def serving(server: AskedServer, outputs: ExitStack, cancelled: Interrupt) -> AskedServer:
    """Start the server if it is not running, and note its address. It ends with the outputs."""
    if not server.command:
        return server
    dialect = dialect_called(server.spec.dialect)
    say(f"Starting {server.spec.name}: {shown(server.command)}")
    begun = outputs.enter_context(started(server.spec.name, server.command, dialect.health, cancelled))
    spare(begun.pid)
    say(f"{server.spec.name} is ready at {begun.address}")
    return replace(server, spec=replace(server.spec, address=begun.address))


def load(args: Arguments, servers: Sequence[AskedServer]) -> LoadedPair | LoadedServers:
    reach = reach_of(servers)
    if args.servers_only:
        return LoadedServers(ServersOnly(reach))
    loaded = load_pair(args)
    loaded.pair.servers = reach
    return loaded


def encode_all(comparison: Measurement, shows: bool) -> None:
    """Encode the prompts that are known before anything is decoded. Say which are left out; refuse if all are.
    `shows`: print the others."""
    opening(True)
    first, refusals = first_turns(comparison.prompts), list[BadPrompt]()
    for prompt in first:
        if refusal := comparison.refusal(prompt):
            refusals.append(refusal)
        elif shows:
            show_prompt(prompt.id, comparison.reading.text(prompt))
    opening(False)
    if len(refusals) == len(first):
        raise refusals[0]
    for refusal in refusals[:NAMED]:
        say(f"Left out: {refusal}")
    if len(refusals) > NAMED:
        say(f"Left out for such reasons: {len(refusals) - NAMED} more prompts.")


def show_prompt(name: str, text: str) -> None:
    say(f"Prompt {name}:\n{text}\n")


def write_results(
    args: Arguments,
    outcome: Mapping[str, Any],
    samples: Sequence[SampleResult],
    json_file: TextIO | None,
    worst_file: TextIO | None,
) -> None:
    if json_file:
        write_document(outcome, json_file)
    if worst_file:
        write_worst(args, outcome, samples, worst_file)


def write_worst(args: Arguments, outcome: Mapping[str, Any], samples: Sequence[SampleResult], file: TextIO) -> None:
    """Write the prompts on which the strategy loses most that the verdict names at the lightest load."""
    [load, *_] = outcome["loads"]
    ranked = [choice.label for choice in args.choices if choice.label != load["baseline"]]
    label = load["ranking"]["leader"] or (ranked or [load["baseline"]])[0]
    by_label = {name: [s for s in samples if s.strategy == name] for name in (label, load["baseline"])}
    base = by_label[load["baseline"]]
    file.writelines(lines(ranked_by_loss(by_label[label], base)[:USUAL], args.prompts, base))
    say(f"{args.worst} holds the prompts on which {label} gains least.")


def left_out(comparison: Measurement) -> list[str]:
    """Say how many samples have no text, and why the first of them has none."""
    if not comparison.left_out:
        return []
    (key, error), count = comparison.left_out[0], len(comparison.left_out)
    number = f"{count} samples were" if count > 1 else "1 sample was"
    return [f"{number} left out. {key.choice.label} on prompt {key.prompt.id}: {error}"]


def say_missing(comparison: Measurement, found: int, due: int) -> None:
    if found + len(comparison.left_out) < due:
        say(f"Stopped after {found} of {due} samples; only whole prompts count.")


def announce(args: Arguments, loaded: LoadedPair | LoadedServers, longest: int, warnings: Sequence[str]) -> None:
    """Print what is about to run, in texts of at most so many tokens."""
    prompts = args.material.prompts.name + (f", {args.material.split} split" if args.material.split else "")
    repeats = f" × {args.repeats} repeats" if args.repeats > 1 else ""
    for line in loaded.lines():
        say(line)
    count = f"{len(args.prompts)} prompt" + ("s" if len(args.prompts) > 1 else "")
    number = len(args.choices) // len(args.loads)
    strategies = f"{number} strateg" + ("ies" if number > 1 else "y")
    at = "" if args.loads == (ONE,) else f", at {', '.join(map(str, args.loads))}"
    say(f"{count} of {prompts} × {strategies}{repeats}{at}")
    if are_too_few(len(args.prompts), number - 1):
        say(outlook(len(args.prompts), number - 1))
    for choice in args.choices:
        waits = loaded.pair.contestant(choice).waiting(choice, longest)
        if choice.spec.role == SERVER.role or loaded.pair.process_of(choice) or waits:
            say(f"{choice.label} on {loaded.pair.hardware_of(choice, longest)}")
    for remark in (*loaded.remarks, *args.remarks, *warnings):
        say(remark)


def crowded(others: str, threads: int) -> str:
    """Warn if other programs use the machine."""
    waiting = " On a busy machine --threads 1 is often faster: threads wait for the slowest one." if threads > 1 else ""
    return f"{others} Measurements beside them are unsteady.{waiting}"


def decode_all(
    comparison: Measurement, args: Arguments, trace: Trace | None, beside: Sequence[int]
) -> tuple[list[SampleResult], str]:
    """The samples of every prompt that all strategies have finished, and what disturbed them."""
    progress = ComparisonProgress(args.sample_count, sys.stderr)
    before = noise.mark(os.getpid(), beside)
    samples: list[SampleResult] = []

    def done(sample: SampleResult) -> None:
        progress.sample(sample.strategy, sample.count)
        if args.shows_prompts and sample.turn > 1 and sample.rendered:
            show_prompt(sample.prompt, sample.rendered)

    with suppress(KeyboardInterrupt):
        for group in comparison.run(done):
            if any(sample.reason == "cancelled" for sample in group):
                break
            samples += group
            if trace:
                trace.prompt_done()
    progress.close()
    if not samples:  # there is nothing to show
        raise KeyboardInterrupt if comparison.cancelled() or not comparison.left_out else comparison.left_out[0][1]
    return samples, noise.between(before, noise.mark(os.getpid(), beside))


def say(words: str) -> None:
    """Print to stderr, apart from the result."""
    print(words, file=sys.stderr, flush=True)
