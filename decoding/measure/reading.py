"""Reading: each prompt of a comparison as the target reads it. A later turn follows the baseline's earlier answers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress

from decoding.backends.contestants.base import Backend
from decoding.core.ending import Ending
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt
from decoding.measure.sample import SampleResult
from decoding.prompts.chat.messages import Message
from decoding.prompts.prompt import PromptItem, messages_to, turns_to
from decoding.strategies import BASELINE


class PromptReader:
    def __init__(self, pair: Backend, prompts: Sequence[PromptItem], sampling: Sampling) -> None:
        self._pair = pair
        self._prompts = {prompt.id: prompt for prompt in prompts}
        self._ending = Ending(frozenset(), sampling.stop, pair.tokenizer.decode if pair.tokenizer else None)
        self._new_tokens = sampling.max_new_tokens
        self._baselines: dict[tuple[str, int], SampleResult] = {}  # by prompt and repeat
        self._texts: dict[tuple[str, int], str] = {}
        self._tokens: dict[tuple[str, int], list[int]] = {}

    def answered(self, sample: SampleResult) -> None:
        """Keep a sample of the baseline: the first of its prompt and repeat is the one that counts."""
        self._baselines.setdefault((sample.prompt, sample.repeat), sample)

    def baseline(self, prompt: str, repeat: int) -> SampleResult | None:
        return self._baselines.get((prompt, repeat))

    def conversation(self, prompt: PromptItem) -> str:
        """Return the id of a later turn's first turn; for a first turn, nothing."""
        return turns_to(prompt, self._prompts)[0].id if prompt.follows else ""

    def text(self, prompt: PromptItem, repeat: int = 0) -> str:
        """Return the prompt as text. The target's template makes that of a chat, after the answers to earlier turns."""
        if prompt.chat is None:
            return prompt.text
        at = prompt.id, repeat if prompt.follows else 0
        if at not in self._texts:
            try:
                self._texts[at] = self._rendered(prompt, repeat)
            except BadPrompt as refusal:
                raise BadPrompt(f"Prompt {prompt.id}: {refusal}") from None
        return self._texts[at]

    def of_chat(self, prompt: PromptItem, repeat: int, tokens: Sequence[int]) -> tuple[str, str]:
        """Return what a sample of the baseline keeps of a chat: the prompt, once, and the answer up to its end."""
        if prompt.chat is None:
            return "", ""
        answer = itertools.takewhile(lambda token: token not in self._pair.end_tokens, tokens)
        rendered = self.text(prompt, repeat) if repeat == 0 else ""
        return rendered, self._ending.text(list(answer))

    def tokens(self, prompt: PromptItem, repeat: int = 0) -> list[int]:
        """Encode the prompt; no tokens if no model is here. Refuse one that is empty or too long, and name it."""
        text, at = self.text(prompt, repeat), (prompt.id, repeat if prompt.follows else 0)
        if self._pair.target is None or self._pair.tokenizer is None:
            return []
        if at not in self._tokens:
            tokens = self._pair.tokenizer.encode(text)
            room = self._pair.target.context
            if not tokens:
                raise BadPrompt(f"Prompt {prompt.id} is empty, so there is nothing to continue; remove it.")
            if len(tokens) >= room:
                raise BadPrompt(
                    f"Prompt {prompt.id} has {len(tokens)} tokens and the target holds {room}, which leaves no room "
                    "for an answer; shorten it, leave it out, or take a target with a longer context."
                )
            self._tokens[at] = tokens
        return self._tokens[at]

    def longest(self) -> int:
        """Tokens that prompt and answer of the longest text have at most; 0 if a later turn follows an answer that is
        not known yet."""
        lengths = [0]
        for prompt in self._prompts.values():
            if prompt.follows:
                return 0
            with suppress(BadPrompt):
                lengths.append(len(self.tokens(prompt)))
        return max(lengths) + self._new_tokens

    def _rendered(self, prompt: PromptItem, repeat: int) -> str:
        if self._pair.renderer is None or prompt.chat is None:
            raise BadPrompt(
                "No chat template is here, since no target is. Read the prompts with the form chat-as-text."
            )
        return self._pair.renderer.render(self._messages(prompt, repeat), prompt.chat.tools)

    def _messages(self, prompt: PromptItem, repeat: int) -> list[Message]:
        """Return the conversation up to this turn. Every strategy continues the baseline's answers, so that all read
        the same prompt."""
        return messages_to(turns_to(prompt, self._prompts), lambda turn: self._answer(turn, repeat))

    def _answer(self, turn: PromptItem, repeat: int) -> str:
        if (found := self.baseline(turn.id, repeat)) is None:
            raise BadPrompt(f"It follows {BASELINE}'s answer to prompt {turn.id}, and there is none.")
        return found.answer
