"""Recording workers: they write the target's texts and record the draft along them, prompt by prompt. The pair of this
process works, and copies of it in other processes if cores are free. If a copy dies, the others write the text that it
had not finished."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import MappingProxyType

import torch

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.core.loop import never
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.recording import Recording, record, undrafted
from decoding.disco.texts import Texts
from decoding.drafting.tree_shapes import LikeliestPaths
from decoding.errors import BadPrompts, DrafthouseError
from decoding.measure.comparison import Measurement
from decoding.measure.schedule import SampleKey
from decoding.models.devices import free_bytes
from decoding.models.folder import inspect
from decoding.models.runner import read_prompt
from decoding.prompts.prompt import PromptItem
from decoding.strategies import static, suffix
from decoding.trace.events import Recorder
from decoding.vocabularies.shared import require_scores

LEAST_AGREED = 0.95  # a text from other settings differs after a few tokens
LEAST_PROMPTS = 16  # with fewer prompts, this process is done before a copy has loaded
RECORDING = "Recording drafts"
ROOM = 4  # a copy needs this many times the pair's weights in free memory
PATIENCE = 0.2  # s between checks for cancellation while only copies work
# If the dice fix the text, any strategy writes it, and WRITER is fast. Under ratio dice nearly every token must be
# drafted and judged, so DEEP_WRITER drafts long.
WRITER, DEEP_WRITER = (choose(static.STRATEGY.slug, {"lookahead": lookahead}) for lookahead in (3, 20))

COPIER = choose(suffix.STRATEGY.slug)  # writes the texts of a target alone: fast where they repeat

OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class Work:
    """One prompt to write and record. A `tail_depth` of 0 records no tails. `trees` are for replays of
    likeliest paths."""

    prompt: PromptItem
    sampling: Sampling
    tail_depth: int
    trees: Sequence[LikeliestPaths] = ()
    text: Sequence[int] = ()  # if an earlier run has written it


@torch.inference_mode()
def write(pair: ModelPair, work: Work, cancelled: Callable[[], bool] = never) -> Recording | None:
    """Write the text of a prompt and record the draft along it; None after a cancellation, which leaves no whole
    text."""
    sampling, prompt = work.sampling, work.prompt
    writer = WRITER if sampling.fixes_the_text else DEEP_WRITER
    comparison = Measurement(pair, [prompt], [writer], sampling, cancelled=cancelled)
    if work.text:
        _check(comparison, prompt, work.text)
    text = work.text or comparison.decode(SampleKey(writer, prompt, 0), Recorder()).tokens
    if cancelled():
        return None
    return record(
        prompt.id,
        comparison.tokens(prompt),
        text,
        draft=pair.require_draft(RECORDING),
        dice=dice_for(sampling, pair.vocab, comparison.seed(prompt, 0)),
        end_tokens=() if sampling.ignore_eos else pair.end_tokens,
        max_new_tokens=sampling.max_new_tokens,
        tail_depth=work.tail_depth,
        trees=work.trees,
        judge=None if sampling.fixes_the_text else pair.target,
    )


def _check(comparison: Measurement, prompt: PromptItem, text: Sequence[int]) -> None:
    """Refuse a text that the target would not write, apart from ties. Needs one pass; writing needs about a hundred."""
    pair, tokens = comparison.models, comparison.tokens(prompt)
    dice = dice_for(comparison.sampling, pair.vocab, comparison.seed(prompt, 0))
    dice.commit(tokens)
    aheads = [text[:place] for place in range(len(text))]
    agreed = 0.0
    if comparison.sampling.fixes_the_text and max(text) < pair.vocab and len(tokens) + len(text) <= pair.target.context:
        read_prompt(pair.target, tokens)
        said = dice.draw(dice.scores(pair.target.extend([*tokens[-1:], *text[:-1]], len(text)), aheads), aheads)
        agreed = float((said.cpu() == torch.tensor(text)).float().mean())
    if agreed < LEAST_AGREED:
        raise BadPrompts(
            f"The recorded text of prompt {prompt.id} is not what this target says with these settings; give the "
            "settings of the run that was recorded, which must be greedy or have shared dice."
        )


class RecordingWorkers:
    """Pair and its copies. Close it or use it as a context: copies hold memory."""

    def __init__(self, pair: ModelPair, copies: int = 0) -> None:
        pair.require_draft(RECORDING)
        if pair.bridge:
            require_scores(pair.bridge.method, "A recording")
        self.pair = pair
        self._copies = [_Copy(pair.again) for _ in range(copies)] if pair.again else []

    def __enter__(self) -> RecordingWorkers:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        for copy in self._copies:
            copy.end()
        self._copies.clear()

    def record(
        self,
        prompts: Sequence[PromptItem],
        sampling: Sampling,
        tail_depth: int,
        *,
        trees: Sequence[LikeliestPaths] = (),
        texts: Texts = MappingProxyType({}),
        on_progress: OnProgress = lambda done: None,
        cancelled: Callable[[], bool] = never,
    ) -> list[Recording]:
        """Return one recording per prompt, in their order; fewer after a cancellation. An unusable prompt is refused
        before any text is written. `texts` are texts that earlier runs wrote."""
        reading = Measurement(self.pair, prompts, [WRITER], sampling)
        for prompt in prompts:
            reading.tokens(prompt)
        works = [Work(prompt, sampling, tail_depth, trees, tuple(texts.get(prompt.id, ()))) for prompt in prompts]
        found: dict[int, Recording] = {}
        with _one_thread() if self._copies else contextlib.nullcontext():
            for number, recording in self._written(works, cancelled):
                found[number] = recording
                on_progress(len(found))
        return [found[number] for number in sorted(found)]

    def _written(self, works: Sequence[Work], cancelled: Callable[[], bool]) -> Iterator[tuple[int, Recording]]:
        """Yield recordings as they are made. This process takes prompts from the front, copies take them from the
        back."""
        waiting = deque(range(len(works)))
        try:
            while waiting or any(copy.has is not None for copy in self._copies):
                for copy in self._copies:
                    if waiting and copy.has is None:
                        copy.give(number := waiting.pop(), works[number])
                if cancelled():
                    return
                if waiting:
                    number = waiting.popleft()
                    recording = write(self.pair, works[number], cancelled)
                    if recording is None:
                        return
                    yield number, recording
                yield from self._from_copies(waiting, 0.0 if waiting else PATIENCE)
        finally:
            if any(copy.has is not None for copy in self._copies):
                self.close()  # nobody would read the recordings that copies still make

    def _from_copies(self, waiting: deque[int], patience: float) -> Iterator[tuple[int, Recording]]:
        busy = {copy.connection: copy for copy in self._copies if copy.has is not None}
        for connection in wait(list(busy), patience):
            copy = busy[connection]  # type: ignore[index]
            assert copy.has is not None
            number, copy.has = copy.has, None
            try:
                yield number, copy.answer()
            except (EOFError, OSError):
                waiting.append(number)
                self._copies.remove(copy)
                copy.end()


class _Copy:
    """The pair in another process, which ends when its connection closes."""

    def __init__(self, again: Callable[[], ModelPair]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far = context.Pipe()
        self.process: BaseProcess = context.Process(target=serve, args=(again, far), daemon=True)
        self.process.start()
        far.close()
        self.has: int | None = None  # number of the work that it is doing

    def give(self, number: int, work: Work) -> None:
        self.has = number
        with contextlib.suppress(OSError):  # the copy has died; `answer` will raise
            self.connection.send_bytes(pickle.dumps(work))

    def answer(self) -> Recording:
        answer = pickle.loads(self.connection.recv_bytes())
        if isinstance(answer, DrafthouseError):
            raise answer
        assert isinstance(answer, Recording)
        return answer

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(again: Callable[[], ModelPair], connection: Connection) -> None:
    """Run in the other process: write and record the prompt of each `Work` that arrives, until the connection closes.
    Recordings travel as plain pickles, because torch's own way to send tensors keeps a file open for each tensor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    torch.set_num_threads(1)
    pair = again()
    with contextlib.suppress(EOFError, OSError):
        while True:
            work = pickle.loads(connection.recv_bytes())
            try:
                answer: Recording | DrafthouseError | None = write(pair, work)
            except DrafthouseError as error:
                answer = error
            connection.send_bytes(pickle.dumps(answer))


