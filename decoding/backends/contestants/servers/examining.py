"""Examine an endpoint: is it healthy, what does it serve, how does it cut a text, does it count its drafts?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.running import Loop, Server
from decoding.errors import ServerFailed

WITHIN_S = 120.0
PROBE = "Drafthouse asks how this is cut."


@dataclass(frozen=True, slots=True)
class Answered:
    """One thing that the endpoint answered, as a sentence."""

    level: Literal["fits", "remark"]
    topic: str
    sentence: str


def examine(spec: EndpointSpec, reach: Reach) -> tuple[str, list[Answered]]:
    """Ask the endpoint. Return the model that it serves (empty if it lists none) and what else it answers. Refuse one
    that cannot be reached, wants a key, is not healthy, or serves another model than it names."""
    server, loop = Server(spec, reach), Loop()
    try:
        answers = loop.call(_all(server))
        return server.model, answers
    finally:
        loop.call(_disconnect(server))
        loop.end()


async def _all(server: Server) -> list[Answered]:
    try:
        async with asyncio.timeout(WITHIN_S), aclosing(_answers(server)) as answers:
            return [answer async for answer in answers]
    except TimeoutError:
        raise ServerFailed(f"{server.spec.name} did not answer our questions within {WITHIN_S:g} s.") from None


async def _disconnect(server: Server) -> None:
    await server.client.close()


async def _answers(server: Server) -> AsyncGenerator[Answered, None]:
    dialect, url = server.dialect, server.client.url
    await server.meet()
    head, _ = await server.client.get(dialect.health)
    told = f"{url(dialect.health)} answers {head.status}"
    if head.status != 200:
        raise ServerFailed(
            f"{server.spec.name} is not ready: {told} {head.reason}. Is it started, is its address right, and is it "
            f"{dialect.title}?"
        )
    yield Answered("fits", "health", f"It is healthy: {told}.")
    if server.model:
        yield Answered("fits", "model", f"It serves {server.model}.")
    else:
        yield Answered("remark", "model", f"{url(dialect.models())} names no model that it serves.")
    yield await _cut(server)
    if dialect.metrics.get("num_draft_tokens") in await server.counts():
        yield Answered("fits", "counters", f"It counts drafts at {url('/metrics')}.")
    elif dialect.metrics:
        yield Answered("remark", "counters", f"It shows no counts of drafts at {url('/metrics')}.")
    if not dialect.switches:
        sentence = "Only its start switches speculation: register one server with it and one without."
        yield Answered("remark", "speculation", sentence)
    yield Answered("remark", "prefix cache", f"To keep its prefix cache out: {dialect.cache}.")


async def _cut(server: Server) -> Answered:
    """Tell how the prompt reaches the model."""
    dialect = server.dialect
    if dialect.takes_ids:
        return Answered("fits", "tokens", "Prompts go to it as token ids.")
    if not dialect.tokenizes:
        return Answered("remark", "tokens", "Prompts go to it as text, and it does not tell how it cuts them.")
    head, raw = await server.client.post(dialect.tokenizes, json.dumps(dialect.cut(PROBE)).encode())
    try:
        found = dialect.cut_ids(server.client.words.json(raw)) if head.status == 200 else ()
    except (ValueError, ServerFailed):
        found = ()
    if not found:
        asked = server.client.url(dialect.tokenizes)
        return Answered("remark", "tokens", f"{asked} does not tell how it cuts a text.")
    return Answered("fits", "tokens", f"It cuts {PROBE!r} into {len(found)} tokens.")
