"""Whether a comparison can fit into the memory of any worker, as far as is known before a try. Only the worker knows
the free memory at that time, and refuses it then (decision 24)."""

from __future__ import annotations

from decoding.public import Choice, memory
from webapp.jobs.models import Queue, Worker
from webapp.registry.models import Pair

REMEDY = f"{memory.REMEDY[:-1]}, or start a worker with more memory."


def why_nowhere(choice: Choice, pair: Pair, queue: Queue) -> str | None:
    """Say that the branches need more memory than any worker of that queue has; None if they fit or nobody can say."""
    vocab = min(model.facts.get("vocab_size") or 0 for model in pair.by_role.values())
    if not memory.needed_by(choice, vocab):
        return None
    rooms = [worker.memory for worker in Worker.objects.alive() if queue in worker.queues]
    known = [room for room in rooms if room is not None]
    if not known or len(known) < len(rooms) or memory.needed_by(choice, vocab) <= max(known):
        return None
    most = f"{max(known) / memory.GIB:.1f} GiB"
    return f"{memory.what_for(choice, vocab)}, and no worker of `{queue}` at hand has more than {most}."
