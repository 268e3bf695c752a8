"""Drafts that no model makes, after a miss.

They were not drawn from a known distribution, so a verdict judges each token as a certain proposal: q is 1. That is
exact at every temperature, because none of them looks at what the target will say. The n-gram draft needs only the text
(`policy.ssd_policy.ngram_tokens`).
"""

from __future__ import annotations

from collections.abc import Sequence

from decoding import chance
from decoding.proposing import Proposer
from decoding.ssd.settings import Settings
from decoding.strategies import suffix

SURE = 0.3  # least probability that all copied tokens are accepted
RECENT = 4  # last tokens of the text that identify a position, with its length


def copier(settings: Settings) -> Proposer | None:
    """Make the proposer of a backup that copies: it proposes what follows the longest repeated context, if it is likely
    to be accepted. It looks beyond the draft that the target verifies, to the next one."""
    return suffix.SuffixDecoding(SURE, 2 * settings.lookahead + 1) if settings.backup.startswith("copy") else None


def random_tokens(seed: int, text: Sequence[int], count: int, vocab: int) -> list[int]:
    """Random tokens, the same at the same position of the same text. They use the draft's coins, as no verdict does."""
    position = chance.digest([len(text), *text[-RECENT:]])
    return [int(chance.uniform(seed, "draft", chance.digest([i], position)) * vocab) for i in range(count)]
