"""Range of a setting's possible speed-up. It is unknown whether tokens that nobody drafted would have been accepted."""

from __future__ import annotations

from decoding.measure.intervals import Interval, ratio_interval


class Possible:
    @property
    def times(self) -> list[tuple[float, float, float]]:
        """Per prompt, the seconds of autoregressive, and those of the setting in both cases."""
        raise NotImplementedError

    @property
    def middle(self) -> list[tuple[float, float]]:
        """Per prompt, the seconds of autoregressive and those halfway between both cases."""
        return [(undrafted, (one + other) / 2) for undrafted, one, other in self.times]

    @property
    def ratio(self) -> float:
        """Speed-up over autoregressive, of the total times."""
        return sum(undrafted for undrafted, _ in self.middle) / sum(own for _, own in self.middle)

    @property
    def interval(self) -> Interval:
        return ratio_interval(self.middle)

    @property
    def possible(self) -> tuple[float, float]:
        """The speed-up in both cases, the smaller first."""
        undrafted, one, other = (sum(column) for column in zip(*self.times, strict=True))
        return min(undrafted / one, undrafted / other), max(undrafted / one, undrafted / other)
