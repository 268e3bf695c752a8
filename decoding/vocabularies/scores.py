"""Strategies that need the draft's scores of the target's tokens. Where the two match text (SLEM), there are none.

Standard library only, because the web process uses it.
"""

from __future__ import annotations

from collections.abc import Iterable

from decoding.choice import Choice
from decoding.errors import BadStrategy
from decoding.vocabularies.shared import Method

ABOUT_COPIES = (
    "The draft gives no probabilities of the target's tokens, because this pair matches text (SLEM), so this is about "
    "copies alone."
)


def lacks_scores(what: str) -> str:
    return (
        f"{what} needs a draft that says the target's tokens, and this pair matches text (SLEM), because its "
        "tokenizers differ."
    )


def require_scores(method: Method, what: str) -> None:
    if method == "slem":
        raise BadStrategy(
            f"{lacks_scores(what)} Limit the pair to shared tokens: --other-tokenizer tli, or a pair made with that "
            "setting."
        )


def check_scores(method: Method, choices: Iterable[Choice]) -> None:
    """Refuse choices that cannot run with this method."""
    for choice in choices:
        if choice.spec.needs_scores:
            require_scores(method, choice.label)
