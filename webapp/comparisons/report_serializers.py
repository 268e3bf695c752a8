"""The answer of a comparison's report: verdict, rankings, and the figures of each strategy."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

UNKNOWN = "null if a server does not say"


class PercentileIntervals(serializers.Serializer[Any]):
    """95 % interval of each percentile, for itself alone: from, to. Null with too few prompts, and in an open loop."""

    p50 = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    p95 = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    p99 = serializers.ListField(child=serializers.FloatField(), allow_null=True)


class Percentiles(serializers.Serializer[Any]):
    p50 = serializers.FloatField()
    p95 = serializers.FloatField()
    p99 = serializers.FloatField()
    intervals = PercentileIntervals()


class Goodput(serializers.Serializer[Any]):
    share = serializers.FloatField(help_text="share of the requests that kept the objective")
    low = serializers.FloatField(allow_null=True, help_text="95 % interval of the share; null in an open loop")
    high = serializers.FloatField(allow_null=True)
    tokens_per_s_device = serializers.FloatField(help_text="tokens of these requests alone")


class Drift(serializers.Serializer[Any]):
    tokens = serializers.IntegerField(help_text="judged tokens")
    offset = serializers.FloatField(help_text="on the logit of the estimates; 0: no drift")
    slope = serializers.FloatField(help_text="on the logit of the estimates; 1: no drift")
    calibration_error = serializers.FloatField()
    corrected_error = serializers.FloatField(help_text="calibration error that offset and slope would leave")
    sentence = serializers.CharField()


class Price(serializers.Serializer[Any]):
    card = serializers.FloatField(help_text="tokens that one more token must bring, by the classifier's card")
    run = serializers.FloatField(help_text="the same by the passes that this run weighed before its first sample")
    doubt = serializers.FloatField(help_text="share by which the two may differ by noise alone")
    is_own = serializers.BooleanField(help_text="whether they differ by more, so that the run used its own")
    used = serializers.FloatField()
    sentence = serializers.CharField()


class Backups(serializers.Serializer[Any]):
    share = serializers.DictField(child=serializers.FloatField(), help_text="share of the misses, by backup")
    critical_batch = serializers.FloatField(
        allow_null=True, help_text="batch from which a backup without a model is better"
    )
    sentence = serializers.CharField()


class TurnOut(serializers.Serializer[Any]):
    """One turn of conversations."""

    turn = serializers.IntegerField()
    speedup = serializers.DictField(allow_null=True, help_text="its interval holds for this turn and strategy alone")
    mean_acceptance_length = serializers.FloatField(allow_null=True, help_text=UNKNOWN)
    prompt_tokens = serializers.FloatField(help_text="median")


class RegretOver(serializers.Serializer[Any]):
    """Regret over some prompts."""

    regret = serializers.FloatField(help_text="1 - the ratio of reached")
    reached = serializers.DictField(help_text="share of the bound's speed: ratio, low, high, median, prompts")


class RegretIn(RegretOver):
    category = serializers.CharField(allow_blank=True)


class RegretOut(RegretOver):
    """The speed that a strategy lacks of its bound, which knows what the strategy must guess."""

    bound = serializers.CharField(help_text="label of the bound's row")
    by_category = RegretIn(many=True, help_text="the largest regret first; empty where there is one category")
    sentence = serializers.CharField()


class WhyStep(serializers.Serializer[Any]):
    """A cause that takes speed, in tokens per second before and after it."""

    name = serializers.CharField()
    title = serializers.CharField()
    to = serializers.FloatField()
    seconds = serializers.FloatField(help_text="time over all samples; negative if it saved time")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "from": serializers.FloatField()}  # `from` is no name in Python


class WhyPass(serializers.Serializer[Any]):
    """The usual verification of so many texts in which no prompt was read."""

    texts = serializers.IntegerField()
    ns = serializers.FloatField()


class WhyOut(serializers.Serializer[Any]):
    """The speed that an oracle with free drafts would have, and what each cause takes from it. Numbers are tokens per
    second."""

    refusal = serializers.CharField(allow_blank=True, help_text="why there is no explanation; empty if there is one")
    bound = serializers.FloatField(allow_null=True)
    steps = WhyStep(many=True)
    measured = serializers.FloatField(allow_null=True, help_text="of decoding alone, also where there is a refusal")
    with_prompt = serializers.FloatField(allow_null=True, help_text="with the time to read the prompt")
    end_to_end = serializers.FloatField(allow_null=True, help_text="with the time in the queue too")
    baseline = serializers.FloatField(allow_null=True, help_text="of autoregressive")
    row_ns = serializers.FloatField(allow_null=True, help_text="a verification of one row a text, autoregressive's")
    passes = WhyPass(many=True, help_text="what the prompts of other texts are measured against")
    unknown = serializers.IntegerField(
        help_text="stops at which no strategy drafted; the bound counts them as too early"
    )
    largest = serializers.CharField(allow_blank=True, help_text="the cause to improve first; empty if none is large")
    sentence = serializers.CharField()


class StrategyReport(serializers.Serializer[Any]):
    """The report of one strategy at one load. The names are vLLM's; /definitions of the report says what each means."""

    strategy = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field is none of the serializer's attributes
    name = serializers.CharField(help_text="the label, shortened where no classifier's id is needed")
    settings = serializers.CharField(help_text="the name without the load")
    concurrency = serializers.IntegerField(allow_null=True, help_text="users of a closed loop")
    rate = serializers.FloatField(allow_null=True, help_text="requests per second of an open loop")
    recorded = serializers.BooleanField(help_text="they arrive at the times of their log, not at random")
    is_baseline = serializers.BooleanField(help_text="speed-ups at this load are relative to this row")
    params = serializers.DictField()
    role = serializers.CharField()
    runner = serializers.CharField(allow_blank=True)
    sample_count = serializers.IntegerField()
    noisy_count = serializers.IntegerField(help_text="samples during which other programs used the machine")
    tokens_per_s = serializers.FloatField()
    gained_tokens_per_s = serializers.FloatField(allow_null=True, help_text="tokens_per_s minus the baseline's")
    speedup = serializers.DictField(
        allow_null=True,
        help_text="of decoding; under load, of the whole request. ratio of the total times of all prompts, low and "
        "high of its 95 % interval, which holds for all strategies and loads at once (null if prompts are few or the "
        "machine was too busy), median of the prompts' own ratios, number of prompts",
    )
    is_shown = serializers.BooleanField(help_text="shown to be faster than the usual baseline, whichever is pinned")
    end_to_end = serializers.DictField(allow_null=True, help_text="the same with the time to read the prompt")
    prefill_ms = serializers.FloatField(allow_null=True, help_text="median time to read the prompt, draft included")
    break_even_tokens = serializers.FloatField(
        allow_null=True, help_text="the output length from which it is faster end to end; null if it saves nothing"
    )
    tokens_per_round = serializers.FloatField(allow_null=True, help_text="tokens per pass of the target")
    mean_acceptance_length = serializers.FloatField(allow_null=True, help_text=UNKNOWN)
    draft_acceptance_rate = serializers.FloatField(allow_null=True)
    num_spec_steps = serializers.IntegerField(allow_null=True, help_text=UNKNOWN)
    num_draft_tokens = serializers.IntegerField(allow_null=True, help_text=UNKNOWN)
    num_accepted_draft_tokens = serializers.IntegerField(allow_null=True, help_text=UNKNOWN)
    num_target_passes = serializers.IntegerField(allow_null=True, help_text=UNKNOWN)
    num_draft_passes = serializers.IntegerField(allow_null=True, help_text=UNKNOWN)
    acceptance_histogram = serializers.ListField(child=serializers.IntegerField())
    acceptance_by_position = serializers.ListField(child=serializers.FloatField())
    drift = Drift(allow_null=True, help_text="how far a classifier's estimates were from what the target accepted")
    price = Price(allow_null=True, help_text="the price that decided how long it drafted; null if none did")
    draft_share = serializers.FloatField(allow_null=True)
    verify_share = serializers.FloatField(allow_null=True)
    repeated_8grams = serializers.FloatField(allow_null=True)
    audit = serializers.DictField(child=serializers.IntegerField())
    tie_in = serializers.CharField(allow_blank=True, help_text="the server's number format, if the ties are ties in it")
    hit_rate = serializers.FloatField(allow_null=True, help_text="share of outcomes that SSD had prepared")
    predicted_hit_rate = serializers.FloatField(allow_null=True, help_text="hit_rate that the draft side expected")
    hit_rate_by_position = serializers.DictField(child=serializers.FloatField(), help_text="by the accepted count")
    hit_rate_by_source = serializers.DictField(
        child=serializers.FloatField(), help_text="by the source of the judged draft"
    )
    prepared_branches = serializers.FloatField(allow_null=True, help_text="mean branches of a pass that prepared")
    hidden_share = serializers.FloatField(allow_null=True, help_text="share of drafting that ran beside a verification")
    backups = Backups(allow_null=True, help_text="what drafted after SSD's misses")
    lost = serializers.DictField(child=serializers.IntegerField(), help_text="samples that lost their draft, by reason")
    captures = serializers.IntegerField(help_text="CUDA graphs that were recorded in time that counts")
    hardware = serializers.CharField(
        allow_blank=True, help_text="what the strategy had to itself, and why requests waited"
    )
    per_device = serializers.FloatField(allow_null=True, help_text="the speed-up divided by the number of its devices")
    why = WhyOut(help_text="why it is not faster: from the bound to the measured speed")
    regret = RegretOut(
        allow_null=True, help_text="against its bound; null if it has none, or its bound did not run here"
    )
    by_turn = TurnOut(many=True, help_text="empty where every prompt has one turn")
    tokens_per_s_device = serializers.FloatField(
        required=False,
        help_text="of all requests together, divided by its devices; the unit is what the row with the fewest had",
    )
    tokens_per_s_user = serializers.FloatField(required=False, help_text="of one request from its arrival; median")
    ttft_ms = Percentiles(required=False, help_text="from arrival to the first token")
    tpot_ms = Percentiles(required=False, help_text="per token after the first")
    gap_ms = Percentiles(required=False, allow_null=True, help_text="between two deliveries of tokens")
    e2e_ms = Percentiles(required=False, help_text="from arrival to the last token")
    queued_ms = Percentiles(required=False, help_text="from arrival until decoding began")
    goodput = Goodput(required=False)
    arrived_per_s = serializers.FloatField(required=False, allow_null=True, help_text="requests arrived per second")
    served_per_s = serializers.FloatField(required=False, allow_null=True, help_text="requests answered per second")


