"""The card says what was measured."""

import string

from starter.card import TEMPLATE, write_card

AGREEMENT = {
    "prompts": "code",
    "sampling": "greedy",
    "match": 0.7,
    "lookahead_mean": 2.0,
    "lookahead_std": 3.0,
    "repeated_8_grams": 0.1,
    "passes_per_token": {1: 0.6, 2: 0.5},
}
COSTS = {"target_ms": [1.0, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2, 1.3], "draft_ms": 0.11}


def test_every_place_of_the_template_is_filled(tmp_path):
    filled_elsewhere = {"sampling", "agreement", "losses", "sources", "draft_per_verify"}
    names = {name for _, name, _, _ in string.Formatter().parse(TEMPLATE.read_text()) if name}
    made = {name: 1 for name in names - filled_elsewhere if not name.endswith("_ms")}
    source = {"package": "django", "version": "5.2", "licence": "BSD-3-Clause", "files": 3, "characters": 4000}
    facts = {
        "made": made,
        "measured": {"agreement": [AGREEMENT], "costs": COSTS},
        "sampling": {"temperature": 0.5},
        "losses": {"target": [(250, 3.5)], "draft": [(250, 4.25)]},
        "sources": [source],
    }
    write_card(tmp_path / "README.md", facts)
    card = (tmp_path / "README.md").read_text()
    assert "| code | greedy | 0.70 | 2.00 ± 3.00 | 0.10 | 1.64 x at lookahead 2 |" in card
    assert "| draft, one row / target, five rows | 10% |" in card
    assert "| draft | 250 | 4.25 |" in card
    assert "| django | 5.2 | BSD-3-Clause | 3 | 4,000 |" in card
