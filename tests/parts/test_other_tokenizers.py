"""A draft with another tokenizer: whatever it reads and says, the text stays the target's."""

from __future__ import annotations

import math

import pytest
import torch

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.models.runner import rewind_to
from decoding.trace.events import Drafted
from decoding.vocabularies.shared import Method
from tests.kit.table import TableRunner
from tests.kit.worlds import World
from tests.laws.tokenizers import LETTERS, OTHERS, bridge, bridged, spelling

GREEDY = Sampling(max_new_tokens=40)
SHARED = Sampling(temperature=1.0, dice="shared", max_new_tokens=40)


def test_a_translated_draft_says_only_shared_tokens_and_their_probabilities_add_up() -> None:
    made = bridged(LETTERS, OTHERS, "tli")
    assert made.bridge
    known = set(made.bridge.shared.to_target.values())
    for sampling in (SHARED, Sampling(temperature=1.0, dice="ratio", max_new_tokens=40)):
        _, recorder = made.run(choose("static", {"lookahead": 4}), [0], sampling, seed=1)
        drafts = [event for event in recorder.events if isinstance(event, Drafted)]
        assert drafts and all(set(draft.tokens) <= known for draft in drafts)
    logits = made.draft.extend([0, 9, 3])
    assert {n for n, value in enumerate(logits[0].tolist()) if value > -math.inf} == known
    assert math.isclose(float(torch.softmax(logits, -1).sum()), 1.0)


def test_a_token_that_the_draft_lacks_is_read_as_several_wherever_the_text_is_cut() -> None:
    text = [9, 0, 10, 11, 2, 9, 1]  # abc a cd hh c abc b
    made = bridged(LETTERS, OTHERS, "tli")
    whole = made.draft.extend(text, 7).clone()
    inner = made.draft.inner  # type: ignore[attr-defined]
    assert OTHERS.bytes_of(inner.tokens) == LETTERS.bytes_of(text)
    for cut in range(1, 7):
        made.draft.rewind(0)
        rows = [made.draft.extend(text[:cut], cut), made.draft.extend(text[cut:], 7 - cut)]
        torch.testing.assert_close(torch.cat(rows), whole)
        made.draft.rewind(cut)
        torch.testing.assert_close(made.draft.extend(rewind_to(made.draft, text, 7 - cut), 7 - cut), whole[cut:])


def test_a_policy_learns_how_many_of_the_drafts_own_tokens_were_accepted() -> None:
    """The heuristic asks for two more after a draft that was accepted whole, else for one less."""
    draft = spelling("c", "b", "a")
    made = bridge(LETTERS, draft, "slem")
    chain = torch.full((3, 3), -9.0)
    chain[0, 2] = chain[2, 1] = chain[1, 0] = 9.0
    always = TableRunner(torch.eye(12)[[9] * 12])  # abc for ever
    _, recorder = World(always, TableRunner(chain), bridge=made).run(choose("heuristic", {"initial": 3}), [2], GREEDY)
    asked = [event.lookahead for event in recorder.events if isinstance(event, Drafted)]
    first = next(event for event in recorder.events if isinstance(event, Drafted))
    assert (first.tokens, first.passes, first.confidence) == ((9,), 3, ())  # the target's token for all three
    assert asked[:3] == [3, 5, 4]  # of "abc" and "ab", the second was no "abc"


@pytest.mark.parametrize("method", ["tli", "slem"])
def test_the_drafts_end_token_proposes_the_targets(method: Method) -> None:
    target, draft = (spelling(*tokens, specials=[tokens[-1]]) for tokens in (("a", "b", "</s>"), ("b", "a", "<end>")))
    made = bridge(target, draft, method, ends=3)
    chain = torch.full((3, 3), -9.0)
    chain[0, 2] = chain[1, 0] = chain[2, 2] = 9.0  # a -> b -> end
    theirs = chain[:, [1, 0, 2]][[1, 0, 2]]
    own = TableRunner(chain)
    found = World(TableRunner(theirs), own if method == "slem" else made.over(own), frozenset({2}), bridge=made)
    decoded, recorder = found.run(choose("static", {"lookahead": 5}), [0], GREEDY)
    assert (decoded.tokens, decoded.reason) == ([1, 2], "eos")
    [drafted] = [event for event in recorder.events if isinstance(event, Drafted)]
    assert (drafted.tokens, drafted.stop) == ((1, 2), "eos")
