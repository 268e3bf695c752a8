"""StrategySpec: one strategy as data. Standard library only, and it imports no strategy, so that each can import it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from decoding.errors import BadStrategy, meant
from decoding.params import Param, Value

Role = Literal[
    "baseline",  # what everything is compared with
    "ranked",  # a way of decoding one could deploy
    "bound",  # knows what it could not know in earnest: drawn, never ranked
    "peer",  # somebody else's implementation, run beside ours
]


@dataclass(frozen=True, slots=True)
class StrategySpec:
    slug: str
    title: str
    summary: str
    role: Role
    params: tuple[Param, ...] = ()  # the first may be given on the command line without its name
    check: Callable[[Mapping[str, Value]], None] = lambda params: None  # what no parameter can know alone
    remark: str = ""  # a line below the table of results, which follows the strategy's label

    def read(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with defaults filled in. An unknown name or a bad value raises BadStrategy."""
        known = {param.name for param in self.params}
        for name in given:
            if name not in known:
                offer = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
                raise BadStrategy(f"{self.slug} has no parameter {name!r}; {offer}.{meant(name, known)}")
        try:
            params = {param.name: param.read(given.get(param.name, param.default)) for param in self.params}
            self.check(params)
            return params
        except BadStrategy as error:
            raise BadStrategy(f"{self.slug}: {error}.") from None
