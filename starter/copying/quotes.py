"""Quotes: a passage, and a text about it that quotes its sentences."""

import random
import re
from collections.abc import Callable, Iterator

from starter.copying.task import Task, digest

SHORTEST, LONGEST = 240, 1000  # characters of a passage
FEWEST, MOST = 30, 220  # characters of a sentence that is quoted
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
SENTENCE = re.compile(r"(?:(?<=[.:?] )|(?<=\n)|\A)[A-Z][^\n]*?\.(?= [A-Z]|\n|\Z)")
NO_PROSE = re.compile(r"\s*(#|\||[-*+] |\d+\. |>|```|~~~|    |<)")


def quotes(source: str, document: str) -> Iterator[Task]:
    """Yield a task of every kind for every passage of a document. Each quotes two sentences of the passage."""
    for passage in passages(document):
        dice = random.Random(digest(source + passage))
        for kind, quoting in KINDS.items():
            first, second = sorted(dice.sample(quotable(passage), 2), key=passage.index)
            opening, answer = quoting(first, second)
            yield Task(f"{passage}\n\n{opening}", f"{answer}\n", kind, source)


def passages(document: str) -> Iterator[str]:
    """Join paragraphs of prose until there is enough to quote; headings, lists, tables and code end a passage."""
    passage = ""
    for block in re.split(r"\n\s*\n", without_fences(document)):
        if NO_PROSE.match(block):
            passage = ""
            continue
        passage = f"{passage}\n\n{unwrapped(block)}" if passage else unwrapped(block)
        if len(passage) > LONGEST:
            passage = ""
        elif len(passage) >= SHORTEST and len(quotable(passage)) >= 3:
            yield passage
            passage = ""


def without_fences(document: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1", "```", document, flags=re.DOTALL | re.MULTILINE)


def unwrapped(block: str) -> str:
    return LINK.sub(r"\1", " ".join(block.split())).replace("**", "")


def quotable(passage: str) -> list[str]:
    """Sentences that a text can quote: not too short, not too long, and without quotation marks of their own."""
    sentences = SENTENCE.findall(passage)
    return [each for each in dict.fromkeys(sentences) if FEWEST <= len(each) <= MOST and '"' not in each]


def summary(first: str, second: str) -> tuple[str, str]:
    return 'A summary in the words of the text:\n\nThe text says: "', f'{first}" It goes on: "{second}"'


def question(first: str, second: str) -> tuple[str, str]:
    asked = " ".join(first.split()[:4]).rstrip(",;:")
    return f'Which sentence of the text begins with "{asked}"? It is: "', f'{first}" Later it says: "{second}"'


def points(first: str, second: str) -> tuple[str, str]:
    return "The two main points, quoted:\n\n-", f" {first}\n- {second}"


KINDS: dict[str, Callable[[str, str], tuple[str, str]]] = {"summary": summary, "question": question, "points": points}
