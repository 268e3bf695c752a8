"""Comparison with a player instead of a model, for watchers. This process is its worker: the player reports each
finished round, and from there everything works as in a worker: collect, store, nudge, read, send."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from decoding.trace.events import Event
from tests.kit.up import Up

if TYPE_CHECKING:
    from decoding.measure.schedule import SampleKey

Say = Callable[[Any], None]


def enter(up: Up) -> None:
    """Make this process one of the service's."""
    import django  # imported late: --help must not need it

    os.environ |= {"DRAFTHOUSE_DATA": str(up.data), "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
                   "REDIS_URL": f"unix://{up.data}/valkey/valkey.sock"}  # fmt: skip
    django.setup()


class Played:
    def __init__(self, strategies: list[dict[str, Any]], repeats: int = 1) -> None:
        from webapp.accounts import actor as actors
        from webapp.accounts import services as accounts
        from webapp.comparisons import services as comparisons
        from webapp.registry.models import Dataset, Pair

        by = actors.of_user(accounts.first_owner())
        made_of = {"pair": Pair.objects.first(), "dataset": Dataset.objects.first(), "strategies": strategies}
        self.row = comparisons.launch(name="watched", by=by, repeats=repeats, **made_of)
        self.samples: dict[str, Any] = {}

    def run(self, decode: Callable[[Any, Say], None]) -> None:
        """Run the comparison. `decode` gets the order and a callback for its replies; the last reply is None."""
        from webapp.jobs import services as jobs
        from worker.attempt import Attempt
        from worker.jobs.comparison import Compare
        from worker.jobs.comparison.rows import ComparisonRows
        from worker.messages import PairLoaded
        from worker.pulse import Pulse

        while (job := jobs.claim(worker="bench", queues=["cpu"])) != self.row.job:
            jobs.succeed(job=job)  # jobs that inspect the starter's models
        pulse, replies = Pulse(lambda: None), queue.Queue()
        pulse.start()
        with pulse.holding(job) as hold:
            work = ComparisonRows(Attempt(hold, SimpleNamespace(pid=os.getpid())), Compare)
            order = work.order()
            work.store(PairLoaded({"threads": 1, "device_name": "no device", "dtype": "none"}, {}))
            threading.Thread(target=decode, args=(order, replies.put)).start()
            while (reply := replies.get()) is not None:
                work.store(reply)
            self.samples = {str(sample.pk): which for which, sample in work.samples.items()}
            self.prompts = [prompt.id for prompt in order.prompts]
            self.runs = {run.number: label for label, run in work.runs.items()}
        jobs.succeed(job=job)
        pulse.stop()
        pulse.join()


def numbers_of(events: list[Event], key: SampleKey, count: int) -> Any:
    """Figures as the engine would report them for a sample of so many tokens."""
    from decoding.measure.sample import sample_from_events

    return sample_from_events(events, choice=key.choice, prompt=key.prompt.id, category=key.prompt.category,
                                      repeat=key.repeat, tokens=[0] * count, text="")  # fmt: skip
