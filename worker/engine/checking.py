"""Can this model be run here? Its tokenizer is loaded and its files are judged; the weights stay where they are."""

from __future__ import annotations

from collections.abc import Callable

from decoding.checkpoints import tokenizer_of
from decoding.model_folder import inspect
from worker.messages import Checked, CheckModel, Report


def check(order: CheckModel, say: Callable[[Report], None]) -> None:
    facts = inspect(order.folder)
    tokenizer = tokenizer_of(facts)
    sentence = "Drafthouse reads this sentence back."
    say(
        Checked(
            {
                "runner": facts.runner,
                "model_type": facts.family,
                "vocab_size": facts.vocab_size,
                "context_length": facts.context,
                "parameter_count": facts.parameters,
                "weight_bytes": facts.weight_bytes,
                "dtypes": [facts.dtype],
                "reads_back": tokenizer.decode(tokenizer.encode(sentence)) == sentence,
                "end_tokens": sorted(facts.end_tokens),
            }
        )
    )
