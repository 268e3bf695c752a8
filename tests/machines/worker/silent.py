"""Orders at which the engine says next to nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from worker.messages import AtWork, Cancelled, Emit, Order

if TYPE_CHECKING:
    from worker.engine.residents import Residents


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