class RankingOut(serializers.Serializer[Any]):
    leader = serializers.CharField(allow_null=True, help_text="label of the fastest strategy shown to be a gain")
    as_fast = serializers.ListField(child=serializers.CharField(), help_text="labels not shown to be slower")
    held_out = serializers.FloatField(
        allow_null=True,
        help_text="speed-up on each prompt of the strategy that the other prompts choose, so choosing flatters nothing",
    )
    more_prompts = serializers.ListField(
        child=serializers.IntegerField(allow_null=True),
        allow_null=True,
        help_text="at least and at most so many more prompts settle the next open question; the second is null if "
        "nobody knows",
    )
    sentence = serializers.CharField(allow_blank=True)


class LoadOut(serializers.Serializer[Any]):
    concurrency = serializers.IntegerField(allow_null=True)
    rate = serializers.FloatField(allow_null=True)
    recorded = serializers.BooleanField()
    baseline = serializers.CharField(help_text="label of the row to which speed-ups at this load are relative")
    verdict = serializers.CharField()
    doubt = serializers.CharField(allow_blank=True)
    ranking = RankingOut()
    fastest = serializers.CharField(
        allow_null=True, help_text="label of the row to deploy; null if none is shown to be the fastest"
    )


class CrossoverOut(serializers.Serializer[Any]):
    """The loads between which a strategy stops being a gain."""

    strategy = serializers.CharField()
    name = serializers.CharField()
    axis = serializers.ChoiceField(choices=["concurrency", "rate"])
    gain_until = serializers.FloatField(allow_null=True, help_text="last load whose interval lies above 1")
    loss_from = serializers.FloatField(allow_null=True, help_text="first load whose interval lies below 1")
    at = serializers.FloatField(allow_null=True, help_text="where the line through the speed-ups falls below 1")


