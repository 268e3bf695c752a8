"""Kinds of jobs. Each module of this package is one: a file that lies here is registered. It holds

    KIND            what the service knows of such a job: `webapp.jobs.kinds.Kind`
    work(attempt)   do the job and write down what comes of it: `worker.attempt.Attempt`

and where models must run, subclasses of `worker.messages.Order`, which say how the engine carries them out. The engine
imports the modules of the orders that it gets, and never Django; the worker imports them all, and never torch. So a
module with orders imports either inside the functions that need it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from webapp.jobs.kinds import Kind
from worker.messages import Order

if TYPE_CHECKING:
    from worker.attempt import Attempt  # loads Django

Work = Callable[["Attempt"], None]


class IncompleteKind(Exception):
    """A module of this package is not a kind of job; the message names what it lacks."""


def works() -> dict[str, Work]:
    """Find all kinds: the function that does such a job, by the kind's slug."""
    found: dict[str, Work] = {}
    for name in sorted(module.name for module in iter_modules(__path__)):
        try:
            module = import_module(f"{__name__}.{name}")
        except TypeError as error:  # `Kind` was called without one of its parts
            raise IncompleteKind(f"{name}.py in worker/jobs is not a kind of job: {error}.") from error
        if lacking := _lacking(module):
            raise IncompleteKind(f"{name}.py in worker/jobs is not a kind of job: it lacks {lacking}.")
        if module.KIND.slug in found:
            raise IncompleteKind(f"{name}.py in worker/jobs and another file both call themselves {module.KIND.slug}.")
        found[module.KIND.slug] = module.work
    return found


def _lacking(module: ModuleType) -> str:
    if not isinstance(getattr(module, "KIND", None), Kind):
        return "KIND, a webapp.jobs.kinds.Kind"
    if not inspect.isfunction(getattr(module, "work", None)):
        return "work(attempt), the function that does the job"
    for name, order in inspect.getmembers(module, inspect.isclass):
        if order.__module__ == module.__name__ and issubclass(order, Order) and inspect.isabstract(order):
            return f"{name}.{min(order.__abstractmethods__)}, which the engine calls"
    return ""
