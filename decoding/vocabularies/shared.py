"""The tokens that two vocabularies share, and how much of a text they are. Standard library only: the web process
counts them when a pair is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from decoding.choice import Choice
from decoding.errors import BadStrategy
from decoding.vocabularies import sample
from decoding.vocabularies.spelling import Spelling, cut

Method = Literal["tli", "slem"]  # token-level intersection, string-level exact match
METHODS = ("auto", "tli", "slem")

ENOUGH = 0.8  # of a sample text's tokens: with fewer, SLEM may accept more than TLI (docs/decisions/0047)


@dataclass(frozen=True)
class SharedTokens:
    """Tokens of a draft that write the same as one of the target's. End tokens count as the same."""

    target: Spelling
    draft: Spelling
    to_target: dict[int, int]  # the draft's id -> the target's

    @property
    def count(self) -> int:
        return len(self.to_target)

    @cached_property
    def of_target_text(self) -> float:
        """Share of a sample text's tokens, as the target cuts it. TLI can draft no others, so it bounds acceptance."""
        return _share(self.target, set(self.to_target.values()))

    @property
    def usual_method(self) -> Method:
        return "tli" if self.of_target_text >= ENOUGH else "slem"

    def method(self, asked: str) -> Method:
        """Return the method that drafts. `asked` is one of METHODS."""
        return "tli" if asked == "tli" else "slem" if asked == "slem" else self.usual_method

    def in_words(self) -> str:
        sizes = f"the draft's {self.draft.size:,} tokens"
        if not self.count:
            return (
                f"None of {sizes} writes what one of the target's {self.target.size:,} does (0 %), so the draft can "
                "propose nothing. Choose a draft of the target's own family."
            )
        return (
            f"The target shares {self.count:,} of {sizes}. They are about {100 * self.of_target_text:.3g} % of the "
            "target's tokens in a sample text, which is the most that can be accepted of a draft that says only shared "
            f"tokens (TLI). {_USUALLY[self.usual_method]}"
        )


_USUALLY = {
    "tli": "That is enough: by default this draft does so.",
    "slem": "That is little: by default this draft says any text, and the target's tokenizer cuts it anew (SLEM).",
}


def shared(
    target: Spelling, draft: Spelling, target_ends: Collection[int] = (), draft_ends: Collection[int] = ()
) -> SharedTokens:
    ids = target.ids
    found = {number: ids[text] for text, number in draft.ids.items() if text in ids}
    named = {name: number for number, name in target.specials.items()}
    found |= {number: named[name] for number, name in draft.specials.items() if name in named}
    taken = set(found.values())
    for ours in sorted(set(draft_ends) - found.keys()):
        theirs = next((end for end in sorted(target_ends) if end not in taken), None)
        if theirs is not None:
            found[ours] = theirs
            taken.add(theirs)
    return SharedTokens(target, draft, found)


def _share(spelling: Spelling, ids: Collection[int]) -> float:
    """Share of the sample's tokens. It is cut into the longest tokens, because the web process loads no tokenizer."""
    tokens = list(cut(spelling, sample.TEXT.encode()))
    return sum(token in ids for token in tokens) / len(tokens)


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
    """Refuse what needs the draft's scores of the target's tokens, if there are none."""
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
