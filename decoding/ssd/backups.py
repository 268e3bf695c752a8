"""What is drafted after a miss without asking the draft model: what followed the same words before, or just anything.

Neither was drawn from a distribution that anybody knows, so it is judged as certain. That is exact at every
temperature, since neither looks at what the target is going to say.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoding import chance
from decoding.disco.echoes import Echoes

RECENT = 4  # tokens by which a place is told from others


def echoed(echoes: Echoes, count: int) -> list[int]:
    """What followed the text's last words when they last stood there, one token after another: the longest likeness
    first. Fewer where the text has never said the like."""
    going = echoes.fork()
    found: list[int] = []
    while len(found) < count and (token := going.next()) is not None:
        found.append(token)
        going.take(token)
    return found


def random_tokens(seed: int, text: Sequence[int], count: int, vocab: int) -> list[int]:
    """Anything, but the same at the same place. From the draft's own coins, which no verdict uses."""
    place = chance.digest([len(text), *text[-RECENT:]])
    return [int(chance.uniform(seed, "draft", chance.digest([i], place)) * vocab) for i in range(count)]
