"""Servers as a contestant, beside a pair or alone: sends requests as a load has them arrive."""

from __future__ import annotations

import asyncio
import queue as queues
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from decoding.backends.contestants.base import Answers, Backend, Contestant, Request, SinkFor
from decoding.backends.contestants.servers.answer import AnswerReader, Sleep
from decoding.backends.contestants.servers.dialects import dialect_called
from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.server import Server
from decoding.core.ending import Decoded
from decoding.core.load import NAP, ONE, Arrived, Load, RequestQueue
from decoding.errors import BadStrategy, BrokenModel, ServerFailed
from decoding.trace.events import Event, EventSink
from decoding.trace.timing import Clock

if TYPE_CHECKING:
    from decoding.choice import Choice
    from decoding.models.tokenizer_files import Tokenizer

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Over:
    """The loop has nothing more to send."""

    error: BaseException | None = None


Told = tuple["Request", Event | Decoded | BrokenModel]  # what happened, or the answer
Put = Callable[[Told | Over], None]


class Loop:
    """An event loop in a thread of its own, so that bytes are timed when they come and not when somebody looks."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="servers")
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def end(self) -> None:
        self.call(asyncio.sleep(0))  # connections that were closed just now end in the next round of the loop
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _begun(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


class Servers(Contestant):
    """Asks the endpoints that its choices name. `tokenizer` is the local target's, if there is one."""

    def __init__(self, reach: Reach, tokenizer: Tokenizer | None, sleep: Sleep = asyncio.sleep) -> None:
        self._reach = reach
        self._sleep = sleep
        self._tokenizer = tokenizer
        self._servers: dict[str, Server] = {}
        self._loop: Loop | None = None

    def runner(self, choice: Choice) -> str:
        return dialect_called(self._endpoint(choice).dialect).title

    def hardware(self, choice: Choice, longest: int = 0) -> str:
        return f"the server {self._endpoint(choice).name}"  # without its address: results may be shared

    def served_model(self, choice: Choice) -> str:
        return self._server(choice).model

    def server_dtype(self, choice: Choice) -> str:
        return self._endpoint(choice).rounding

    def begin(self, choices: Sequence[Choice]) -> None:
        """Ask each server what it serves."""
        for server in dict.fromkeys(map(self._server, choices)):
            self._running.call(server.meet())

    def close(self) -> None:
        if self._loop:
            for server in self._servers.values():
                self._loop.call(server.close())
            self._loop.end()
            self._loop = None
        self._servers.clear()

    def run(
        self, requests: Iterable[Request], sink_for: SinkFor, cancelled: Callable[[], bool], load: Load = ONE
    ) -> Answers:
        inbox: queues.SimpleQueue[Told | Over] = queues.SimpleQueue()
        serving = self._running.call(_begun(self._serve(requests, cancelled, load, inbox.put)))
        sinks: dict[Request, EventSink] = {}
        try:
            while True:
                match inbox.get():
                    case Over(error):
                        if error:
                            raise error
                        return
                    case request, (Decoded() | BrokenModel()) as answer:
                        sinks.pop(request, None)
                        yield request, answer
                    case request, event:
                        if request not in sinks:
                            sinks[request] = sink_for(request)
                        sinks[request].emit(event)
        finally:  # no request of this run may be under way when the next begins
            self._running.call(_ended(serving))

    @property
    def _running(self) -> Loop:
        self._loop = self._loop or Loop()
        return self._loop

    def _endpoint(self, choice: Choice) -> EndpointSpec:
        return self._reach.endpoint(str(choice.params["name"]))

    def _server(self, choice: Choice) -> Server:
        spec = self._endpoint(choice)
        if spec.name not in self._servers:
            self._servers[spec.name] = Server(spec, self._reach)
        return self._servers[spec.name]

    async def _serve(self, requests: Iterable[Request], cancelled: Callable[[], bool], load: Load, put: Put) -> None:
        error: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as group:
                await self._send(RequestQueue(requests, load), cancelled, load, put, group)
        except BaseExceptionGroup as raised:
            error = raised.exceptions[0]
        finally:
            put(Over(error))

    async def _send(
        self,
        queue: RequestQueue[Request],
        cancelled: Callable[[], bool],
        load: Load,
        put: Put,
        group: asyncio.TaskGroup,
    ) -> None:
        clock, running = Clock(), set[asyncio.Task[None]]()
        while not cancelled():
            queue.arrive(clock.now())
            while not queue.is_empty and len(running) < load.most_at_once:
                running.add(group.create_task(self._answer(queue.take(), clock, load, put)))
            if not running and queue.is_over:
                return
            left = min(NAP, max(0, queue.due_ns - clock.now()) / 1e9) if load.is_open else NAP
            if running:
                done, running = await asyncio.wait(running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                for _ in done:
                    queue.answered()
            else:
                await asyncio.sleep(left)
        for task in running:
            task.cancel()

    async def _answer(self, arrived: Arrived[Request], clock: Clock, load: Load, put: Put) -> None:
        request = arrived.request
        server = self._server(request.choice)
        answer = AnswerReader(request, server, self._tokenizer, lambda event: put((request, event)))
        try:
            async with asyncio.timeout(server.spec.deadline_s):
                done: Decoded | BrokenModel = await self._decoded(server, arrived, clock, load, answer)
        except TimeoutError:
            late = f"{server.spec.name} did not end its answer within {server.spec.deadline_s:g} s, so it was cut off."
            done = ServerFailed(late)
        except ServerFailed as error:
            done = error
        put((request, done))

    async def _decoded(
        self, server: Server, arrived: Arrived[Request], clock: Clock, load: Load, answer: AnswerReader
    ) -> Decoded:
        is_single = load == ONE
        server.dialect.require(arrived.request.sampling)
        before = await server.counts() if is_single else {}
        arrived_ns, queued_ns = (0, 0) if is_single else (arrived.at_ns, clock.now() - arrived.at_ns)
        await answer.ask(arrived_ns, queued_ns, self._sleep)
        if not answer.lacks(server.dialect.metrics):
            server.needs_counters = False
        elif before:
            answer.supplement(server.since(before, await server.counts()))
        return answer.end()


class ServersOnly(Backend):
    """Servers alone, without a model on this machine. Prompts go as text, and no target audits the answers."""

    target = tokenizer = renderer = None
    end_tokens: frozenset[int] = frozenset()
    vocab = 0

    def __init__(self, servers: Reach) -> None:
        self._contestant = Servers(servers, None)

    def contestant(self, choice: Choice) -> Servers:
        if choice.spec.role != "server":
            raise BadStrategy(f"{choice.label} needs a target on this machine, and there is none. Give --target MODEL.")
        return self._contestant

    def close(self) -> None:
        self._contestant.close()
