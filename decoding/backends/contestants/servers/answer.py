"""Answer: one request to a server, from its body to the text, with an event for each delivery of tokens."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from decoding.backends.contestants.servers.dialects.base import LONGEST_DRAFT, Json, Piece, refuse
from decoding.backends.contestants.servers.server import Events, Head, Read, Server
from decoding.backends.contestants.servers.words import SHOWN_AT_MOST, Words
from decoding.core.ending import Decoded
from decoding.errors import ServerFailed
from decoding.trace.events import Delivered, Event, Finished, FinishReason, Reported, Started

if TYPE_CHECKING:
    from decoding.backends.contestants.base import Request
    from decoding.models.tokenizer_files import Tokenizer

MOST_WAIT_S = 60.0  # for a server that asks to come back later, all its requests together
LEAST_WAIT_S = 1.0  # also where it does not say when, or says at once
LATER = (429, 503)
SPARE = 16  # tokens more than asked for before a server counts as one that never ends
LONGEST_TOKEN = 512  # characters
LONGEST_WORDS = 300  # characters of a server's own error

Tell = Callable[[Event], None]
Sleep = Callable[[float], Awaitable[None]]


@dataclass
class Delivery:
    """Tokens that came together."""

    at_ns: int
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    total: int | None = None  # tokens of the answer so far, if the server counts along

    def add(self, piece: Piece) -> None:
        self.tokens += piece.tokens
        self.text += piece.text
        self.total = self.total if piece.total is None else piece.total


class AnswerReader:
    """Reads one answer. `tell` gets its events; times count from when the request was sent."""

    def __init__(self, request: Request, server: Server, tokenizer: Tokenizer | None, tell: Tell) -> None:
        self.request = request
        self._server = server
        self._name = server.spec.name
        self._words = server.words
        self._tokenizer = tokenizer
        self._tell = tell
        self._sent_ns = 0
        self._pending: Delivery | None = None
        self._ids: list[int] = []
        self._texts: list[str] = []
        self._tail = ""  # of the text so far
        self._length = 0  # characters
        self._count = 0
        self._last_ns = 0
        self._finish: FinishReason | None = None
        self._report: Reported | None = None
        self._arrived: tuple[int, int] = (0, 0)  # since the load began, and how long the request has waited since

    async def ask(self, arrived_ns: int, queued_ns: int, sleep: Sleep) -> None:
        """Ask, wait as long as the server wishes, and read its answer to the end."""
        server, waited_s = self._server, 0.0
        body = json.dumps(server.dialect.body(self.request, server.model)).encode()
        for tries in itertools.count(1):
            self._arrived, self._sent_ns = (arrived_ns, queued_ns + round(waited_s * 1e9)), perf_counter_ns()
            async with server.ask(server.dialect.route, body) as (head, reads), aclosing(reads):
                if head.status == 200:
                    return await self._read(reads)
                words = await _explanation(reads, server.words)
            pause = _pause(head) if head.status in LATER else None
            if pause is None:
                raise server.refusal(head, words)
            if waited_s + pause > MOST_WAIT_S:
                raise ServerFailed(
                    f"{server.spec.name} answered {head.status} (try {tries}) and wants to be asked again in {pause:g} "
                    f"s; Drafthouse waits {MOST_WAIT_S:g} s at most. {words}"
                )
            await sleep(pause)
            waited_s += pause

    async def _read(self, reads: AsyncGenerator[Read, None]) -> None:
        events, reader = Events(), self._server.dialect.reader()
        async for at_ns, raw in reads:
            for data in events.feed(raw):
                if data.strip() != b"[DONE]":
                    event = _parsed(data, self._words)
                    refuse(event)
                    self.add(at_ns, reader.piece(event))

    def add(self, at_ns: int, piece: Piece) -> None:
        self._finish = piece.finish or self._finish
        self._report = piece.report or self._report
        at_ns -= self._sent_ns
        if piece.tokens or piece.text:
            if self._pending and not piece.is_same_step and at_ns != self._pending.at_ns:
                self._flush()
            self._pending = self._pending or Delivery(at_ns)
        if self._pending:
            self._pending.add(piece)
            self._require_end(self._pending)

    @property
    def _most(self) -> int:
        """Number of tokens that the answer may have before it counts as one that never ends."""
        return self.request.sampling.max_new_tokens + SPARE

    def _require_end(self, one: Delivery) -> None:
        """Give up a server that goes on past what it was asked for, or says so."""
        tokens, characters = self._count + len(one.tokens), self._length + len(one.text)
        if max(tokens, one.total or 0) > self._most or characters > self._most * LONGEST_TOKEN:
            asked = self.request.sampling.max_new_tokens
            raise ServerFailed(f"{self._name} was asked for {asked} tokens and does not end, so it was cut off.")

    def _flush(self) -> None:
        """Tell of the delivery that is complete."""
        one, self._pending = self._pending, None
        if one is None:
            return
        count = self._counted(one)
        if not self._count:
            self._start(one.at_ns)
        self._count += count
        self._ids += one.tokens
        self._texts.append(one.text)
        self._length += len(one.text)
        self._last_ns = one.at_ns
        text = "" if one.tokens and self._tokenizer else self._words.plain(one.text, before=self._tail)
        self._tail = (self._tail + one.text)[-SHOWN_AT_MOST:]
        self._tell(Delivered(tuple(one.tokens), count, text, one.at_ns))

    def _counted(self, one: Delivery) -> int:
        """A character of several tokens comes as one id, so the server's own running count goes first."""
        if one.total is not None and one.total - self._count >= len(one.tokens):
            return one.total - self._count
        if one.tokens or self._tokenizer is None:
            return len(one.tokens) or 1
        return max(1, len(self._tokenizer.encode(one.text)))

    def _start(self, at_ns: int) -> None:
        arrived_ns, queued_ns = self._arrived
        prompt = len(self.request.prompt) or (self._report and self._report.prompt_tokens) or 0
        self._tell(Started(prompt, at_ns, arrived_ns, queued_ns))

    def lacks(self, figures: Iterable[str]) -> bool:
        """Whether the answer leaves out one of these figures."""
        return any(getattr(self._report or Reported(), name) in (None, ()) for name in figures)

    def supplement(self, counts: Mapping[str, Any]) -> None:
        """Take the server's counters for what its answer does not say. No other request was under way."""
        lacking = {name: count for name, count in counts.items() if self.lacks([name])}
        source: dict[str, Any] = {"source": "metrics"} if "num_draft_tokens" in lacking else {}
        self._report = dataclasses.replace(self._report or Reported(), **lacking, **source)

    def end(self) -> Decoded:
        """Close the answer: what is the text, and does it fit what the server says of it?"""
        self._flush()
        if self._finish is None:
            raise ServerFailed(
                f"{self._name} ended its answer after {self._count} tokens without saying why, so half of it may be "
                "missing."
            )
        if not self._count:
            self._start(perf_counter_ns() - self._sent_ns)
        text, report = self._words.plain("".join(self._texts)), self._report or Reported()
        self._check_prompt(report)
        tokens = self._tokens(text, report)
        report = self._possible(dataclasses.replace(report, doubt=self._doubt(tokens, report), end_ns=self._last_ns))
        tokens, reason = self._cut(tokens)
        self._tell(report)
        new = len(tokens) or self._count
        self._tell(Finished(reason, new, self._last_ns))
        return Decoded(tokens, reason, text)

    def _check_prompt(self, report: Reported) -> None:
        own = len(self.request.prompt)
        if own and report.prompt_tokens not in (None, own):
            raise ServerFailed(
                f"{self._name} read the prompt as {report.prompt_tokens} tokens, and the target's tokenizer reads it "
                f"as {own}. It has another tokenizer, or it adds a token of its own at the start."
            )

    def _tokens(self, text: str, report: Reported) -> list[int]:
        """The answer's ids: those that came, unless some are missing and the text explains them."""
        if self._tokenizer is None:
            return self._ids
        if not self._ids:
            return self._spelled(text) if text else []
        if report.new_tokens and report.new_tokens > len(self._ids):
            has_end = self._finish == "eos" and self._ids[-1] in self.request.ending.end_tokens
            spelled = [*self._spelled(text), *self._ids[len(self._ids) - has_end :]]
            if len(spelled) == report.new_tokens:
                return spelled
        self._check_vocabulary(text)
        return self._ids

    def _spelled(self, text: str) -> list[int]:
        """Encode the text as it follows the prompt."""
        assert self._tokenizer
        prompt = list(self.request.prompt)
        whole = self._tokenizer.encode(self.request.text + text)
        return whole[len(prompt) :] if whole[: len(prompt)] == prompt else self._tokenizer.encode(text)

    def _check_vocabulary(self, text: str) -> None:
        assert self._tokenizer
        try:
            own = self._tokenizer.decode(self._ids)
        except (IndexError, OverflowError, ValueError, TypeError):
            own = None
        if own is not None and self._words.holds_key(own):
            raise ServerFailed(f"{self._name} wrote its own key into its answer, so the answer is left out.")
        if own is None or not _alike(own, text):
            raise ServerFailed(
                f"{self._name} sent ids that write {str(own)[:40]!r} with the target's tokenizer, and the text "
                f"{text[:40]!r}. It has another tokenizer, so it serves another model."
            )

    def _doubt(self, tokens: Sequence[int], report: Reported) -> str:
        told, came = report.new_tokens, len(tokens)
        is_end = self._finish == "eos" and told == came + 1  # the end token counts, and some servers do not send it
        if told is None or not self._ids or told == came or is_end:
            return ""
        return f"it counts {told} tokens and sent {came}"

    def _possible(self, report: Reported) -> Reported:
        """Leave out counts of drafts that are too large for any answer of this length."""
        names = "num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens"
        steps, drafted, accepted = (getattr(report, name) or 0 for name in names)
        if max(steps, accepted, sum(report.acceptance_histogram), drafted // LONGEST_DRAFT) <= self._most:
            return report
        told = f"it counts {steps} verifications, {drafted} drafted and {accepted} accepted tokens"
        unknown: dict[str, Any] = {**dict.fromkeys(names), "acceptance_histogram": (), "drafts_by_position": ()}
        return dataclasses.replace(report, **unknown, doubt=f"{told} for an answer of {self._count}")

    def _cut(self, tokens: list[int]) -> tuple[list[int], FinishReason]:
        """End the text where every other strategy ends it."""
        assert self._finish
        found = self.request.ending.find(tokens, len(tokens)) if tokens else None
        most = self.request.sampling.max_new_tokens
        if found and found[0] <= most:
            return tokens[: found[0]], found[1]
        is_short = self._finish == "length" and (len(tokens) or self._count) < most
        return tokens[:most], "context" if is_short else self._finish


def _alike(own: str, text: str) -> bool:
    """Whether two spellings of an answer agree. Ends may differ: special tokens, half a character, a stop string."""
    short, long = sorted((own.strip().rstrip("\ufffd"), text.strip().rstrip("\ufffd")), key=len)
    return long.startswith(short) or short[:200] == long[:200]


def _parsed(data: bytes, words: Words) -> Json:
    try:
        event = words.json(data)
    except ValueError:
        raise ServerFailed(f"The server sent an event that is not JSON: {words.text(data)[:60]!r}.") from None
    if not isinstance(event, dict):
        raise ServerFailed(f"The server sent an event that is not an object: {words.text(data)[:60]!r}.")
    return event


async def _explanation(reads: AsyncGenerator[Read, None], words: Words) -> str:
    """Return the server's own words for an error, at most one line."""
    raw = b""
    async for _, more in reads:
        raw += more
        if len(raw) > 1 << 16:
            break
    text = words.text(raw)
    try:
        found = words.json(raw)
        error = found.get("error", found.get("detail", found)) if isinstance(found, dict) else found
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except ValueError:
        pass
    line = " ".join(text.split())
    return f"It says: {line[:LONGEST_WORDS]}" if line else ""


def _pause(head: Head) -> float:
    """Read the seconds of Retry-After. A server that is asked again at once would only be busier."""
    value = head.headers.get("retry-after", "")
    return max(LEAST_WAIT_S, float(value[:9])) if value.isascii() and value.isdigit() else LEAST_WAIT_S
