"""Nudges while the broker is away: nothing fails, and the log says so once."""

from __future__ import annotations

import pytest
from channels.layers import channel_layers

from webapp.core.nudges import nudge

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_silent_channel_layer_is_told_of_once_and_its_return_too(settings, valkey, caplog):
    caplog.set_level("INFO", "drafthouse.nudges")
    there = settings.CHANNEL_LAYERS
    nowhere = {"default": {**there["default"], "CONFIG": {"hosts": ["unix:///nowhere/at/all"]}}}
    for layers, times in ((nowhere, 3), (there, 2), (nowhere, 2)):
        settings.CHANNEL_LAYERS = layers
        channel_layers.backends.clear()
        for _ in range(times):
            nudge("somebody")
    told = [record.getMessage() for record in caplog.records if record.name == "drafthouse.nudges"]
    assert ["does not answer" in line for line in told] == [True, False, True]
    assert told[1].startswith("the channel layer answers again, after")
