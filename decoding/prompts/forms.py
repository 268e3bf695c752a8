"""Forms of known data sets' rows, and the text that each row becomes for the target to continue.

Some are raw text: no chat template and no beginning-of-text token, as in the published experiments. Others are chats,
and the target's chat template makes the text.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from decoding.errors import BadPrompts
from decoding.prompts import chats
from decoding.prompts.rows import BrokenRow, Row, columns, optional, word, words

MOST_NAMED = 20  # columns in a sentence


def _contents(row: Row) -> str:
    """Read a chat of any form as plain text."""
    read = (form.turns for form in FORMS.values() if form.turns and any(names <= row.keys() for names in form.columns))
    turns = next((turns(row) for turns in read), None)
    if turns is None:
        raise BrokenRow("it has no messages")
    return turns[0].chat.text if turns else chats.completion(row)


@dataclass(frozen=True, slots=True)
class RowForm:
    """Rows of one data set, and how one becomes a text. `template` describes it for people; `text` does it."""

    slug: str
    title: str
    columns: tuple[frozenset[str], ...]  # a row has this form if it has all columns of one of these sets
    template: str
    text: Callable[[Row], str] = _contents
    reference: str = ""  # column of the authors' answer
    turns: chats.Turns | None = None  # of a chat; `text` and `reference` are for a row that has none
    is_log: bool = False  # whether a row may say when it was sent, and how long an answer it asked for


def _mbpp(row: Row) -> str:
    """Write the docstring form in which completion models such as StarCoder are evaluated. DISCO's is unknown."""
    return f'"""\n{word(row, "text", "prompt")}\n{words(row, "test_list")[0]}\n"""\n'


def _alpaca(row: Row) -> str:
    context = optional(row, "input")
    return word(row, "instruction") + (f"\n\n{context}" if context.strip() else "")


def _cnn_dailymail(row: Row) -> str:
    """Write the prompt of the DISCO authors' later benchmark code. DISCO's own is unknown."""
    return f"Summarize:\n{word(row, 'article').strip()}\nSummary:\n"


FORMS = {
    form.slug: form
    for form in (
        RowForm(
            "humaneval",
            "HumanEval",
            columns("prompt canonical_solution entry_point"),
            "{prompt}",
            lambda row: word(row, "prompt"),
            "canonical_solution",
        ),
        RowForm(
            "mbpp",
            "MBPP",
            columns("text code test_list", "prompt code test_list"),
            '"""\n{text}\n{first of test_list}\n"""\n',
            _mbpp,
            "code",
        ),
        RowForm(
            "cnn-dailymail",
            "CNN/DailyMail",
            columns("article highlights"),
            "Summarize:\n{article}\nSummary:\n",
            _cnn_dailymail,
            "highlights",
        ),
        RowForm(
            "alpaca",
            "Alpaca",
            columns("instruction output"),
            "{instruction}\n\n{input}, or {instruction} alone where there is no input",
            _alpaca,
            "output",
        ),
        RowForm(
            "ultrafeedback",
            "UltraFeedback",
            columns("instruction completions", "prompt chosen rejected"),
            "{instruction}, in the binarized edition {prompt}",
            lambda row: word(row, "instruction", "prompt"),
        ),
        RowForm(
            "gsm8k",
            "GSM8K",
            columns("question answer"),
            "{question}",
            lambda row: word(row, "question"),
            "answer",
        ),
        RowForm(
            "spec-bench",
            "Spec-Bench, MT-Bench, SPEED-Bench",
            columns("turns"),
            "chat: each of {turns} follows the model's own answer to the one before",
            turns=chats.questions,
        ),
        RowForm(
            "sharegpt",
            "ShareGPT",
            columns("conversations"),
            "chat: the messages from human in {conversations}, each after the model's own answer",
            turns=chats.sharegpt,
        ),
        RowForm(
            "openai-log",
            "OpenAI request log",
            columns("body custom_id", "body timestamp", "body url"),
            "chat: {body.messages} with {body.tools}; {body.prompt} as it is",
            chats.completion,
            turns=chats.messages,
            is_log=True,
        ),
        RowForm(
            "messages",
            "Chat messages",
            columns("messages"),
            "chat: {messages} with {tools}; a last message of the assistant is the reference",
            turns=chats.messages,
            is_log=True,
        ),
        RowForm(
            "chat-as-text",
            "Chat as plain text",
            (),
            "the contents of the first turn's messages, without roles and without a chat template",
        ),
        RowForm(
            "plain",
            "Prompts",
            columns("text", "prompt"),
            "{text}, or {prompt}",
            lambda row: word(row, "text", "prompt"),
            "reference",
        ),
    )
}


def named(form: str) -> RowForm:
    if form not in FORMS:
        raise BadPrompts(f"There is no prompt form {form!r}; there are {', '.join(FORMS)}.")
    return FORMS[form]


def form_of(row: Row) -> RowForm | None:
    """Return the form that has these columns."""
    return next((form for form in FORMS.values() if any(columns <= row.keys() for columns in form.columns)), None)


def recognised(row: Row, name: str) -> RowForm:
    if (form := form_of(row)) is not None:
        return form
    names = ", ".join(str(column)[:40] for column in itertools.islice(row, MOST_NAMED))
    raise BadPrompts(
        f"{name} has the columns {names}, and none of them is known to hold prompts. "
        f"Choose the column that does, name it text, or choose one of the forms {', '.join(FORMS)}."
    )
