"""Question marks beside terms on pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.template import Context, Template, TemplateSyntaxError

from tests.kit.everything import pages
from webapp.docs import library
from webapp.docs.templatetags.help import words_of

ROOT = Path(__file__).parents[3]
CHOICES = re.compile(
    r"<dialog.*?</dialog>|<fieldset class=\"pick-columns\".*?</fieldset>|<details id=\"servers\".*?</details>",
    re.DOTALL,
)
LABELS = ("th", "label", "dt", "legend")
PLAIN = """
Name; Title; Kind; State; Size; File; Files; From; By; Why; Who; What; When; Did; Done; Since; Sent; Made; Added;
Joined; Launched; Submitted; Expires; Teams; Role; Type; Meaning; Body; Query; Columns; Ranges; Actions; Choose;
Shows; Notes; Upload; Revision; No.; Category; Prompt; Prompts; Samples; Strategy; Run; Comparison; Versions;
Address; Key; New key; Servers; deadline; model;
Parameters; Vocabulary; Weights; Architecture; Running; Waiting; Workers; Paused; Pair; Python; Django; added;
architecture; broker; celery; channels; chunk; comparisons; context; cpu; database; debug; disk;
djangorestframework; download; family; format; hosts; https; id; job; kind; launched; layers; machine; memory;
parameters; redis; samples; source; storage; submitted; time; tokens; uvicorn; vocabulary; weights; width; worker;
strategy; Max new tokens; Last here; Signs in as; To what; Trained on; Valid for days; Worth knowing;
Hide prompts and texts, show only numbers; choose a folder; choose files; for the pair; launched from;
Drafthouse; schema; uploads; launched until; model roots; Team; time limit; Worker; number format; team quota;
tokenizer's SHA-256
"""  # labels that everybody who meets them knows


def rendered(source: str = '{% term "what-if" %}', **context: object) -> str:
    return Template(source).render(Context(context))


def test_a_question_mark_gives_the_glossarys_sentence_and_a_link() -> None:
    page = rendered()
    assert 'aria-label="What is what-if?"' in page
    assert "replayed from traces" in page and "/docs/glossary/#what-if" in page


def test_in_a_file_that_opens_from_a_disk_it_links_nowhere() -> None:
    assert "href" not in rendered(is_one_file=True)


def test_a_word_is_explained_where_it_first_stands_on_a_page() -> None:
    page = rendered('{% term "audit" %}{% include inner %}', inner=Template('{% term "audit" %}{% term "tie" %}'))
    assert re.findall(r"What is (\w+)", page) == ["audit", "tie"]
    assert len(set(re.findall(r'id="([^"]+)"', page))) == 2


def test_a_word_that_is_not_in_the_glossary_needs_a_sentence() -> None:
    with pytest.raises(TemplateSyntaxError, match="does not explain 'fate'"):
        rendered('{% term "fate" %}')
    assert "To be or not" in rendered('{% term "fate" "To be or not" %}')


def test_every_word_that_a_page_or_chart_explains_is_in_the_glossary() -> None:
    named = {
        word
        for path in (ROOT / "templates").rglob("*.html")
        for word, sentence in re.findall(r'{% term "([^"]+)"( [^%]*)? %}', path.read_text())
        if not sentence
    }
    charts = {path.stem: path.read_text() for path in (ROOT / "static" / "js" / "charts").glob("*.js")}
    assert named and words_of(charts)
    assert [
        word for word in {*named, *words_of(charts).values()} if library.anchor_of(word) not in library.terms()
    ] == []


class Labels(HTMLParser):
    """Labels of a page that neither a question mark nor a sentence under their field explains."""

    def __init__(self) -> None:
        super().__init__()
        self.bare: list[str] = []
        self.explained: set[str] = set()
        self.inside: tuple[str, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in LABELS and given.get("scope") != "row" and not str(given.get("class")).startswith(("lane", "engine")):
            self.inside = tag, []
        elif tag == "select":
            self._end()
        elif given.get("class") in ("term", "help"):
            self._end()
            self.explained.update(self.bare[-1:])

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.inside[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and tag == self.inside[0]:
            self._end()

    def _end(self) -> None:
        if self.inside:
            self.bare.append(" ".join("".join(self.inside[1]).split()))
            self.inside = None

    def unexplained(self) -> set[str]:
        return set(self.bare) - self.explained


@pytest.mark.django_db
def test_every_label_on_every_page_is_plain_or_explained(world) -> None:
    found: dict[str, str] = {}
    for name, address in pages(world).items():
        if not name.startswith("docs"):
            labels = Labels()
            labels.feed(re.sub(CHOICES, "", world.page(world.bob).get(address).content.decode()))
            found |= dict.fromkeys(labels.unexplained(), name)
    known = {label.strip() for label in PLAIN.replace("\n", ";").split(";")}
    assert {label: name for label, name in found.items() if label not in known} == {}
