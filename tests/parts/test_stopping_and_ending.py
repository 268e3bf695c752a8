from decoding.core.ending import Ending


def spell(tokens: list[int]) -> str:
    return "".join("abcdefgh"[token] for token in tokens)


def test_a_text_is_cut_before_a_stop_string_that_straddles_tokens_and_rounds() -> None:
    ending = Ending((), ("cde",), spell)  # type: ignore[arg-type]
    assert ending.find([0, 2, 3], fresh=1) is None
    assert ending.find([0, 2, 3, 4, 1], fresh=2) == (4, "stop")
    assert ending.text([0, 2, 3, 4]) == "a"