class ReportOut(serializers.Serializer[Any]):
    verdict = serializers.CharField(help_text="one sentence; for several loads it equals `sentence`")
    doubt = serializers.CharField(allow_blank=True, help_text="why the verdict may be wrong, and what is not settled")
    sentence = serializers.CharField(help_text="the fastest strategy by load")
    loads = LoadOut(many=True, help_text="verdict and ranking of each load")
    crossovers = CrossoverOut(many=True)
    objective = serializers.DictField(
        child=serializers.FloatField(), help_text="what each request is promised: ttft_ms, tpot_ms"
    )
    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text="classifiers trained for another sampling, and loads that were too high to be served",
    )
    ranking = RankingOut(
        help_text="which order is certain, and how many more prompts settle the rest; empty for several loads"
    )
    is_noisy = serializers.BooleanField(help_text="more than 20 % of the samples are noisy; the doubt says so")
    baseline = serializers.CharField(help_text="strategy, without its load, to which speed-ups are relative")
    samples = serializers.IntegerField(help_text="finished samples, from which the report is computed")
    definitions_version = serializers.IntegerField()
    noisy_count = serializers.IntegerField(help_text="samples during which other programs used the machine")
    is_mixed = serializers.BooleanField(help_text="samples come from several devices, so the comparison is not fair")
    strategies = StrategyReport(many=True)
