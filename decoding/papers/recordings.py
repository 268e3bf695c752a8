"""Recordings of a study: texts at several temperatures, the draft along them, and the outcomes that follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.papers.chances import outcomes_of
from decoding.papers.outcomes import Outcomes
from decoding.papers.settings import HELD_BACK
from decoding.papers.shelf import Shelf, StudyCancelled
from decoding.prompts.prompt import PromptItem
from decoding.replay import planning
from decoding.replay.planning import RecordedSet
from decoding.replay.ssd.playing import Track
from decoding.replay.ssd.recording import track_of

RECORDING_ALSO = "recording the other set"
OnProgress = Callable[[str, int, int], None]  # phase, samples done, samples due


def recording(temperature: float) -> str:
    """Name of a phase."""
    return f"recording at temperature {temperature:g}"


def outcomes_name(temperature: float, constants: Sequence[float]) -> str:
    """Name on the shelf."""
    return f"outcomes {temperature:g} {' '.join(f'{c:g}' for c in constants)}"


@dataclass(frozen=True)
class PromptSet:
    name: str
    prompts: Sequence[PromptItem] = ()


@dataclass
class Recordings:
    pair: ModelPair
    prompts: Sequence[PromptItem]
    sampling: Sampling  # of DISCO's figures; SSD's have temperatures of their own
    shelf: Shelf
    on_progress: OnProgress = lambda phase, done, due: None
    cancelled: Callable[[], bool] = never
    own_set: str = "these prompts"  # name of their set
    also: PromptSet = PromptSet("")  # further prompts, of another set

    @cached_property
    def also_study(self) -> RecordedSet:
        """Recordings of the further prompts."""
        return self._recorded(RECORDING_ALSO, self.sampling, tails=True, prompts=self.also.prompts, shelved="also ")

    @cached_property
    def study(self) -> RecordedSet:
        """Recordings at the study's own sampling, with what a refused draft would have gone on with."""
        return self._recorded("recording", self.sampling, tails=True)

    def at(self, temperature: float) -> Sampling:
        """The study's sampling at another temperature, with dice that fix the text."""
        return dataclasses.replace(self.sampling, temperature=temperature, dice="shared")

    def texts_at(self, temperature: float) -> RecordedSet:
        if temperature not in self._texts:
            self._texts[temperature] = self._recorded(recording(temperature), self.at(temperature), tails=False)
        return self._texts[temperature]

    @cached_property
    def _texts(self) -> dict[float, RecordedSet]:
        return {}

    def _recorded(
        self, phase: str, sampling: Sampling, *, tails: bool, prompts: Sequence[PromptItem] = (), shelved: str = ""
    ) -> RecordedSet:
        """Record each prompt. Texts that are kept are not written again."""
        prompts = prompts or self.prompts
        due, name = len(prompts), f"{shelved}texts {sampling.temperature:g} {sampling.dice}"
        known = self.shelf.read(name) if sampling.fixes_the_text else None
        found = planning.study(
            self.pair,
            prompts,
            sampling,
            tails=tails,
            texts=known or {},
            on_progress=lambda done: self.on_progress(phase, done, due),
            cancelled=self.cancelled,
        )
        self._require_whole()
        if known is None:
            self.shelf.write(name, {r.prompt: list(r.tokens[r.prompt_tokens :]) for r in found.recordings})
        return found

    def outcomes(self, temperature: float) -> list[Outcomes]:
        """Outcomes of each prompt at this temperature."""
        return self.outcomes_held_back(temperature, (1.0,))[1.0]

    def outcomes_held_back(self, temperature: float, constants: Sequence[float]) -> dict[float, list[Outcomes]]:
        """The same for constants of Saguaro sampling."""
        rows = self._kept(outcomes_name(temperature, constants), lambda: self._outcomes(temperature, constants))
        return {c: [Outcomes(**row[i]) for row in rows] for i, c in enumerate(constants)}

    def _outcomes(self, temperature: float, constants: Sequence[float]) -> list[list[dict[str, Any]]]:
        rows, draft = [], self.pair.require_draft("Hits of SSD")
        for recording in self.texts_at(temperature).recordings:
            self._require_whole()
            tokens, text = recording.tokens[: recording.prompt_tokens], recording.tokens[recording.prompt_tokens :]
            found = outcomes_of(self.pair.target, draft, tokens, text, self.at(temperature), constants, HELD_BACK)
            rows.append([found[constant].to_dict() for constant in constants])
        return rows

    @cached_property
    def tracks(self) -> list[Track]:
        """Greedy texts for the simulator."""
        return [track_of(recording) for recording in self.texts_at(0.0).recordings]

    def _kept(self, name: str, make: Callable[[], Any]) -> Any:
        if (kept := self.shelf.read(name)) is None:
            kept = make()
            self._require_whole()
            self.shelf.write(name, kept)
        return kept

    def _require_whole(self) -> None:
        if self.cancelled():
            raise StudyCancelled
