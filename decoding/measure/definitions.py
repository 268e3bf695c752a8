"""Meaning of every figure in a result. A change of meaning changes the version, which every result carries."""

DEFINITIONS_VERSION = 4
DEFINITIONS = {
    "tokens_per_s": "generated tokens per second of decoding, over all samples; reading the prompt is excluded",
    "speedup": "ratio: the baseline's total decoding time over the strategy's, for the same number of tokens on the "
    "prompts that all strategies of the load have decoded; low to high: its 95 % interval, which holds for all "
    "strategies and loads of the comparison at once (before the end, at every look), null where prompts are too few "
    "or other programs used over half of the machine, and of the baseline, which is 1; median: of the prompts' own "
    "ratios. At one user it is about decoding, whatever other loads ran; at every other load it is end_to_end. The "
    "baseline is autoregressive unless another is pinned. In an open loop all requests share one queue, so an interval "
    "takes at least 6 repeats",
    "is_shown": "whether low lies above 1 relative to the usual baseline, whatever baseline is pinned",
    "end_to_end": "the same with the time in the queue and the time that reading the prompt takes, the draft's reading "
    "included",
    "concurrency": "users of a closed loop: each asks again as soon as it has its answer; null in an open loop",
    "rate": "requests per second of an open loop, at random times (Poisson); null in a closed loop",
    "ttft_ms": "time from a request's arrival to its first token: waiting, and reading the prompt with both models. "
    "Intervals of times are 95 % each, from order statistics over prompts; null with too few prompts, and in an open "
    "loop, whose requests share one queue",
    "tpot_ms": "time per token after the first, per request",
    "gap_ms": "time between two deliveries of tokens to a user; a verification delivers its tokens at once",
    "e2e_ms": "time from a request's arrival to its last token",
    "queued_ms": "the part of ttft_ms before decoding began",
    "tokens_per_s_user": "tokens of one request per second from its arrival to its last token; median",
    "tokens_per_s_device": "tokens of all requests per second: in a closed loop concurrency x tokens / e2e time "
    "(Little's law), in an open loop requests answered per second x tokens per request; divided by "
    "the strategy's devices, in multiples of the fewest that one had at that load; a server's are not known: 1",
    "goodput": "share of the requests that kept the objective, low to high its 95 % interval (Wilson's; null in an "
    "open loop and without an objective), and tokens_per_s_device of their tokens alone",
    "arrived_per_s": "requests that arrived per second in an open loop; few random arrivals can be far from their rate",
    "served_per_s": "requests answered per second in an open loop",
    "prefill_ms": "median time that reading the prompt takes, target and draft together; of a server, median time "
    "until its first tokens come, which count in no rate",
    "recorded": "whether requests arrived at the times of their log, which the rate stretches, or at random times",
    "by_turn": "of conversations, each turn's speed-up, whose interval holds for that turn and strategy alone; all "
    "other speed-ups count a conversation as one prompt, by the total of its turns",
    "num_spec_steps": "target passes that verified at least one drafted token",
    "num_draft_tokens": "drafted tokens that were verified",
    "num_accepted_draft_tokens": "drafted tokens that the target accepted",
    "tokens_per_round": "generated tokens per pass of the target; each pass brings one of its own and those it accepts",
    "mean_acceptance_length": "vLLM's: 1 + num_accepted_draft_tokens / num_spec_steps, which leaves out passes "
    "without a draft; 1 without speculation; null, like the "
    "counts, if a server does not give them",
    "draft_acceptance_rate": "num_accepted_draft_tokens / num_draft_tokens",
    "acceptance_histogram": "entry i: verifications that accepted exactly i drafted tokens",
    "acceptance_by_position": "entry i: of the drafts with more than i tokens, the share whose token i was accepted; "
    "of a server that does not tell the lengths of its drafts, of all its drafts",
    "price": "tokens that one more drafted token must bring, over the probability that it is accepted after an "
    "accepted one: by the classifier's card, and by passes that the run weighed before its first sample (run). If they "
    "differ by more than doubt (two standard errors, at least 15 %), the run used its own",
    "repeated_8grams": "share of the generated 8-grams that occurred before in the same generated text",
    "draft_share": "drafting's part of the decoding time; work beside a verification is no part of it",
    "verify_share": "verification's part of the decoding time",
    "num_target_passes": "runs of the target model after reading the prompt",
    "num_draft_passes": "runs of the draft model after reading the prompt; a step of all branches is one",
    "hit_rate": "of the verdicts that a draft followed, the share whose outcome had been prepared",
    "predicted_hit_rate": "what the draft's side expected of hit_rate when it chose its branches",
    "prepared_branches": "mean number of branches in a pass that prepared, of all texts that shared the pass",
    "hidden_share": "of the time that the draft model worked, the part that lay within a verification",
    "why": "from the tokens per second of a bound to the measured ones, cause by cause; the bound is an oracle with "
    "free drafts that verifies only where the draft is refused, at the price of one row a text, measured on "
    "autoregressive at the same load; with_prompt and end_to_end add the time to read the prompt, then the queue",
    "lost": "samples whose draft was lost on the way, so that the target went on alone, by the reason",
    "captures": "CUDA graphs that were recorded in time that counts: the warm-up did not meet the form of their pass",
    "audit": "against autoregressive's tokens: identical; tie (the first difference lies within rounding, "
    "ours or the server's); divergent; not_compared (draws of another kind, where only the distribution is the same)",
    "tie_in": "number format of a server that rounds more coarsely than the models here, if its ties are ties in that",
}
