"""Draw cases of a law, and say of one that fails how to run it again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from tests.laws.cases import Case

DEEP = 40  # times as many cases with --deep


class Drawing:
    """Holds a law against drawn cases, or against the one of `--case`."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._line: str = request.config.getoption("--case")
        self._is_deep: bool = request.config.getoption("--deep")
        self._test = request.node.nodeid

    def holds(self, law: Callable[[Case], None], drawn: SearchStrategy[Case], count: int) -> None:
        def held(case: Case) -> None:
            try:
                law(case)
            except Exception as error:
                error.add_note(f"Once more: ./drafthouse test '{self._test}' --case '{case.line}'")
                raise

        if self._line:
            held(Case.of(self._line))
            return
        often = settings(
            max_examples=count * DEEP if self._is_deep else count,
            derandomize=not self._is_deep,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=[*HealthCheck],
        )
        often(given(drawn)(held))()
