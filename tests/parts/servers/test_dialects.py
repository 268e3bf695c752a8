"""Every dialect in a comparison with our own loop: the wire is its own, the texts are the target's."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import pytest
import torch
from torch import Tensor

from decoding.backends.contestants.servers.dialects import DIALECTS
from decoding.backends.contestants.servers.dialects.llamacpp import LlamaCppReader
from decoding.choice import choose
from decoding.core.load import Load
from decoding.dice.sampling import Sampling
from decoding.errors import BadServer
from decoding.measure.audit import respelled, with_end
from decoding.measure.measurement import Measurement
from decoding.measure.summary import report
from decoding.measure.verdict import doubts, verdict
from decoding.prompts.prompt import PromptItem
from decoding.trace.events import Delivered, Finished, Reported, Started
from tests.kit.pairs import PROMPTS, pair
from tests.kit.runners import RoundsDifferently
from tests.kit.servers.formats import FORMATS, prompt_of, speaking
from tests.kit.servers.stage import LETTERS, asking, comparing, greedy, honest, in_steps, truthful
from tests.kit.servers.wire import Asked, Reply, Script, altered, events, plain
from tests.kit.table import TableRunner
from tests.kit.worlds import state_of, tables

TELLING = {"llamacpp", "vllm", "sglang"}  # report the counts of each request
IDS = {"llamacpp", "vllm", "sglang", "trtllm"}  # take the prompt as token ids


def row_of(comparison: Measurement) -> tuple[dict[str, Any], list[Any]]:
    samples = comparison.run()
    runners = {choice.label: comparison.models.contestant(choice).runner(choice) for choice in comparison.choices}
    own = [sample for sample in samples if sample.strategy == "server:it"]
    return report(comparison.choices, runners, samples)[-1], own


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_servers_greedy_texts_are_audited_and_its_acceptance_is_what_it_reports(dialect: str) -> None:
    with comparing(truthful(dialect), dialect) as (comparison, wire):
        row, samples = row_of(comparison)
    with asking(truthful(dialect), dialect) as (ask, _):
        [(answer, [started, *delivered, reported, finished])] = ask("ab")
    assert isinstance(started, Started) and isinstance(reported, Reported) and isinstance(finished, Finished)
    assert sum(event.count for event in delivered) == 12 == finished.new_tokens
    assert started.prefill_ns == delivered[0].end_ns and finished.end_ns == delivered[-1].end_ns
    assert answer.tokens == [token for step in honest("ab", 12) for token in step]
    assert row["audit"] == {"identical": 3, "tie": 0, "divergent": 0, "not_compared": 0}
    assert row["role"] == "server" and row["runner"] == DIALECTS[dialect].title
    assert [sample.count for sample in samples] == [12, 12, 12]
    assert row["end_to_end"]["prompts"] == 3 and row["ttft_ms"]["p50"] > 0
    assert (row["num_target_passes"], row["draft_share"], row["verify_share"]) == (None, None, None)
    asked = [prompt_of(body) for body in wire.sent(FORMATS[dialect][0])]
    expected = [LETTERS.encode(p.text) if dialect in IDS else p.text for p in PROMPTS]
    assert all(one in asked for one in expected)
    assert doubts(samples) == []
    if dialect in TELLING:
        assert (row["num_spec_steps"], row["num_draft_tokens"], row["num_accepted_draft_tokens"]) == (12, 48, 21)
        assert row["mean_acceptance_length"] == 1 + 21 / 12
    else:
        assert (row["mean_acceptance_length"], row["draft_acceptance_rate"], row["num_draft_tokens"]) == (None,) * 3
    if dialect in ("llamacpp", "vllm"):
        assert row["acceptance_histogram"][:5] == [3, 3, 3, 0, 3]
        assert row["acceptance_by_position"] == [0.75, 0.5, 0.25, 0.25]


def test_tokens_of_one_verification_are_one_delivery_though_each_has_an_event_of_its_own() -> None:
    steps = in_steps(range(12))
    script = speaking("llamacpp", lambda *_: steps, LETTERS.decode)
    with asking(script) as (ask, _):
        [(_, told)] = ask("ab")
    burst = [len(event.tokens) for event in told if isinstance(event, Delivered)]
    assert sum(burst) == 12 and len(burst) <= len(steps)
    reader = LlamaCppReader()
    sent = script(Asked("POST", "/completion", {}, {"prompt": [0, 1], "n_predict": 12})).pieces[:-1]
    is_same = [reader.piece(json.loads(one.removeprefix(b"data: "))).is_same_step for one in sent]
    assert is_same == [place > 0 for step in steps for place in range(len(step))]


@pytest.mark.parametrize("load", [Load(3), Load(rate=400)], ids=str)
def test_many_requests_at_once_get_their_own_texts_at_any_load(load: Load) -> None:
    texts = ["ab", "c", "dd", "abc", "la", "k"]
    with asking(truthful("vllm"), "vllm") as (ask, _):
        found = sorted(answer.text for answer, _ in ask(*texts, load=load))
    assert found == sorted(LETTERS.decode([t for step in honest(text, 12) for t in step]) for text in texts)


def test_counters_at_metrics_fill_in_what_the_answer_does_not_say() -> None:
    answered = itertools.count(1)
    silent, readings = truthful("vllm"), {"n": 0}
    grows = {
        "spec_decode_num_drafts_total{": 4,
        "spec_decode_num_draft_tokens_total{": 16,
        "spec_decode_num_accepted_tokens_total{": 7,
        **{f'spec_decode_num_accepted_tokens_per_pos_total{{position="{at}",': n for at, n in enumerate((3, 2, 1, 1))},
        "prefix_cache_hits_total{": 8,
    }

    def script(asked: Asked) -> Reply:
        if asked.path == "/metrics":
            lines = (f'vllm:{name}engine="0"}} {5 + readings["n"] * count}' for name, count in grows.items())
            return Reply(["\n".join(lines).encode()])
        reply = silent(asked)
        if asked.path == "/v1/completions":
            readings["n"] = next(answered)
            reply = Reply([piece for piece in reply.pieces if b'"metrics"' not in piece])
        return reply

    with asking(script, "vllm") as (ask, _):
        found = ask("ab", "c")
    for _, told in found:
        reported = told[-2]
        assert reported.source == "metrics"
        counted = (reported.num_spec_steps, reported.num_draft_tokens, reported.num_accepted_draft_tokens)
        assert counted == (4, 16, 7) and reported.acceptance_histogram == (1, 1, 1, 0, 1)
        assert reported.cached_tokens == 8


def test_prefix_caches_are_kept_out_where_a_request_can_and_named_where_one_was_used() -> None:
    with asking(truthful("llamacpp")) as (ask, wire):
        ask("ab")
        ask("ab", sampling=Sampling(max_new_tokens=12, repetition_penalty=1.1))
        usual, penalised = wire.sent("/completion")
        assert usual["cache_prompt"] is False
        assert (usual["repeat_last_n"], penalised["repeat_last_n"]) == (0, len(penalised["prompt"]) + 12)
    with asking(truthful("vllm"), "vllm") as (ask, wire):
        ask("ab", "ab")
        assert len({body["cache_salt"] for body in wire.sent("/v1/completions")}) == 2
    cached = altered(truthful("sglang"), '"cached_tokens": 0', '"cached_tokens": 2')
    with comparing(cached, "sglang") as (comparison, _):
        _, samples = row_of(comparison)
    assert "server:it took prompt tokens from its prefix cache on 3 of 3 samples" in doubts(samples)[0]


def test_sampling_reaches_the_server_in_its_own_words_or_is_refused() -> None:
    sampling = Sampling(temperature=0.7, top_k=5, top_p=0.9, ignore_eos=True, max_new_tokens=12, stop=("zz",))
    with asking(truthful("sglang"), "sglang") as (ask, wire):
        ask("ab", sampling=sampling)
    sent = wire.sent("/generate")[0]["sampling_params"]
    assert (sent["ignore_eos"], sent["top_k"], sent["stop"], sent["max_new_tokens"]) == (True, 5, ["zz"], 12)
    assert sent["skip_special_tokens"] is False
    with asking(truthful("openai"), "openai") as (ask, wire):
        ask("ab")
        ask("ab", sampling=Sampling(max_new_tokens=12, stop=("zz",)))
    assert [body.get("stop") for body in wire.sent("/v1/completions")] == [None, ["zz"]]
    with asking(truthful("transformers"), "transformers") as (ask, _):
        with pytest.raises(BadServer, match="has no field to ignore the end token"):
            ask("ab", sampling=sampling)
        assert len(ask("ab")[0][0].tokens) == 12


def test_a_server_that_decodes_something_else_is_found_with_the_place() -> None:
    def other(prompt: Any, room: int) -> list[list[int]]:
        tokens = [token for step in honest(prompt, room) for token in step]
        tokens[5] = (tokens[5] + 1) % 12
        return in_steps(tokens)

    for dialect in ("llamacpp", "openai"):  # ids, and text alone
        with comparing(speaking(dialect, other, LETTERS.decode), dialect) as (comparison, _):
            row, samples = row_of(comparison)
        assert row["audit"]["divergent"] == 3, dialect
        assert [(s.audit.position, s.audit.gap > 8) for s in samples] == [(5, True)] * 3, dialect
        assert "server:it does not write the target's text on 3 of 3 samples" in doubts(samples)[0]


def close_calls(gap: float, best_logit: float = 18.2) -> Tensor:
    """Rows of a target whose best two tokens lie this close; the second is the one after the best."""
    own, _ = tables(12, 7)
    best = own.argmax(-1, keepdim=True)
    return own.scatter(1, best, best_logit).scatter(1, (best + 1) % 12, best_logit - gap)


@pytest.mark.parametrize(
    ("dtype", "gap", "outcome", "words"),
    [
        ("bfloat16", 0.042, "tie", "differs by a tie in bfloat16, the server's rounding, on 3."),
        ("float32", 0.00001, "tie", "differs by a numeric tie on 3."),
        ("float32", 0.042, "divergent", "another text than the target on 3 of 3 samples"),
    ],
)
def test_what_rounding_can_decide_depends_on_the_server_if_it_rounds_more_coarsely_than_we_do(
    dtype: str, gap: float, outcome: str, words: str
) -> None:
    models = pair(TableRunner(close_calls(gap), 4096, state_of))
    models.dtype = torch.float32

    def other(prompt: Any, room: int) -> list[list[int]]:
        tokens = greedy(prompt, room, models)
        return [[*tokens[:5], (tokens[5] + 1) % 12, *tokens[6:]]]

    with comparing(speaking("vllm", other, LETTERS.decode), "vllm", models, dtype=dtype) as (comparison, _):
        row, samples = row_of(comparison)
    assert [sample.audit.outcome for sample in samples] == [outcome] * 3
    unknown = {"ratio": 1.0, "median": 1.0, "low": None, "high": None, "prompts": 3}
    row["speedup"] = unknown  # its answer may come in one piece
    assert words in verdict([row, {**row, "label": "autoregressive"}])
    assert len(doubts(samples)) == (outcome == "divergent")


@pytest.mark.parametrize(("gap", "outcome"), [(0.042, "tie"), (2.0, "divergent")])
def test_a_text_that_a_server_ends_too_early_is_judged_by_the_end_token(gap: float, outcome: str) -> None:
    target = TableRunner(close_calls(gap), 4096, state_of)
    tokens = greedy("ab", 12, pair(target))
    at, end = next((at, (tokens[at] + 1) % 12) for at in range(2, 11) if (tokens[at] + 1) % 12 not in tokens[:at])
    models = dataclasses.replace(pair(target), end_tokens=frozenset({end}))
    chunk = {"index": 0, "text": LETTERS.decode(tokens[:at]), "token_ids": tokens[:at], "finish_reason": "stop"}
    script: Script = lambda asked: plain({}) if asked.method == "GET" else Reply(events({"choices": [chunk]}))  # noqa: E731
    with comparing(script, "vllm", models) as (comparison, _):
        comparison.prompts = [PromptItem("ab", "ab")]
        _, [sample] = row_of(comparison)
    assert (sample.reason, sample.audit.outcome, sample.audit.position) == ("eos", outcome, at)


def test_a_text_that_goes_on_past_its_end_is_cut_where_every_strategy_ends_it() -> None:
    tokens = greedy("ab", 12)
    end = next(token for at, token in enumerate(tokens) if at > 3 and token not in tokens[:at])
    models = dataclasses.replace(pair(), end_tokens=frozenset({end}))
    with comparing(truthful("vllm"), "vllm", models) as (comparison, _):
        comparison.prompts = [PromptItem("ab", "ab")]
        _, [sample] = row_of(comparison)
    assert (sample.reason, sample.audit.outcome, sample.tokens[-1]) == ("eos", "identical", end)
    assert len(sample.tokens) == tokens.index(end) + 1


def test_a_strategy_of_ours_is_judged_by_our_own_rounding_beside_a_server_that_rounds_coarsely() -> None:
    models = pair(RoundsDifferently(close_calls(0.05, 5.0), 1.0))
    honest = speaking("vllm", lambda prompt, room: [greedy(prompt, room, models)], LETTERS.decode)
    with comparing(honest, "vllm", models) as (comparison, _):
        comparison.choices = [*comparison.choices, choose("static", {"lookahead": 3})]
        samples = comparison.run()
    outcomes = {sample.strategy: sample.audit.outcome for sample in samples if sample.audit}
    assert outcomes == {"autoregressive": "identical", "server:it": "identical", "static:3": "divergent"}


class Pairs:
    """A tokenizer that may cut a text in two ways: `ab` has a token of its own."""

    def encode(self, text: str) -> list[int]:
        return [100 if piece == "ab" else LETTERS.encode(piece)[0] for piece in _pieces(text)]

    def decode(self, tokens: Any) -> str:
        return "".join("ab" if token == 100 else LETTERS.decode([token]) for token in tokens)


def _pieces(text: str) -> list[str]:
    return [piece for part in text.replace("ab", " ab ").split() for piece in ([part] if part == "ab" else part)]


def test_a_text_is_cut_into_the_expected_tokens_as_far_as_they_write_it() -> None:
    cut = Pairs()
    assert respelled("cabd", [2, 0, 1, 3], cut.decode, cut.encode) == [2, 0, 1, 3]
    assert respelled("cabk", [2, 0, 1, 3], cut.decode, cut.encode) == [2, 0, 1, 10]
    assert respelled("kab", [2, 0, 1], cut.decode, cut.encode) == [10, 100]
    assert with_end([2, 0], [2, 0, 9], {9}) == [2, 0, 9]
    assert with_end([2, 1], [2, 0, 9], {9}) == [2, 1]
