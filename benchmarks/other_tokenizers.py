"""Measure what another tokenizer costs. The starter draft drafts for its target, and so do copies of it that have fewer
tokens in another order, by TLI and by SLEM. Tokens per pass of the target do not depend on how busy the machine is."""

from __future__ import annotations

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(prog="./drafthouse bench other_tokenizers", description=__doc__)
    parser.add_argument("--strategies", default="static:4")
    parser.add_argument("--tokens", type=int, nargs="+", default=[4096, 3000, 2000, 1000, 500], help="of the draft")
    parser.add_argument("--limit", type=int, default=20, help="prompts")
    parser.add_argument("--new-tokens", type=int, default=96, help="of each text")
    asked = parser.parse_args()

    from benchmarks._other_tokenizers import measure_all  # loads torch: --help must not need it

    measure_all(asked)


if __name__ == "__main__":
    main()
