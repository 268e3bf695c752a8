"""The documentation as a folder of files, opened from a disk in a browser that has no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from webapp.docs import site

pytestmark = pytest.mark.browser


def test_the_site_can_be_read_and_searched_from_a_disk(tmp_path: Path, chromium) -> None:
    site.write(tmp_path / "site")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "site/index.html").as_uri())
    page.fill("#docs-search", "break-even")
    page.click("#docs-found a:has-text('How the numbers are made')")
    assert "How the numbers are made" in page.title()
    page.click("nav.pages a:has-text('Decisions')")
    page.click("article li a >> nth=0")
    assert page.locator("h1").count() == 1
    assert asked and all(url.startswith("file:") for url in asked)
    context.close()
