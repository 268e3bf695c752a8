"""Copies as drafts after a miss. Standard library only.

No model makes them, so they were not drawn from a known distribution. A verdict judges each token as a certain
proposal: q is 1. That is exact at every temperature, because no copy looks at what the target will say. The same holds
for random tokens (`backups`) and for the n-gram draft (`policy.ssd_policy.ngram_tokens`).
"""

from __future__ import annotations

from decoding.drafting.source import Copying, Judges
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.strategies.suffix import SuffixDecoding

SURE = 0.3  # least probability that all copied tokens are accepted


def copier(settings: SpeculatorSettings, judge: Judges | None = None) -> Copying | None:
    """Make the source of a backup that copies: it proposes what follows the longest repeated context, if it is likely
    to be accepted. It looks beyond the draft that the target verifies, to the next one. `judge` estimates each copied
    token in place of the formula."""
    return SuffixDecoding(SURE, 2 * settings.lookahead + 1, judge) if settings.backup.startswith("copy") else None
