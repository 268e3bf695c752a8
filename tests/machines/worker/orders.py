"""Orders at which the engine stops itself, loses its GPU or says next to nothing."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from worker.jobs.comparison.messages import SampleDecoded
from worker.messages import AtWork, Cancelled, Emit, Order, Reply

if TYPE_CHECKING:
    from worker.engine.residents import Residents


def is_awaited(reply: Reply | None, awaited: tuple[type[Reply], ...]) -> bool:
    """Whether the reply counts. A comparison's steps come before its samples and do not."""
    return isinstance(reply, awaited) and getattr(reply, "whole", ()) is not None


@dataclass
class LosesItsGpu(Order):
    """An order in which the GPU fails once so many samples are decoded."""

    order: Order
    left: int

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        def emit_or_fail(reply: Reply) -> None:
            emit(reply)
            self.left -= isinstance(reply, SampleDecoded)
            if isinstance(reply, SampleDecoded) and not self.left:
                import torch  # only the engine loads it

                raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

        self.order.carry_out(residents, emit_or_fail, cancelled)


@dataclass
class Staged(Order):
    """Order at whose chosen reply the engine stops itself: until a signal from outside arrives, it may be through."""

    order: Order
    awaited: tuple[type[Reply], ...]
    left: int  # replies until then

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        def emit_and_stop(reply: Reply) -> None:
            emit(reply)
            if is_awaited(reply, self.awaited):
                self.left -= 1
                if not self.left:
                    signal.raise_signal(signal.SIGSTOP)

        self.order.carry_out(residents, emit_and_stop, cancelled)


@dataclass
class Silent(Order):
    """Order at which the engine says one word and then does nothing."""

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        emit(AtWork())
        Event().wait()


@dataclass
class AtRounds(Order):
    """Order at which the engine tells nothing but that its loop goes on."""

    asks: int

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        os.write(1, b"A line of this order.\n")
        for _ in range(self.asks):
            cancelled()
