"""Open some 80 hostile files, each in a process of its own, and measure time and memory.

    ./drafthouse bench attack_files [--only WORDS] [--json FILE]

Each file goes to the programs that open such files: a model to `compare` as the draft of the starter pair, a tokenizer
to the engine's check too, a prompt file to `compare` and to the web process's parser, an archive or table to its
unpacker. The bar: at most 1 GiB of memory above the models' own size, or a refusal within 5 s. Each program must end,
and each refusal must be a sentence.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from decoding.errors import DrafthouseError
from decoding.models.folder import inspect
from worker.memory import GIB, run_size

ROOT = Path(__file__).resolve().parents[1]
PAIR, CODE = ROOT / "starter" / "pair", ROOT / "starter" / "prompts" / "code.jsonl"
PATIENCE = 400.0  # s; nothing may take longer
QUICK = 5.0  # s
NEW_TOKENS = 16
MEASURE = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
try:
    done = subprocess.run(sys.argv[2:], capture_output=True, text=True, errors="replace", timeout=float(sys.argv[1]))
    code, said = done.returncode, (done.stderr or done.stdout)
except subprocess.TimeoutExpired:
    code, said = None, ""
taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([code, said[-4000:], time.perf_counter() - began, taken]))
"""
CHECK = """
import sys
from pathlib import Path
from decoding.errors import DrafthouseError
from worker.engine_process import EngineProcess
from worker.jobs.check_model import CheckModel
from worker.messages import Ended, Failed
engine = EngineProcess()
try:
    engine.submit(CheckModel(Path(sys.argv[1])))
    while not isinstance(report := engine.receive(1.0), (Ended, Failed)):
        pass
    sentence = report.sentence if isinstance(report, Failed) else ""
except DrafthouseError as refusal:
    sentence = str(refusal)
engine.end()
if sentence:
    print(sentence, file=sys.stderr)
    sys.exit(2)
"""
DJANGO = """
import os, sys
from pathlib import Path
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
import django
django.setup()
from webapp.core.problems import Problem
def end(refusal):
    print(refusal, file=sys.stderr)
    sys.exit(2)
"""
PARSE = (
    DJANGO
    + """
from decoding.prompts import prompt as prompts
from decoding.errors import DrafthouseError
from webapp.registry import tables
path = Path(sys.argv[1])
try:
    tables.read(tables.PromptText(path.name, prompts.decode(path.read_bytes(), path.name)))
except (Problem, DrafthouseError) as refusal:
    end(refusal)
"""
)
UNPACK = (
    DJANGO
    + """
from webapp.uploads import archives
from webapp.uploads.reading import FileReader
from worker.jobs.unpack import as_json_lines
class Reader(FileReader):
    def __init__(self, path):
        self.size, self.file, self._at = path.stat().st_size, path.open("rb"), 0
    def _next(self, wanted):
        self.file.seek(self._at)
        return self.file.read(wanted)
path = Path(sys.argv[1])
try:
    if archives.is_table(path.name):
        as_json_lines(path, path.name, lambda: True)
    else:
        for _, stream in archives.members(Reader(path), path.name):
            while stream.read(1 << 20):
                pass
except Problem as refusal:
    end(refusal)
"""
)


@dataclass(frozen=True)
class Attack:
    name: str
    way: str
    command: list[str]
    own: int = 0  # bytes that the models and texts may take


@dataclass(frozen=True)
class Outcome:
    name: str
    way: str
    outcome: str  # refused, accepted, or the failure
    seconds: float
    peak_mib: int
    sentence: str
    holds: bool


def compare(target: Path, draft: Path, prompts: Path) -> list[str]:
    command = ["worker.terminal.compare", "--target", target, "--draft", draft, "--prompts", prompts, "--limit", "1"]
    return python("-m", *command, "--max-new-tokens", NEW_TOKENS, "--strategies", "static:2")


def python(*words: object) -> list[str]:
    return [sys.executable, *map(str, words)]


def attacks(folder: Path, only: str) -> Iterator[Attack]:
    """Make each attack on demand, and remove its files before the next."""
    from benchmarks._hostile_files import MODELS, PACKED, PROMPTS, TOKENIZERS  # makes some on import, which takes 5 s

    for name, spoil in {**MODELS, **TOKENIZERS}.items():
        if only not in name:
            continue
        model = Path(shutil.copytree(PAIR / "draft", folder / "draft"))
        spoil(model)
        letters = folder / "letters.txt"
        letters.write_text("a" * 600 + "b\n")
        models = [inspect(PAIR / "target")]
        with suppress(DrafthouseError):
            models.append(inspect(model))
        own = run_size(models, [600], NEW_TOKENS)
        if name in TOKENIZERS:
            yield Attack(name, "check", python("-c", CHECK, model))
            yield Attack(name, "compare", compare(model, model, letters), own)
        else:
            yield Attack(name, "compare", compare(PAIR / "target", model, CODE), own)
        shutil.rmtree(model)
    for name, (file_name, write) in {**PROMPTS, **PACKED}.items():
        if only not in name:
            continue
        file = folder / file_name
        write(file)
        if name in PACKED:
            yield Attack(name, "unpack", python("-c", UNPACK, file))
        else:
            yield Attack(name, "compare", compare(PAIR / "target", PAIR / "draft", file))
            if file.is_file():
                yield Attack(name, "web", python("-c", PARSE, file))
        file.unlink()


def outcome_of(attack: Attack) -> Outcome:
    measured = subprocess.run(
        python("-c", MEASURE, PATIENCE, *attack.command), cwd=ROOT, capture_output=True, text=True, check=True
    )
    code, said, seconds, peak = json.loads(measured.stdout)
    lines = [line for line in said.strip().splitlines() if line.strip()]
    sentence = lines[-1][:200] if lines and code == 2 else ""
    outcome = {0: "accepted", 2: "refused", None: "did not end"}.get(code, f"exit code {code}")
    if "Traceback" in said or (code == 2 and not sentence):
        outcome = "no sentence"
    within = peak <= GIB + attack.own or (outcome == "refused" and seconds <= QUICK)
    holds = within and outcome in ("accepted", "refused")
    return Outcome(attack.name, attack.way, outcome, round(seconds, 1), peak >> 20, sentence or said[-300:], holds)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench attack_files", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="only files whose names contain these words")
    parser.add_argument("--way", choices=("compare", "check", "web", "unpack"), help="only this way of opening files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome")
    asked = parser.parse_args()
    found: list[Outcome] = []
    print(f"{'file':36} {'way':8} {'outcome':12} {'s':>6} {'MiB':>6}")
    with tempfile.TemporaryDirectory(prefix="drafthouse-attack-") as folder:
        for attack in attacks(Path(folder), asked.only):
            if asked.way not in (None, attack.way):
                continue
            one = outcome_of(attack)
            found.append(one)
            mark = "" if one.holds else f"   BROKEN: {one.sentence}"
            print(f"{one.name:36} {one.way:8} {one.outcome:12} {one.seconds:6.1f} {one.peak_mib:6}{mark}", flush=True)
    broken = sum(not one.holds for one in found)
    if found:
        print(
            f"\n{len(found)} runs, {broken} beyond the bar; the most memory was {max(o.peak_mib for o in found)} MiB."
        )
    if asked.json:
        asked.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
