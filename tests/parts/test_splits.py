"""No text serves two purposes of a training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from decoding.disco.cards import sharing_sentence
from decoding.prompts.prompt import PromptItem
from decoding.training.splits import Splits


def prompts(texts: Sequence[str], split: str = "", categories: Sequence[str] = ("",)) -> list[PromptItem]:
    return [
        PromptItem(f"{split}{i}", text, categories[i % len(categories)], split=split) for i, text in enumerate(texts)
    ]


def parts(splits: Splits) -> tuple[set[str], set[str], set[str]]:
    return tuple({prompt.text for prompt in part} for part in (splits.training, splits.validation, splits.test))  # type: ignore[return-value]


def test_a_log_in_which_every_text_comes_twice_has_no_text_in_two_splits() -> None:
    found = Splits.of(prompts([f"text {i // 2}" for i in range(50)]))
    train, validation, test = parts(found)
    assert not (train & validation or train & test or validation & test)
    assert len(train) == 15 and len(validation) == 5 and len(test) == 5


def test_a_set_whose_categories_repeat_gets_every_category_in_every_split() -> None:
    categories = [f"c{i}" for i in range(10)]
    found = Splits.of(prompts([f"text {i}" for i in range(200)], categories=categories))
    for part, each in ((found.training, 12), (found.validation, 4), (found.test, 4)):
        assert Counter(prompt.category for prompt in part) == dict.fromkeys(categories, each)


def test_a_text_in_several_given_splits_stays_in_the_last_one_and_that_is_told() -> None:
    shared = prompts(["one", "two", "three"], "train") + prompts(["two", "four"], "validation")
    found = Splits.of(shared + prompts(["three", "four", "five"], "test"))
    assert parts(found) == ({"one"}, {"two"}, {"three", "four", "five"})
    assert found.left_out == 3
    assert sharing_sentence({"shared": found.shared()}).startswith("3 prompts were left out")


def test_prompts_that_are_nearly_those_it_learns_from_are_told() -> None:
    long = " ".join(f"word{i}" for i in range(40))
    found = Splits.of(
        prompts([long, "quite another one"], "train")
        + prompts(["a validation prompt of its own"], "validation")
        + prompts([f"{long} and more", "nothing of that"], "test")
    )
    assert found.shared() == {"left_out": 0, "validation": 0, "test": 1}
    assert "1 validation and test prompts are nearly the same" in sharing_sentence({"shared": found.shared()})
    assert sharing_sentence({}) == ""
