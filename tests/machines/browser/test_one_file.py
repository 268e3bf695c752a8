"""A page as one file: it opens from a disk without a network, with race and replay, and asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.kit import make
from webapp.sharing import services as sharing
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PAPERS, PROJECTION

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def opened(new_page, tmp_path: Path):
    """Open a file in a browser without network, and fail on any request."""
    asked = []

    def one(content: bytes):
        path = tmp_path / "page.html"
        path.write_bytes(content)
        page = new_page(offline=True)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield one
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def downloaded(worker, world, path: str, **query) -> bytes:
    def get() -> bytes:
        client = Client()
        client.force_login(world.bob)
        answer = client.get(path, query)
        assert answer.status_code == 200, answer.content
        assert answer["Content-Disposition"].startswith("attachment; filename=")
        return answer.content

    return worker.does(get)


def test_a_comparison_is_read_and_replayed_from_a_file_and_one_without_texts_holds_no_word_of_them(
    ended, world, by, opened
):
    address = f"/api/v1/comparisons/{ended.comparison.pk}/file/"
    content = downloaded(ended, world, address)
    page = opened(content)
    expect(page.locator("h1")).to_contain_text("nobody can say yet which is fastest")
    for drawn in ("#strip .token", "#forest .prompts", "#lines .line", "#waterfall .bar", "#race .tokens"):
        expect(page.locator(drawn).first).to_be_attached()
    assert page.locator("#race use").first.evaluate("mark => mark.getBoundingClientRect().width") > 0
    page.click("#before")
    expect(page.locator("#heat")).to_contain_text("Prompt 2 of 3")
    page.locator("#scrub").focus()
    page.keyboard.press("Home")
    expect(page.locator("#clock")).to_have_text("0 ms")
    expect(page.locator("#prompts tbody tr")).to_have_count(3)
    with page.expect_download() as saved:
        page.locator("section:has(> #lines) [data-save]").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
    assert page.locator("form[method=post], #what-if, a:not([href^='#'])").count() == 0
    assert "testserver" not in content.decode() and b'" w7"' in content and b"prompt 0" in content

    _, secret = ended.does(sharing.share, comparison=ended.comparison, days=1, hides_texts=True, by=by)
    other = downloaded(ended, world, f"/shared/{secret}/file/")
    assert b'" w7"' not in other and b"prompt 0" not in other and secret.encode() not in other
    expect(opened(other).locator("#strip .token").first).to_have_text("▪")


def test_studies_and_a_classifier_are_read_from_files(worker, world, opened):
    by, of = world.actor(world.bob), worker.comparison
    for kind, options, drawn in (
        (ORACLE, {}, ".chart .bar"),
        (PROJECTION, {"card": "llama-70b-1b-h100"}, "#best-map .map-field"),
        (PAPERS, {}, "#figure-ssd-3 .dot-mark"),
    ):
        study = worker.does(make.study, by, kind, pair=of.pair, dataset=of.dataset, **options)
        is_read(opened(downloaded(worker, world, f"/api/v1/studies/{study.pk}/file/")), drawn)
    upload = worker.does(make.upload, by, make.card())
    classifier = worker.does(classifying.add_classifier, name="c", pair=of.pair, upload=upload, by=by)
    is_read(opened(downloaded(worker, world, f"/api/v1/classifiers/{classifier.pk}/page/")), "#sweep .line")


def is_read(page, drawn: str) -> None:
    expect(page.locator("h1.verdict")).not_to_be_empty()
    expect(page.locator(drawn).first).to_be_attached()
    assert page.locator("a:not([href^='#']), form").count() == 0
