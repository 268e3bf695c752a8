"""Prompt files of the usual forms, read into prompts. The caller passes text; nothing here opens a file or connection.

A file is a container (`containers`) of rows, and rows have a form (`forms`): our own columns, or those of a published
data set, which the columns identify. A form's template makes the text that the target continues. A chat's text is made
later, by the target's chat template; each turn of a conversation is a prompt.
"""

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from decoding.errors import BadPrompt, BadPrompts
from decoding.prompts import chats
from decoding.prompts.chat.messages import UNFIT, Chat, Message
from decoding.prompts.containers import LONGEST, Placed
from decoding.prompts.containers import rows as rows_of
from decoding.prompts.forms import RowForm, named, recognised
from decoding.prompts.rows import BrokenRow, Row, optional

SPLITS = {"": "", "train": "train", "test": "test"} | dict.fromkeys(("validation", "valid", "val", "dev"), "validation")
LARGEST_PROMPT_FILE = 64 * 1024 * 1024  # bytes
MOST_PROMPTS = 100_000
LONGEST_ID = 200  # characters
IDS = ("id", "task_id", "question_id", "prompt_id", "custom_id")


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One text to continue. `reference` is the answer of the data set's authors, if there is one."""

    id: str
    text: str  # of a chat, its messages' contents, for people
    category: str = ""
    split: str = ""
    reference: str = ""
    chat: Chat | None = field(default=None, hash=False)
    at: float | None = None  # when it was sent, by a log: seconds since 1970
    max_tokens: int | None = None  # the longest answer that it asked for, by a log

    @property
    def turn(self) -> int:
        return self.chat.turn if self.chat else 1

    @property
    def follows(self) -> str:
        """Id of the prompt whose answer comes before this one."""
        return self.chat.follows if self.chat else ""

    @property
    def content(self) -> str:
        """All that the target is asked: two prompts of equal content are the same."""
        return json.dumps(self.chat.to_dict(), sort_keys=True) if self.chat else self.text


def in_turn(prompts: Sequence[PromptItem]) -> list[PromptItem]:
    """Put the later turns of each conversation behind its first one."""
    following = {prompt.follows: prompt for prompt in prompts if prompt.follows}
    ordered: list[PromptItem] = []
    for first in first_turns(prompts):
        turn: PromptItem | None = first
        while turn:
            ordered.append(turn)
            turn = following.pop(turn.id, None)
    return [*ordered, *following.values()]


def turns_to(prompt: PromptItem, by_id: Mapping[str, PromptItem]) -> list[PromptItem]:
    """Return the turns of a conversation up to this one."""
    path = [prompt]
    while follows := path[0].follows:
        if follows not in by_id:
            raise BadPrompt(f"It follows the answer to prompt {follows}, which takes no part.")
        path.insert(0, by_id[follows])
    return path


def messages_to(turns: Sequence[PromptItem], answer: Callable[[PromptItem], str]) -> list[Message]:
    """Return the messages of a conversation up to its last turn, with the answers to those before."""
    messages: list[Message] = []
    for turn in turns:
        messages += turn.chat.messages if turn.chat else ()
        if turn is not turns[-1]:
            messages.append({"role": "assistant", "content": answer(turn)})
    return messages


def first_turns(prompts: Iterable[PromptItem]) -> list[PromptItem]:
    """Return the prompts that follow no answer."""
    return [prompt for prompt in prompts if not prompt.follows]


def read_prompts(text: str, name: str, *, form: str | None = None) -> list[PromptItem]:
    """Read a prompt file. Its content or the ending of `name` gives the container, and the columns give the form unless
    `form` names one."""
    return from_rows(rows_in(text, name), name, form=form)


def rows_in(text: str, name: str) -> Iterator[Placed]:
    """Return the rows of a prompt file, each with its place."""
    text = text.removeprefix("\ufeff")
    if not text or text.isspace():
        raise BadPrompts(f"{name} is empty. Write at least one prompt into it.")
    if "\0" in text:
        raise BadPrompts(f"{name} holds NUL characters, so it is not a text file. Save it as UTF-8 text.")
    return rows_of(text, name)


