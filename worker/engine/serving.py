"""Carry out orders and report. A thread listens, so that the engine hears a cancellation while it works."""

from __future__ import annotations

import logging.config
import os
import queue
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import NoReturn

import torch

from decoding.errors import DrafthouseError
from decoding.models.devices import give_back, is_lost, set_threads, usual_threads
from webapp.core import logs
from worker.engine.residents import Residents
from worker.messages import NEXT, AtWork, Cancel, Emit, Ended, Failed, Order, Reply, StillHere

logger = logging.getLogger("drafthouse.engine")
AT_WORK_EVERY = 2.0  # s
SILENCE = 15.0  # s without a word from the worker: it is gone or frozen, and its job is somebody else's


class Sender:
    """Sends replies, from the thread that decodes and from the one that sends traces."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def emit(self, reply: Reply) -> None:
        with self._lock:
            self._connection.send(reply)


class Receiver(threading.Thread):
    """Thread that receives orders, and obeys those that cannot wait."""

    def __init__(self, connection: Connection, emit: Emit) -> None:
        super().__init__(daemon=True)
        self._connection, self._emit = connection, emit
        self._told = 0.0  # when the last sign of life was sent
        self.orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._is_cancelled = False

    def cancelled(self) -> bool:
        """Whether the order in hand is cancelled. The loop asks before every round, so whoever asks is at work, and the
        worker hears so."""
        if time.monotonic() - self._told > AT_WORK_EVERY:
            self._told = time.monotonic()
            self._emit(AtWork())
        return self._is_cancelled

    def run(self) -> None:
        while self._connection.poll(SILENCE):
            try:
                order = self._connection.recv()
            except (EOFError, OSError):
                break
            except Exception:  # the order's module cannot be imported here: it imports Django, say
                logger.exception("this order cannot be read")
                os._exit(1)
            match order:
                case StillHere():
                    pass
                case Cancel():
                    self._is_cancelled = True
                case _:
                    self._is_cancelled = False
                    self.orders.put(order)
        os._exit(0)  # the worker is gone: nobody would read what is made from here on


def end(sentence: str) -> NoReturn:
    """End this process at once. Its worker reports the last lines, and starts a fresh one for the next attempt."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    os._exit(1)


def serve(connection: Connection) -> None:
    logging.config.dictConfig(logs.configuration(os.environ.get("DRAFTHOUSE_LOG", ""), level="WARNING"))
    logs.name_process("engine")
    set_threads(usual_threads())  # a core stays free for queue, pages and database
    sender, residents = Sender(connection), Residents()
    receiver = Receiver(connection, sender.emit)
    receiver.start()
    while True:
        order = receiver.orders.get()
        sys.stderr.write(f"{NEXT}\n")
        sys.stderr.flush()
        if torch.cuda.is_available():  # free what the last order left
            give_back()
        try:
            order.carry_out(residents, sender.emit, receiver.cancelled)
            sender.emit(Ended())
        except DrafthouseError as error:
            sender.emit(Failed(str(error), error.code))
        except Exception as error:
            logger.exception("an error of our own")
            if is_lost(error):
                end("The GPU failed, and a process cannot use a GPU after that.")
            sender.emit(Failed(f"The engine met an error of its own: {type(error).__name__}: {error}", "internal"))
