"""Check whether a draft fits a target, when the pair is made. Standard library only: the web uses it.

Exactness never depends on the draft. If an id does not mean the same to both models, the draft is translated, and some
tokens must write the same in both; everything else is a remark. A target alone is a pair too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from decoding.errors import BadPair
from decoding.models.folder import ModelFolder, inspect
from decoding.models.gguf.origin import about_speed
from decoding.models.tokenizer_files import TokenizerFacts, read_tokenizer
from decoding.vocabularies.shared import ABOUT_COPIES, SharedTokens, shared
from decoding.vocabularies.spelling import spelling_of


@dataclass(frozen=True)
class PairFinding:
    level: Literal["fits", "remark", "misfit"]
    topic: str
    sentence: str
    shared: SharedTokens | None = None  # what the sentence is about


fits, remark, misfit = (partial(PairFinding, level) for level in ("fits", "remark", "misfit"))


@dataclass(frozen=True)
class PairReport:
    target: ModelFolder
    draft: ModelFolder | None  # None: a target alone
    findings: tuple[PairFinding, ...]

    @property
    def shared(self) -> SharedTokens | None:
        """The tokens that both have, if an id does not mean the same to both."""
        return next((finding.shared for finding in self.findings if finding.shared), None)

    def draft_left_out(self, asked: str) -> str:
        """Say why studies and trainings take the target alone; empty if they do not. `asked` is one of METHODS."""
        return ABOUT_COPIES if self.shared and self.shared.method(asked) == "slem" else ""

    @property
    def fits(self) -> bool:
        return all(finding.level != "misfit" for finding in self.findings)

    def require(self) -> None:
        """Raise BadPair if anything is wrong."""
        if not self.fits:
            raise BadPair(" ".join(found.sentence for found in self.findings if found.level == "misfit"))


def check_pair(target: Path | str | ModelFolder, draft: Path | str | ModelFolder | None) -> PairReport:
    """Compare two model folders, or look at a target alone. A folder that cannot be used at all raises
    BadCheckpoint."""
    models = inspect(target), inspect(draft) if draft else None
    return PairReport(*models, tuple(_findings(*models)))


def _findings(target: ModelFolder, draft: ModelFolder | None) -> Iterator[PairFinding]:
    yield from _origins(target, draft)
    if draft is None:
        read_tokenizer(target.path)  # refuses a broken one now, not when a text is to be read
        yield remark("draft", "There is no draft: strategies that need a draft model cannot run.")
        yield from _ends(target)
        yield from _contexts([target])
        return
    yield from _tokenizers(target, draft)
    yield from _contexts([target, draft])
    yield _sizes(target, draft)


def _origins(target: ModelFolder, draft: ModelFolder | None) -> Iterator[PairFinding]:
    for role, model in (("target", target), ("draft", draft)):
        if model and model.origin:
            yield remark(f"{role} from GGUF", about_speed(role, str(model.origin)))


def _tokenizers(target: ModelFolder, draft: ModelFolder) -> Iterator[PairFinding]:
    theirs, ours = read_tokenizer(target.path), read_tokenizer(draft.path)
    if difference := _difference(target, draft, theirs, ours):
        yield remark("tokenizer", difference)
        spellings = spelling_of(theirs, target.vocab_size), spelling_of(ours, draft.vocab_size)
        found = shared(*spellings, target.end_tokens, draft.end_tokens)
        yield (remark if found.count else misfit)("shared tokens", found.in_words(), found)
    else:
        yield _names(theirs, ours)
        if target.vocab_size != draft.vocab_size:
            known = f"{min(target.vocab_size, draft.vocab_size):,} are shared"
            told = f"The vocabularies differ by padding alone: {_outputs(target, draft)}; {known}."
            yield fits("vocabulary", told)
    yield from _habits(target, draft, theirs, ours)


def _difference(target: ModelFolder, draft: ModelFolder, theirs: TokenizerFacts, ours: TokenizerFacts) -> str:
    """Say why the two cannot read each other's ids. Empty if they can."""
    by_id = {number: token for token, number in theirs.ids.items()}
    clashes = [(n, by_id[n], token) for token, n in ours.ids.items() if n in by_id and by_id[n] != token]
    if clashes:
        number, in_target, in_draft = min(clashes)
        return (
            f"The tokenizers differ: {len(clashes):,} ids mean different things; {number} is {in_target!r} to the "
            f"target and {in_draft!r} to the draft."
        )
    if theirs.merges != ours.merges:
        return (
            f"The tokenizers merge their tokens differently: the target's has {len(theirs.ids):,} tokens and "
            f"{len(theirs.merges):,} merges, the draft's {len(ours.ids):,} and {len(ours.merges):,}."
        )
    known = min(target.vocab_size, draft.vocab_size)
    lost = sorted((number, token) for token, number in {**ours.ids, **theirs.ids}.items() if number >= known)
    if lost:
        which = f"{len(lost):,} tokens, {lost[0][1]!r} first"
        return f"{which}, have ids that not both models know: {_outputs(target, draft)}."
    return ""


