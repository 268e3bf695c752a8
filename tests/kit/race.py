"""Page of a comparison in a browser: its race and its strip of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from playwright.sync_api import Locator, Page, expect


def path_of(worker: Any) -> str:
    return f"/comparisons/{worker.comparison.pk}/"


def tokens(page: Page) -> Locator:
    """Tokens of the strip, which shows one text at a time."""
    return page.locator("#strip .token")


def shows(page: Page, wanted: Iterable[int]) -> None:
    """Wait until the strip holds exactly these tokens, each once, in order."""
    expect(tokens(page)).to_have_text([f"w{token}" for token in wanted])


def choose(page: Page, run: int) -> None:
    """Let the strip show the text of this run."""
    page.check(f"[data-lane='{run}'] input", force=True)
