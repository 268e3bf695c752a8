"""A stranger with a mouse: every click and every field of a journey is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

FOLDER, FILES = (
    "[data-upload]:not([hidden]) input[webkitdirectory]",
    "[data-upload]:not([hidden]) input:not([webkitdirectory])",
)
ROWS = b"question,topic\nHow many?,count\nWhich colour?,picture\n"


class Stranger:
    """Somebody with a mouse, whose clicks and filled fields are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks, self.fields = page, 0, 0

    @property
    def count(self) -> tuple[int, int]:
        return self.clicks, self.fields

    def click(self, wanted: str) -> None:
        self.clicks += 1
        self.page.locator("main").locator(wanted).first.click()

    def fill(self, field: str, words: str) -> None:
        self.fields += 1
        self.page.fill(field, words)

    def choose(self, box: str, files: Any) -> None:
        """Choose files, and wait until the server has them."""
        self.fields += 1
        self.page.set_input_files(box, files)
        expect(self.page.locator("[data-told]")).to_have_text("sent and checked")

    def sees(self, title: Any) -> None:
        expect(self.page.locator("h1")).to_have_text(title)

    def add_a_model(self, folder: Path) -> None:
        self.choose(FOLDER, folder)
        self.click("text=Add the model")
        self.sees(folder.name)

    def launch_own_pair_and_csv(self, target: Path, draft: Path) -> None:
        """Go from the first page to a launched comparison of a pair and prompts of one's own."""
        self.click("text=Add models")
        self.add_a_model(target)
        self.click("text=New model")
        self.add_a_model(draft)
        self.click("text=Pair as draft")
        self.fill("[name=name]", f"{target.name} with {draft.name}")
        self.fields += 1
        self.page.select_option("[name=target]", label=target.name)
        self.click("text=Make the pair")
        self.sees(f"{target.name} with {draft.name}")
        self.click("text=On new prompts")
        self.choose(FILES, [{"name": "mine.csv", "mimeType": "text/csv", "buffer": ROWS}])
        expect(self.page.locator("main h2").last).to_have_text("2 prompts would be added")
        self.click("[name=add]")
        self.sees("New comparison")
        self.click("[name=launch]")
        self.page.wait_for_url("**/comparisons/*-*-*/")
