"""Training loop: batches, schedule, checkpoints. It knows no corpus and no loss.

The seed and the step's number decide everything in a step, so a training that was stopped and resumed gives the same
weights as one that was not. The learning rate warms up, stays, and falls linearly to zero over the last part. The fall
can begin at any step, so a time limit also gives a fully annealed model.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from decoding.errors import BadCheckpoint
from starter.muon import Muon

WARM_UP = 100  # steps
SAVE_EVERY_S = 120.0
SAY_EVERY = 25  # steps
MEASURE_EVERY = 250  # steps


class Stopped(Exception):
    """SIGINT or SIGTERM came; the state is saved."""


@dataclass(frozen=True)
class Plan:
    """Number of steps and their batches. Without `steps`, `minutes` decides when the fall begins."""

    steps: int | None
    minutes: float
    fall: float  # share of the steps with a falling learning rate and sequences of the full context
    tokens_per_step: int = 4096
    short: int = 256  # tokens of a sequence before the fall: attention over few tokens is cheap
    long: int = 1024  # tokens of a sequence during the fall: the checkpoint's context, so the model has seen it
    matrix_lr: float = 0.02
    other_lr: float = 0.004


@dataclass
class Progress:
    """Progress of a training. Saved with the weights."""

    step: int = 0
    seconds: float = 0.0
    fall_from: int | None = None
    last_step: int | None = None
    losses: list[tuple[int, float]] = field(default_factory=list)  # (step, held-out loss)


class Batches(Protocol):
    def batch(self, step: int, rows: int, length: int) -> Tensor: ...


@dataclass(frozen=True)
class Windows:
    """Windows of one row of tokens, in a new order per epoch that the seed decides."""

    tokens: np.ndarray
    seed: int
    first: int = 0  # first step, to continue another training's order

    def batch(self, step: int, rows: int, length: int) -> Tensor:
        """Return [rows, length + 1] tokens: the inputs and, shifted by one, the answers."""
        count = (len(self.tokens) - 1) // length
        begin = (self.first + step) * rows
        chosen = []
        for row in range(begin, begin + rows):
            order = np.random.default_rng((self.seed, length, row // count)).permutation(count)
            start = int(order[row % count]) * length
            chosen.append(self.tokens[start : start + length + 1].astype(np.int64))
        return torch.from_numpy(np.stack(chosen))


class Training:
    """One model in training: weights, optimizers and progress, and the file that holds all three."""

    def __init__(self, model: LlamaForCausalLM, plan: Plan, state_file: Path):
        self.model = model
        self.plan = plan
        self.state_file = state_file
        self.progress = Progress()
        matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
        inside = {id(p) for p in matrices}
        others = [p for p in model.parameters() if id(p) not in inside]
        self.optimizers: list[torch.optim.Optimizer] = [
            Muon(matrices, lr=plan.matrix_lr),
            torch.optim.AdamW(others, lr=plan.other_lr, betas=(0.9, 0.95), weight_decay=0.0),
        ]

    @property
    def is_done(self) -> bool:
        return self.progress.step == self.progress.last_step

    def resume(self) -> bool:
        """Load the saved state, if there is one."""
        if not self.state_file.exists():
            return False
        try:
            saved = torch.load(self.state_file, weights_only=True, map_location=self.model.device)
        except Exception as error:  # torch raises whatever its reader meets
            raise BadCheckpoint(
                f"{self.state_file} cannot be read, so the training cannot go on from it. Delete it to train from "
                "the start, or put back a whole copy."
            ) from error
        self._check(saved["model"])
        self.model.load_state_dict(saved["model"])
        for optimizer, state in zip(self.optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        self.progress = Progress(**saved["progress"])
        return True

    def _check(self, weights: dict[str, Tensor]) -> None:
        """Refuse weights of another tokenizer or shape before loading them."""
        wanted = self.model.state_dict()
        saved_tokens, tokens = (part["model.embed_tokens.weight"].size(0) for part in (weights, wanted))
        if saved_tokens != tokens:
            raise BadCheckpoint(
                f"{self.state_file} was trained with a tokenizer of {saved_tokens:,} tokens, but the one beside it has "
                f"{tokens:,}. Put back the tokenizer that belongs to it, or name another work folder to begin anew."
            )
        if {name: w.shape for name, w in weights.items()} != {name: w.shape for name, w in wanted.items()}:
            raise BadCheckpoint(
                f"{self.state_file} holds a model of another shape than the recipe asks for. "
                "Name another work folder to begin anew."
            )

    def save(self) -> None:
        """Write the state so that after a kill at any moment the file is whole: either the old one or the new one."""
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "progress": asdict(self.progress),
        }
        beside = self.state_file.with_suffix(".part")
        torch.save(state, beside)
        beside.replace(self.state_file)

    def run(
        self,
        batches: Batches,
        loss_of: Callable[[Tensor], Tensor],
        held_out_loss: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        """Train to the end of the plan. SIGINT and SIGTERM save the state and raise Stopped."""
        p = self.progress
        meter = _Meter(p)
        self.plan_the_fall()
        with _signals() as asked:
            while not self.is_done:
                meter.add(*self._step(batches, loss_of))
                self.plan_the_fall()
                if p.step % MEASURE_EVERY == 0 or self.is_done:
                    p.losses.append((p.step, round(held_out_loss(), 4)))
                    say(f"step {p.step}: held-out loss {p.losses[-1][1]:.3f}")
                if p.step % SAY_EVERY == 0 or self.is_done:
                    say(meter.line(self.plan))
                if asked.to_stop or self.is_done or meter.is_time_to_save():
                    self.save()
                if asked.to_stop and not self.is_done:
                    raise Stopped(f"Stopped at step {p.step}; the state is saved. The same command goes on from here.")

    def _step(self, batches: Batches, loss_of: Callable[[Tensor], Tensor]) -> tuple[float, int]:
        """Take one step and return its loss and its tokens."""
        p, plan = self.progress, self.plan
        length = plan.short if p.fall_from is None or p.step < p.fall_from else plan.long
        batch = batches.batch(p.step, max(1, plan.tokens_per_step // length), length).to(self.model.device)
        loss = loss_of(batch)
        loss.backward()
        for optimizer, lr in zip(self.optimizers, (plan.matrix_lr, plan.other_lr), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = lr * self.rate()
            optimizer.step()
            optimizer.zero_grad()
        p.step += 1
        return loss.item(), batch[:, 1:].numel()

    def rate(self) -> float:
        """Return the share of the full learning rate at this step."""
        p = self.progress
        warm = min(1.0, (p.step + 1) / WARM_UP)
        if p.fall_from is None or p.last_step is None or p.step < p.fall_from:
            return warm
        return warm * (p.last_step - p.step) / (p.last_step - p.fall_from)

    def plan_the_fall(self) -> None:
        """Set where the learning rate begins to fall: by the number of steps, or when enough of the minutes have
        passed."""
        p, plan = self.progress, self.plan
        if p.fall_from is not None:
            return
        if plan.steps is not None:
            p.fall_from, p.last_step = int(plan.steps * (1 - plan.fall)), plan.steps
        elif p.seconds >= plan.minutes * 60 * (1 - plan.fall):
            p.fall_from, p.last_step = p.step, round(p.step / (1 - plan.fall))


class _Meter:
    """Counts seconds, tokens and losses between two progress lines."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.seconds_before = progress.seconds
        self.began = self.saved = monotonic()
        self._begin_line()

    def _begin_line(self) -> None:
        self.line_began, self.losses, self.tokens = monotonic(), list[float](), 0

    def add(self, loss: float, tokens: int) -> None:
        self.losses.append(loss)
        self.tokens += tokens
        self.progress.seconds = self.seconds_before + monotonic() - self.began

    def is_time_to_save(self) -> bool:
        if monotonic() - self.saved < SAVE_EVERY_S:
            return False
        self.saved = monotonic()
        return True

    def line(self, plan: Plan) -> str:
        p = self.progress
        speed = self.tokens / (monotonic() - self.line_began)
        left_s = plan.minutes * 60 - p.seconds
        if p.last_step is not None:
            left_s = (p.last_step - p.step) * plan.tokens_per_step / speed
        loss = sum(self.losses) / len(self.losses)
        self._begin_line()
        of = f"/{p.last_step}" if p.last_step is not None else ""
        return f"step {p.step}{of}  loss {loss:.3f}  {speed:,.0f} tokens/s  {max(0.0, left_s) / 60:.1f} min left"


@contextmanager
def _signals() -> Iterator[SimpleNamespace]:
    """Turn SIGINT and SIGTERM into a flag that the loop reads between two steps."""
    asked = SimpleNamespace(to_stop=False)

    def ask(*_: object) -> None:
        asked.to_stop = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
