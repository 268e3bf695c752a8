"""From two folders to a link for others with nothing but a keyboard: Tab, Enter, Space, arrows and letters."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import CLIPBOARD, copied, go_to, write

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Typist:
    """Has no mouse. Each press goes to whatever has the focus, and the focus is moved by Tab."""

    def __init__(self, page, address: str) -> None:
        self.page, self.address = page, address

    def opens(self, path: str, title: str) -> None:
        self.page.goto(self.address + path)
        self.sees(title)

    def sees(self, title: str) -> None:
        expect(self.page.locator("h1")).to_have_text(title)
        self.page.wait_for_load_state()  # before that, keys may go to nobody

    def goes_to(self, key: str, title: str) -> None:
        self.page.keyboard.press("g")
        self.page.keyboard.press(key)
        self.sees(title)

    def asks_for_a_new(self, title: str) -> None:
        self.page.keyboard.press("n")
        self.sees(title)

    def presses(self, key: str, on: str) -> None:
        go_to(self.page, on)
        self.page.keyboard.press(key)

    def writes(self, over: bool = False, **fields: str) -> None:
        for name, text in fields.items():
            write(self.page, f"[name='{name.replace('__', '.')}']", text, over)

    def picks(self, name: str, *keys: str) -> None:
        """In a list of choices."""
        go_to(self.page, f"select[name='{name}']")
        for key in keys:
            self.page.keyboard.press(key)

    def adds_model(self, name: str, folder) -> None:
        self.opens("/models/new/", "New model")
        with self.page.expect_file_chooser() as asked:
            self.presses("Enter", "[data-upload]:not([hidden]) input[webkitdirectory]")
        asked.value.set_files(folder)  # the system's own window
        expect(self.page.locator("[data-told]")).to_have_text("sent and checked")
        self.writes(over=True, name=name)
        self.presses("Enter", "button:text('Add the model')")
        self.sees(name)


@pytest.fixture
def typist(open_page, address):
    return Typist(open_page("/comparisons/", **CLIPBOARD), address)


def add_models(typist, folder) -> None:
    for name, layers in (("big", 2), ("small", 1)):
        (folder / name).mkdir()
        for path, data in make.checkpoint(layers=layers).items():
            (folder / name / path).write_bytes(data)
        typist.adds_model(name, folder / name)


def make_a_pair(typist) -> None:
    typist.goes_to("p", "Pairs")
    typist.asks_for_a_new("New pair")
    typist.writes(name="both")
    typist.picks("target", "b")
    typist.picks("draft", "s")
    typist.presses("Enter", "button:text('Make the pair')")
    typist.sees("both")
    expect(typist.page.locator(".findings")).to_contain_text("fits")


def paste_prompts(typist) -> None:
    typist.goes_to("d", "Prompts")
    typist.asks_for_a_new("New prompt set")
    typist.writes(name="three")
    go_to(typist.page, "textarea[name=text]")
    for line in ("one", "two", "three"):
        typist.page.keyboard.type(line)
        typist.page.keyboard.press("Enter")
    expect(typist.page.locator("main h2")).to_have_text("3 prompts would be added")
    typist.presses("Enter", "button[name=add]")
    typist.sees("three")


def launch(typist) -> None:
    typist.goes_to("c", "Comparisons")
    typist.asks_for_a_new("New comparison")
    expect(typist.page.locator("[name=pair] option:checked")).to_have_text("both: big / small")
    expect(typist.page.locator("[name=dataset] option:checked")).to_have_text("three")
    typist.presses("Enter", "summary:text('Sampling')")
    typist.writes(over=True, max_new_tokens="24")
    typist.presses("Enter", "summary:text('Name, repeats and queue')")
    typist.writes(name="by hand")
    typist.writes(over=True, static__lookahead="3")
    typist.presses("Space", "[name=use][value=heuristic]")
    typist.presses("Space", "[name=use][value=threshold]")
    expect(typist.page.locator(".plan")).to_contain_text("3 runs × 3 prompts")
    typist.presses("Enter", "button[name=launch]")
    typist.sees("by hand")
    expect(typist.page.locator(".lane .name")).to_have_text(["autoregressive", "static:3", "threshold:0.4"])


def share_and_revoke(typist) -> None:
    page = typist.page
    typist.presses("Enter", "a.button:text('Share')")
    typist.sees("Share by hand")
    typist.writes(over=True, days="3")
    typist.presses("Space", "[name=hides_texts]")
    typist.presses("Enter", "button:text('Make a link')")
    typist.presses("Enter", "[data-copy]")
    expect(page.locator("[data-copy]")).to_have_text("Copied")
    link = copied(page)
    assert page.request.get(link).ok
    typist.presses("Enter", "button:text('Revoke')")
    expect(page.locator("main")).to_contain_text("Nobody outside the team can see it.")
    assert page.request.get(link).status == 410


def train(typist) -> None:
    typist.goes_to("l", "Classifiers")
    typist.asks_for_a_new("Train a classifier")
    typist.writes(name="mine", pair="both", dataset="three")
    typist.presses("Enter", "summary:text('Sampling')")
    typist.writes(over=True, max_new_tokens="24")
    typist.presses("Enter", "button:text('Train it')")
    typist.sees("mine is being trained")


def test_all_that_a_comparison_takes_is_made_launched_shared_and_found_again(typist, tmp_path):
    add_models(typist, tmp_path)
    make_a_pair(typist)
    paste_prompts(typist)
    launch(typist)
    share_and_revoke(typist)
    train(typist)
