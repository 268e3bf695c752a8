"""An order at whose chosen report the engine stops itself. Only the engine can do that in time: until a signal from
elsewhere arrives, it may be through."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worker.jobs.comparison.messages import SampleDecoded
from worker.messages import Cancelled, Emit, Order, Report

if TYPE_CHECKING:
    from worker.engine.residents import Residents


def is_awaited(report: Report | None, awaited: tuple[type[Report], ...]) -> bool:
    """Whether the report counts. A comparison's steps come before its samples and do not."""
    return isinstance(report, awaited) and getattr(report, "whole", ()) is not None


@dataclass
class LosesItsGpu(Order):
    """An order in which the GPU fails once so many samples are decoded."""

    order: Order
    left: int

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        def emit_or_fail(report: Report) -> None:
            emit(report)
            self.left -= isinstance(report, SampleDecoded)
            if isinstance(report, SampleDecoded) and not self.left:
                import torch  # only the engine loads it

                raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

        self.order.carry_out(residents, emit_or_fail, cancelled)


@dataclass
class Staged(Order):
    order: Order
    awaited: tuple[type[Report], ...]
    left: int  # reports until then

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        def emit_and_stop(report: Report) -> None:
            emit(report)
            if is_awaited(report, self.awaited):
                self.left -= 1
                if not self.left:
                    signal.raise_signal(signal.SIGSTOP)

        self.order.carry_out(residents, emit_and_stop, cancelled)
