"""Measure what another tokenizer costs. The starter draft drafts for its target, and so do copies of it that have fewer
tokens in another order, by TLI and by SLEM. Tokens per pass of the target do not depend on how busy the machine is."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from decoding.spec import parse_choices
from decoding.vocabularies.scores import check_scores
from worker.terminal.ending import ended
from worker.terminal.parser import Parser
from worker.terminal.values import count_of


def run_all(argv: Sequence[str]) -> None:
    parser = Parser(prog="./drafthouse bench other_tokenizers", description=__doc__)
    parser.add_argument("--strategies", default="static:4")
    parser.add_argument(
        "--tokens", type=count_of, nargs="+", default=[4096, 3000, 2000, 1000, 500], help="of the draft"
    )
    parser.add_argument("--limit", type=count_of, default=20, help="prompts")
    parser.add_argument("--new-tokens", type=count_of, default=96, help="of each text")
    asked = parser.parse_args(argv)
    choices = parse_choices(asked.strategies)
    check_scores("slem", choices)

    from benchmarks._other_tokenizers import measure_all  # loads torch: --help must not need it

    measure_all(asked, choices)


if __name__ == "__main__":
    sys.exit(ended(run_all, sys.argv[1:]))
