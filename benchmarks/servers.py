"""The cost of our client: CPU time per streamed chunk, and how late chunks are timed, at many streams at once.

    ./drafthouse bench servers [--streams 1,16,64] [--chunks 200] [--pace 20] [--dialect llamacpp]

Another process sends each stream a chunk of one token every PACE ms, with the time at which it sends it. The bar is
0.2 ms of CPU time for each chunk at 64 streams.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR_MS, BAR_STREAMS = 0.2, 64
DIALECTS = ("llamacpp", "vllm")
TIMINGS = {"cache_n": 0, "prompt_n": 8, "prompt_ms": 52.283, "prompt_per_token_ms": 6.535375,
           "prompt_per_second": 153.01340779985847, "predicted_per_token_ms": 9.222333333333333,
           "predicted_per_second": 108.43242852495753, "draft_n": 4, "draft_n_accepted": 4}  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench servers", description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="1,16,64", metavar="LIST")
    parser.add_argument("--chunks", type=int, default=200, help="of each stream")
    parser.add_argument("--pace", type=float, default=20.0, help="ms between two chunks of a stream")
    parser.add_argument("--dialect", choices=DIALECTS, default="llamacpp")
    parser.add_argument("--serve", action="store_true", help="be the process that sends")
    return parser.parse_args()


# ---- the process that sends


def event(dialect: str, number: int, count: int) -> Any:
    """A chunk as the server would send it; its text is the time."""
    is_last, text = number == count - 1, f"{time.perf_counter_ns()} "
    if dialect == "llamacpp":
        timings = {**TIMINGS, "predicted_n": number + 1, "predicted_ms": 9.5 * number}
        return {"index": 0, "content": text, "tokens": [number], "stop": is_last, "id_slot": -1, "timings": timings,
                "tokens_predicted": number + 1, "tokens_evaluated": 8, "stop_type": "limit" * is_last}  # fmt: skip
    usage = {"prompt_tokens": 8, "total_tokens": 9 + number, "completion_tokens": number + 1}
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": "length" if is_last else None,
              "stop_reason": None, "token_ids": [number], "prompt_token_ids": None}  # fmt: skip
    return {"id": "cmpl-7f3ad8b2c1e94b5d", "object": "text_completion", "created": 1, "model": "m",
            "choices": [choice], "usage": usage}  # fmt: skip


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, given: argparse.Namespace) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
        await reader.readexactly(length)
        if head.startswith(b"GET"):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            continue
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(given.chunks):
            await asyncio.sleep(given.pace / 1e3)
            data = b"data: " + json.dumps(event(given.dialect, number, given.chunks)).encode() + b"\n\n"
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        writer.write(b"0\r\n\r\n")


async def serve(given: argparse.Namespace) -> None:
    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer, given)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# ---- the client that is measured


@contextmanager
def sender(given: argparse.Namespace) -> Iterator[str]:
    settings = ["--chunks", str(given.chunks), "--pace", str(given.pace), "--dialect", given.dialect]
    command = [sys.executable, "-m", "benchmarks.servers", "--serve", *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def measure(given: argparse.Namespace, address: str, streams: int) -> None:
    from decoding.contestants.base import Request
    from decoding.contestants.servers.endpoint import EndpointSpec, Reach
    from decoding.contestants.servers.guard import TERMINAL
    from decoding.contestants.servers.running import Servers
    from decoding.ending import Ending
    from decoding.events import Silence
    from decoding.load import Load
    from decoding.loop import never
    from decoding.spec import Sampling, choose

    servers = Servers(Reach({"it": EndpointSpec("it", address, given.dialect)}, allowed=TERMINAL), None)
    choice, sampling = choose("server", {"name": "it"}), Sampling(max_new_tokens=given.chunks)
    requests = [Request(choice, [], sampling, 0, Ending(()), "text") for _ in range(streams)]
    came = Lag()
    before, began = time.process_time(), time.perf_counter()
    with came:
        answers = list(servers.run(requests, lambda _: Silence(), never, Load(streams)))
    spent, took = time.process_time() - before, time.perf_counter() - began
    servers.close()
    assert all(len(decoded.tokens) == given.chunks for _, decoded in answers), answers[0]
    each = spent * 1e3 / (streams * given.chunks)
    late = sorted(came.ms)
    bar = f" (bar {BAR_MS} ms: {'met' if each <= BAR_MS else 'missed'})" if streams >= BAR_STREAMS else ""
    print(
        f"{streams:4} streams: {each:.3f} ms of CPU a chunk{bar}; "
        f"timed {statistics.median(late):.2f} ms late (p50), {late[int(0.99 * len(late))]:.2f} ms (p99); "
        f"{streams * given.chunks / took:,.0f} chunks/s, {spent / took:.0%} of a core"
    )


class Lag:
    """How long after a chunk was sent the client timed it. Reads the times that the chunks carry."""

    def __init__(self) -> None:
        self.ms: list[float] = []

    def __enter__(self) -> None:
        from decoding.contestants.servers.answer import Answer

        self._add = Answer.add
        plain, ms = Answer.add, self.ms

        def add(answer: Answer, at_ns: int, piece: Any) -> None:
            if piece.text:
                ms.append((at_ns - int(piece.text)) / 1e6)
            plain(answer, at_ns, piece)

        Answer.add = add  # type: ignore[method-assign]

    def __exit__(self, *exc: object) -> None:
        from decoding.contestants.servers.answer import Answer

        Answer.add = self._add  # type: ignore[method-assign]


def main() -> None:
    given = arguments()
    if given.serve:
        return asyncio.run(serve(given))
    with sender(given) as address:
        for streams in map(int, given.streams.split(",")):
            measure(given, address, streams)


if __name__ == "__main__":
    main()
