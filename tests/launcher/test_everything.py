"""The checks of `./drafthouse test`: silent while they hold, and with their own words where they fail."""

import sys

import pytest

from tests.everything import outcome, tell


@pytest.mark.parametrize(("code", "passes", "shown"), [(0, True, ""), (3, False, "line 7 is wrong\n")])
def test_a_check_shows_what_it_said_only_if_it_failed(
    code: int, passes: bool, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = outcome([sys.executable, "-c", f"print('line 7 is wrong'); raise SystemExit({code})"])
    assert tell("lines", *found) is passes
    first, _, rest = capsys.readouterr().err.partition("\n")
    assert first.startswith("lines … ") and rest == shown
