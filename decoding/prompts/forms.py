"""Forms of known data sets' rows, and the text that each row becomes for the target to continue.

All are raw text: no chat template and no beginning-of-text token, as in the published experiments.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from decoding.errors import BadPrompts

Row = Mapping[str, Any]
MOST_NAMED = 20  # columns in a sentence


class BrokenRow(Exception):
    """Reason why one row is no prompt."""


@dataclass(frozen=True, slots=True)
class Form:
    """Rows of one data set, and how one becomes a text. `template` describes it for people; `text` does it."""

    slug: str
    title: str
    columns: tuple[frozenset[str], ...]  # a row has this form if it has all columns of one of these sets
    template: str
    origin: str  # source of the template
    text: Callable[[Row], str]
    reference: Callable[[Row], str]


def _word(row: Row, *names: str) -> str:
    """First of these columns that the row has, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            raise BrokenRow(f"its {name!r} is not text")
    raise BrokenRow(f"it has no {' or '.join(map(repr, names))}")


def _words(row: Row, name: str) -> list[str]:
    """Column that holds a list of texts, in any container."""
    value = row.get(name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BrokenRow(f"its {name!r} is not a list")
    words = list(value)
    if not words or not all(isinstance(word, str) for word in words):
        raise BrokenRow(f"its {name!r} holds no text")
    return words


def optional(*names: str) -> Callable[[Row], str]:
    return lambda row: next((str(row[name]) for name in names if row.get(name) is not None), "")


def _first(name: str) -> Callable[[Row], str]:
    return lambda row: _words(row, name)[0] if row.get(name) is not None and len(row[name]) else ""


def _mbpp(row: Row) -> str:
    return f'"""\n{_word(row, "text", "prompt")}\n{_words(row, "test_list")[0]}\n"""\n'


def _alpaca(row: Row) -> str:
    context = optional("input")(row)
    return _word(row, "instruction") + (f"\n\n{context}" if context.strip() else "")


def _cnn_dailymail(row: Row) -> str:
    return f"Summarize:\n{_word(row, 'article').strip()}\nSummary:\n"


def _columns(*sets: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in sets)


FORMS = {
    form.slug: form
    for form in (
        Form(
            "humaneval",
            "HumanEval",
            _columns("prompt canonical_solution entry_point"),
            "{prompt}",
            "as published, and as in the SSD experiments",
            lambda row: _word(row, "prompt"),
            optional("canonical_solution"),
        ),
        Form(
            "mbpp",
            "MBPP",
            _columns("text code test_list", "prompt code test_list"),
            '"""\n{text}\n{first of test_list}\n"""\n',
            "the docstring form in which completion models such as StarCoder are usually evaluated; DISCO's is unknown",
            _mbpp,
            optional("code"),
        ),
        Form(
            "cnn-dailymail",
            "CNN/DailyMail",
            _columns("article highlights"),
            "Summarize:\n{article}\nSummary:\n",
            "the DISCO authors' later benchmark code (distributed speculative inference); DISCO's is unknown",
            _cnn_dailymail,
            optional("highlights"),
        ),
        Form(
            "alpaca",
            "Alpaca",
            _columns("instruction output"),
            "{instruction}\n\n{input}, or {instruction} alone where there is no input",
            "the SSD experiments' data script",
            _alpaca,
            optional("output"),
        ),
        Form(
            "ultrafeedback",
            "UltraFeedback",
            _columns("instruction completions", "prompt chosen rejected"),
            "{instruction}, in the binarized edition {prompt}",
            "the SSD experiments' data script",
            lambda row: _word(row, "instruction", "prompt"),
            lambda row: "",
        ),
        Form(
            "gsm8k",
            "GSM8K",
            _columns("question answer"),
            "{question}",
            "the SSD experiments' data script",
            lambda row: _word(row, "question"),
            optional("answer"),
        ),
        Form(
            "spec-bench",
            "Spec-Bench",
            _columns("turns category"),
            "{first of turns}",
            "Spec-Bench's question.jsonl; a prompt is continued once, so later turns are left out",
            lambda row: _words(row, "turns")[0],
            _first("reference"),
        ),
        Form(
            "plain",
            "Prompts",
            _columns("text", "prompt"),
            "{text}, or {prompt}",
            "our own columns: text, and optionally id, category, split, reference",
            lambda row: _word(row, "text", "prompt"),
            optional("reference"),
        ),
    )
}


def named(form: str) -> Form:
    if form not in FORMS:
        raise BadPrompts(f"There is no prompt form {form!r}; there are {', '.join(FORMS)}.")
    return FORMS[form]


def form_of(row: Row) -> Form | None:
    """Return the form that has these columns."""
    return next((form for form in FORMS.values() if any(columns <= row.keys() for columns in form.columns)), None)


def recognised(row: Row, name: str) -> Form:
    if (form := form_of(row)) is not None:
        return form
    raise BadPrompts(
        f"{name} has the columns {_listed(row)}, and none of them is known to hold prompts. "
        f"Choose the column that does, name it text, or choose one of the forms {', '.join(FORMS)}."
    )


def _listed(row: Row) -> str:
    names = [str(name)[:40] for name in itertools.islice(row, MOST_NAMED)]
    return ", ".join(names) + (f" and {len(row) - MOST_NAMED:,} more" if len(row) > MOST_NAMED else "")
