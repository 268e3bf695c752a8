"""A chart is one file: put into the folder, it stands on its page, and nothing else knows of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.conf import settings as configured
from playwright.sync_api import expect

from tests.kit.browser import path_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CHART = """
import { become, sketch } from "../core/become.js";
import { size, widthOf } from "../core/picture.js";
import { table as made } from "../core/tables.js";

export const on = { comparison: 99 };
export const title = "Samples of each strategy";
export const sentence = ({ rows }) => rows.map((row) => `${row.name} has ${row.sample_count}`).join(", ");
export const table = ({ rows }) => made(["strategy", "samples"], rows.map((row) => [row.name, row.sample_count]));

export function draw(picture, { rows }) {
  size(picture, widthOf(picture), 20 * rows.length);
  become(picture, ...rows.map((row, i) =>
    sketch("rect", { class: `bar s-${row.strategy}`, y: 20 * i, height: 16, width: 40 * row.sample_count })));
}
"""


@pytest.fixture
def with_a_chart(settings, tmp_path: Path) -> None:
    folder = tmp_path / "static"
    shutil.copytree(configured.BASE_DIR / "static", folder)
    (folder / "js" / "charts" / "samples.js").write_text(CHART)
    settings.STATICFILES_DIRS = [folder]


def test_one_file_brings_title_picture_sentence_and_table(with_a_chart, open_page, ended):
    page = open_page(path_of(ended))
    section = page.locator("section:has(#samples)")
    expect(section.locator("h2")).to_have_text("Samples of each strategy")
    expect(section.locator("#samples .bar")).to_have_count(4)
    said = "autoregressive has 3, static:4 has 3, heuristic:5 has 3, threshold:0.4 has 3"
    expect(page.get_by_role("img", name="Samples of each strategy")).to_have_accessible_description(said)
    section.locator("summary").click()
    expect(section.locator("tbody tr")).to_have_count(4)
    assert page.locator(".evidence section:has(svg.chart) h2").last.inner_text() == "Samples of each strategy"
