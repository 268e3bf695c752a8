"""Range of a setting's possible speed-up. It is unknown whether tokens that nobody drafted would have been accepted."""

from __future__ import annotations

import statistics


class Possible:
    @property
    def ratios(self) -> list[tuple[float, float]]:
        """Per prompt, the speed-up over autoregressive in both cases, the smaller first."""
        raise NotImplementedError

    @property
    def middle(self) -> list[float]:
        return [(low + high) / 2 for low, high in self.ratios]

    @property
    def median(self) -> float:
        return statistics.median(self.middle)

    @property
    def possible(self) -> tuple[float, float]:
        return statistics.median(low for low, _ in self.ratios), statistics.median(high for _, high in self.ratios)
