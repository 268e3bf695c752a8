"""Is decoding as fast as in another checkout? Both run the starter pair in turns, in processes of their own."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
STRATEGIES = "autoregressive,static:4,disco,ssd:4,ssd-disco"
BAR = 0.99


def speeds(checkout: Path, asked: argparse.Namespace) -> Mapping[str, float]:
    """Tokens per second by label."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-P", "-m", "worker.terminal.compare"]
        command += ["--strategies", asked.strategies, "--limit", str(asked.limit), "--threads", str(asked.threads)]
        command += ["--max-new-tokens", str(asked.tokens), "--concurrency", asked.concurrency, "--json", str(result)]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)
        rows = json.loads(result.read_text())["strategies"]
    return {row["label"]: row["tokens_per_s"] for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench against", description=__doc__)
    parser.add_argument("other", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--pairs", type=int, default=8, help="how often each of the two runs")
    parser.add_argument("--limit", type=int, default=6, help="prompts")
    parser.add_argument("--tokens", type=int, default=96, help="new tokens of each text")
    parser.add_argument("--concurrency", default="1", help="texts at once, such as 1,8 (%(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the ratios go")
    asked = parser.parse_args()
    if not (asked.other / "worker" / "terminal").is_dir():
        parser.error(f"{asked.other} is not a checkout of Drafthouse. Make one: git worktree add FOLDER COMMIT")
    ratios: dict[str, list[float]] = defaultdict(list)
    for number in range(asked.pairs):
        order = (HERE, asked.other.resolve()) if number % 2 else (asked.other.resolve(), HERE)
        found = {checkout: speeds(checkout, asked) for checkout in order}
        for label, speed in found[HERE].items():
            ratios[label].append(speed / found[asked.other.resolve()][label])
        print(f"{number + 1} of {asked.pairs}", flush=True)
    rows = {label: {"median": statistics.median(each), "ratios": each} for label, each in ratios.items()}
    for label, row in rows.items():
        print(f"{label:24} {row['median']:.3f}   {min(row['ratios']):.3f} to {max(row['ratios']):.3f}")
    if asked.json:
        asked.json.write_text(json.dumps({"bar": BAR, "new_over_old": rows}, indent=1) + "\n")
    return 0 if all(row["median"] >= BAR for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
