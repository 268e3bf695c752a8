"""Every round of every sample as JSON lines: an event, and before it whose it is."""

from __future__ import annotations

import json
from typing import TextIO

from decoding.measure.schedule import SampleKey
from decoding.trace.events import EventSink, Recorder, to_dict


class Trace:
    """Events stay in memory while samples are timed, and are written when all of a prompt's are done."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.pending: list[tuple[SampleKey, Recorder]] = []

    def sink_for(self, key: SampleKey) -> EventSink:
        self.pending.append((key, Recorder()))
        return self.pending[-1][1]

    def prompt_done(self) -> None:
        for key, recorder in self.pending:
            whose = {"strategy": key.choice.label, "prompt": key.prompt.id, "repeat": key.repeat}
            for seq, event in enumerate(recorder.events, start=1):
                record = to_dict(event, seq)
                if "prompt" in record:  # the line's own `prompt` is the id
                    record["tokens"] = record.pop("prompt")
                self.file.write(json.dumps({**whose, **record}, separators=(",", ":")) + "\n")
        self.pending.clear()
