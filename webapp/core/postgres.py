"""Connections to PostgreSQL that give up. TCP notices a machine that is gone; a server or a network that merely hangs
still acknowledges every byte, and a request would wait for its answer for ever."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout

STATEMENT_S = 15  # the server ends a longer statement of a request by itself
SETTINGS = f"-c statement_timeout={STATEMENT_S}s -c idle_in_transaction_session_timeout=60s"


class Impatient(psycopg.Connection[Any]):
    """A connection that closes itself when the server answers nothing."""

    patience_s = STATEMENT_S + 0.5
    trial_s = 2.0  # for the question by which a pool tries a connection before it lends it

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        patience_s = self.patience_s if timeout is None else timeout
        try:
            return super().wait(gen, interval, patience_s)
        except _WaitTimeout:
            if timeout is not None:
                raise
            self.pgconn.finish()
            raise psycopg.OperationalError(f"the server said nothing for {patience_s:g} s") from None

    def execute(self, *arguments: Any, **options: Any) -> psycopg.Cursor[Any]:
        """Run a statement of the pool. Django uses cursors."""
        self.patience_s = self.trial_s
        try:
            return super().execute(*arguments, **options)
        finally:
            del self.patience_s
