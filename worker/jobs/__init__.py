"""Kinds of jobs. Each module of this package is one: a file that lies here is registered. It holds

    KIND            what the service knows of such a job: `webapp.jobs.kinds.Kind`
    work(attempt)   do the job and write down what comes of it: `worker.attempt.Attempt`

and where models must run, subclasses of `worker.messages.Order`, which say how the engine carries them out. The engine
imports the modules of the orders that it gets, and never Django; the worker imports them all, and never torch. So a
module with orders imports either inside the functions that need it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.attempt import Attempt  # loads Django

Work = Callable[["Attempt"], None]


def works() -> dict[str, Work]:
    """Find all kinds: the function that does such a job, by the kind's slug."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found = {module.KIND.slug: module.work for module in modules}
    assert len(found) == len(modules), "two files of worker/jobs have one slug"
    return found
