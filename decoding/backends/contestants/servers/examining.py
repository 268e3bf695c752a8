"""Examine an endpoint: is it healthy, what does it serve, does it count its drafts?"""

from __future__ import annotations

import asyncio

from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.running import Loop
from decoding.backends.contestants.servers.server import Server
from decoding.errors import ServerFailed

WITHIN_S = 120.0

Answer = dict[str, str]  # `level` (fits or remark), `topic`, and the `sentence`


def examine(spec: EndpointSpec, reach: Reach) -> tuple[str, list[Answer]]:
    """Ask the endpoint. Return the model that it serves (empty if it lists none) and what else it answers. Refuse one
    that cannot be reached, wants a key, is not healthy, or serves another model than it names."""
    server, loop = Server(spec, reach), Loop()
    try:
        answers = loop.call(asyncio.wait_for(_answers(server), WITHIN_S))
        return server.model, answers
    except TimeoutError:
        raise ServerFailed(f"{spec.name} did not answer our questions within {WITHIN_S:g} s.") from None
    finally:
        loop.call(server.close())
        loop.end()


async def _answers(server: Server) -> list[Answer]:
    dialect, url = server.dialect, server.url
    await server.meet()
    head, _ = await server.get(dialect.health)
    told = f"{url(dialect.health)} answers {head.status}"
    if head.status != 200:
        raise ServerFailed(
            f"{server.spec.name} is not ready: {told} {head.reason}. Is it started, is its address right, and is it "
            f"{dialect.title}?"
        )
    found = [_answer("fits", "health", f"It is healthy: {told}.")]
    if server.model:
        found.append(_answer("fits", "model", f"It serves {server.model}."))
    else:
        found.append(_answer("remark", "model", f"{url(dialect.lists)} names no model that it serves."))
    way = "token ids" if dialect.takes_ids else "text, and it does not tell how it cuts them"
    found.append(_answer("fits" if dialect.takes_ids else "remark", "tokens", f"Prompts go to it as {way}."))
    if dialect.metrics.get("num_draft_tokens") in await server.counts():
        found.append(_answer("fits", "counters", f"It counts drafts at {url('/metrics')}."))
    elif dialect.metrics:
        found.append(_answer("remark", "counters", f"It shows no counts of drafts at {url('/metrics')}."))
    return [*found, _answer("remark", "prefix cache", f"To keep its prefix cache out: {dialect.cache}.")]


def _answer(level: str, topic: str, sentence: str) -> Answer:
    return {"level": level, "topic": topic, "sentence": sentence}