def copies_for(pair: ModelPair, prompt_count: int) -> int:
    """Number of copies worth starting: one per thread besides this one, as far as memory allows. Single-threaded
    processes together write faster than one process with all threads."""
    device = pair.target.device
    folders = [folder for folder in (pair.target_folder, pair.draft_folder) if folder is not None]
    if not pair.again or not folders or device.type != "cpu" or prompt_count < LEAST_PROMPTS:
        return 0
    each = ROOM * sum(inspect(folder).weight_bytes for folder in folders)
    return min(torch.get_num_threads() - 1, free_bytes(device) // each)


def undrafted_texts(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    *,
    on_progress: OnProgress = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> list[Recording]:
    """Write the texts of a target alone: there is no draft to record along them. Return one recording per prompt, in
    their order; fewer after a cancellation. An unusable prompt is refused before any text is written."""
    comparison = Measurement(pair, prompts, [COPIER], sampling, cancelled=cancelled)
    tokens = [comparison.tokens(prompt) for prompt in prompts]
    ends = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    found: list[Recording] = []
    for prompt, read in zip(prompts, tokens, strict=True):
        text = comparison.decode(SampleKey(COPIER, prompt, 0), Recorder()).tokens
        if cancelled():
            break  # the text is incomplete
        found.append(undrafted(prompt.id, read, text, sampling.max_new_tokens, ends))
        on_progress(len(found))
    return found


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
