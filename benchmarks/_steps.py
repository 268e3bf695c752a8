"""Steps of a long measurement: each in a process of its own, with a time limit, and with a JSON file that says how it
ended. Standard library only.

A step that has its file is not run again, so an interrupted measurement goes on where it was.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAST_LINES = 60  # of a step's output
SLOWER = 3  # so many times a dry run may take, on a machine that others use
LEAST_S = 10.0  # with less time left no step is started
ALL = "card.json"  # every step's file in one
NO_NUMBA = ROOT / "benchmarks" / "_no_numba"


@dataclass(frozen=True)
class Step:
    """A command that writes rows to NAME.jsonl as it goes, or one object to NAME.found.json; `{rows}` and `{found}` in
    it become these paths."""

    name: str
    command: Sequence[str]
    limit_s: float
    without_numba: bool = False  # it compiles for tens of seconds, also where a CPU's part is small


def run(
    steps: Sequence[Step], folder: Path, minutes: float, is_again: bool = False, copy_to: Path | None = None
) -> int:
    """Run the steps in order, as far as time allows. Return how many did not end well. `is_again` also runs steps anew
    that failed. After each step, copy the file with all of them to the folder `copy_to`."""
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * minutes
    for number, step in enumerate(steps, 1):
        left = deadline - time.monotonic()
        before = read(folder, step)
        if before and (before["state"] == "done" or not is_again):
            say(number, steps, step, f"{before['state']} before")
        elif left < LEAST_S:
            say(number, steps, step, "no time left; run the same command again to go on here")
        else:
            say(number, steps, step, f"at most {min(step.limit_s, left):.0f} s")
            _play(step, folder, min(step.limit_s, left))
            done = read(folder, step) or {}
            say(number, steps, step, f"{done['state']} in {done['seconds']:.0f} s", *done["output"][-4:])
        _merge(folder, copy_to)
    return sum((read(folder, step) or {"state": "not run"})["state"] != "done" for step in steps)


def read(folder: Path, step: Step) -> dict[str, Any] | None:
    return _found(folder).get(step.name)


def _found(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the results of all steps that ran in a folder, in this call or before it, and in another plan."""
    whole: dict[str, dict[str, Any]] = json.loads((folder / ALL).read_text()) if (folder / ALL).exists() else {}
    for file in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns):
        if file.name != ALL and not file.name.endswith(".found.json"):
            whole[file.stem] = json.loads(file.read_text())
    return whole


def environment(step: Step) -> dict[str, str]:
    """Our code first on the path, then whatever is on it."""
    first = [str(NO_NUMBA)] if step.without_numba else []
    path = os.pathsep.join([*first, str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def say(number: int, steps: Sequence[Step], step: Step, *lines: str) -> None:
    print(f"[{number}/{len(steps)}] {step.name:24} " + "\n    ".join(lines), flush=True)


def _play(step: Step, folder: Path, limit_s: float) -> None:
    files = {"rows": folder / f"{step.name}.jsonl", "found": folder / f"{step.name}.found.json"}
    for file in files.values():
        file.unlink(missing_ok=True)
    command = [part.format(**files) if part in ("{rows}", "{found}") else part for part in step.command]
    log, start = folder / f"{step.name}.log", time.monotonic()
    with log.open("w") as output:
        state = _state_of(command, environment(step), output.fileno(), limit_s)
    result = {"step": step.name, "state": state, "seconds": time.monotonic() - start, "command": command}
    result["output"] = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    if files["rows"].exists():
        result["rows"] = _rows(files["rows"])
    if files["found"].exists():
        result["found"] = json.loads(files["found"].read_text())
    write(folder / f"{step.name}.json", result)


def _state_of(command: Sequence[str], environ: dict[str, str], output: int, limit_s: float) -> str:
    """Run a command in a group of its own, so that its children end with it."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        start_new_session=True,
    )  # fmt: skip
    try:
        code = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return "done" if code == 0 else f"failed with code {code}"


def _rows(file: Path) -> list[Any]:
    """Read the rows that were written whole."""
    rows = []
    for line in file.read_text().splitlines():
        with suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def _merge(folder: Path, copy_to: Path | None) -> None:
    found = _found(folder)
    for to in filter(None, (folder, copy_to)):
        write(to / ALL, found)


def write(file: Path, value: Any) -> None:
    """Write all of a file or nothing: a step with half a file would count as run."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(value, indent=1) + "\n")
    new.replace(file)
