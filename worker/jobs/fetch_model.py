"""Fetch a model from the hub, and tell whether it can be run."""

from webapp.registry.kinds import FETCH_MODEL
from worker.jobs import check_model

KIND = FETCH_MODEL
work = check_model.work