def decode(data: bytes, name: str, *, is_cut: bool = False) -> str:
    """Decode a file's bytes: UTF-8, or UTF-16 if a byte-order mark says so. The last character of a cut file may be
    cut too: it is left out."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not is_cut)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadPrompts(f"{name}, line {line}: not {encoding[:6].upper().rstrip('-')} text. "
                         "Save the file as UTF-8 and load it again.") from None  # fmt: skip


def from_rows(rows: Iterable[Placed], name: str, *, form: str | None = None) -> list[PromptItem]:
    """Turn rows into prompts. An error says where the first broken row is, why, and how many rows are good."""
    chosen = named(form) if form else None
    prompts: list[PromptItem] = []
    first_at: dict[str, str] = {}
    first_broken, broken_count = None, 0
    for number, (place, row) in enumerate(rows, 1):
        try:
            if isinstance(row, BrokenRow):
                raise row
            chosen = chosen or recognised(row, name)
            found = _read(row, chosen, str(number))
            _require_new(found, first_at)
        except BrokenRow as error:
            first_broken = first_broken or (place, str(error))
            broken_count += 1
        else:
            first_at |= dict.fromkeys((prompt.id for prompt in found), place)
            prompts += found
        if max(number, len(prompts)) > MOST_PROMPTS:
            raise BadPrompts(f"{name} has more than {MOST_PROMPTS:,} rows or turns, the most. Split the file.")
    if first_broken:
        raise BadPrompts(_told(name, *first_broken, broken_count, len(prompts)))
    if not prompts:
        raise BadPrompts(f"{name} holds no prompt. Write at least one into it.")
    return prompts


def _told(name: str, place: str, reason: str, broken_count: int, good_count: int) -> str:
    more = f", as are {broken_count - 1} more" if broken_count > 1 else ""
    good = "1 prompt is good" if good_count == 1 else f"{good_count} prompts are good"
    return f"{name}, {place} is broken{more}: {reason}. {good}. Fix or remove it and load the file again."


def _require_new(found: Iterable[PromptItem], first_at: Mapping[str, str]) -> None:
    for prompt in found:
        if prompt.id in first_at:
            raise BrokenRow(f"its id {prompt.id!r} is that of {first_at[prompt.id]} already")


def _read(row: Row, form: RowForm, number: str) -> list[PromptItem]:
    """Read a row: one prompt, or one for each turn of its conversation."""
    turns = form.turns(row) if form.turns else []
    plain = _prompt(row, turns[0].chat.text if turns else form.text(row), number)
    if form.is_log:
        at, max_tokens = chats.sent(row)
        plain = replace(plain, at=at, max_tokens=max_tokens)
    if not turns:
        return [_checked(replace(plain, reference=optional(row, form.reference)))]
    return [_checked(prompt) for prompt in _conversation(plain, turns)]


def _conversation(first: PromptItem, turns: Sequence[chats.Turn]) -> Iterator[PromptItem]:
    """Yield a prompt for each turn. All but the first follow the answer to the one before."""
    follows = ""
    for number, turn in enumerate(turns, 1):
        id = f"{first.id}#{number}" if number > 1 else first.id
        chat = replace(turn.chat, turn=number, follows=follows)
        yield replace(first, id=id, text=chat.text, reference=turn.reference, chat=chat)
        follows = id


def _prompt(row: Row, text: str, number: str) -> PromptItem:
    split = optional(row, "split").lower()
    if split not in SPLITS:
        raise BrokenRow(f"its split is {split[:40]!r}, which can be train, validation, test or nothing")
    return PromptItem(optional(row, *IDS) or number, text, optional(row, "category"), SPLITS[split])


def _checked(prompt: PromptItem) -> PromptItem:
    if not prompt.text.strip() and not prompt.chat:
        raise BrokenRow("its text is empty")
    if len(prompt.text) > LONGEST:
        raise BrokenRow(f"it has {len(prompt.text):,} characters, more than the {LONGEST:,} of the longest prompt")
    if len(prompt.id) > LONGEST_ID:
        raise BrokenRow(f"its id has {len(prompt.id):,} characters, more than {LONGEST_ID}")
    for column in ("id", "text", "category", "reference"):
        if UNFIT.search(getattr(prompt, column)):
            raise BrokenRow(f"its {column} holds a NUL character or half a surrogate pair; write whole characters")
    return prompt