def _names(theirs: TokenizerFacts, ours: TokenizerFacts) -> PairFinding:
    if theirs.ids == ours.ids:
        return fits("tokenizer", f"Both have the same {len(ours.ids):,} tokens.")
    only = sorted(set(theirs.ids.items()) ^ set(ours.ids.items()), key=lambda item: item[1])
    which = f"{len(only):,} tokens are named by one only, {only[0][0]!r} first"
    return remark("tokenizer", f"The tokenizers agree wherever both name a token; {which}.")


def _outputs(target: ModelFolder, draft: ModelFolder) -> str:
    return f"the target has {target.vocab_size:,} outputs and the draft {draft.vocab_size:,}"


def _habits(
    target: ModelFolder, draft: ModelFolder, theirs: TokenizerFacts, ours: TokenizerFacts
) -> Iterator[PairFinding]:
    if theirs.specials != ours.specials:
        odd = ", ".join(sorted(theirs.specials ^ ours.specials)[:3])
        yield remark("special tokens", f"Special tokens differ ({odd}); the target's are used.")
    yield from _ends(target)
    if target.end_tokens != draft.end_tokens:
        ends = " and ".join(str(sorted(model.end_tokens)) for model in (target, draft))
        yield remark("special tokens", f"The end tokens differ ({ends}); a text ends where the target ends it.")


def _ends(target: ModelFolder) -> Iterator[PairFinding]:
    if strange := sorted(target.named_end_tokens - target.end_tokens):
        which = f"{strange[0]} is none of its {target.vocab_size:,} tokens"
        yield remark("special tokens", f"The target's end token {which}: no text ends with it.")


def _contexts(models: Sequence[ModelFolder]) -> Iterator[PairFinding]:
    who, contexts = "pair" if len(models) > 1 else "target", [model.context for model in models]
    longest = min((context for context in contexts if context), default=0)
    if growing := [model for model in models if model.context != model.made_for]:
        told = (
            f"The {who} holds {longest:,} tokens: past {growing[0].context:,} the rope factors of {growing[0].family} "
            "change with the length of the text, and drafting would change the text."
        )
        yield remark("context", told)
    elif len({*contexts}) > 1:
        target, draft = map(_count, contexts)
        told = f"The target was made for {target} tokens and the draft for {draft}; together they hold {longest:,}."
        yield remark("context", told)
    else:
        made = "Both were" if len(models) > 1 else "It was"
        yield fits("context", f"{made} made for {_count(contexts[0])} tokens.")


def _sizes(target: ModelFolder, draft: ModelFolder) -> PairFinding:
    if target.fingerprint == draft.fingerprint:
        return remark("size", "Target and draft are the same model: every draft is accepted, but none saves time.")
    ratio = target.parameters / draft.parameters
    sizes = f"{_rounded(target.parameters)} against {_rounded(draft.parameters)} parameters"
    if ratio < 3:
        told = f"The draft is large for its target ({sizes}): it must be several times smaller to pay."
        return remark("size", told)
    return fits("size", f"The target has {ratio:.0f} times as many parameters as the draft ({sizes}).")


def _count(number: int | None) -> str:
    return "an unstated number of" if number is None else f"{number:,}"


def _rounded(parameters: int) -> str:
    unit, name = next(((unit, name) for unit, name in ((1e9, "B"), (1e6, "M")) if parameters >= unit), (1e3, "K"))
    return f"{parameters / unit:.1f}{name}"
