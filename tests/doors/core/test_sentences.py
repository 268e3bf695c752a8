"""Sentences as pages show them."""

from __future__ import annotations

from webapp.core.templatetags.ui import coded


def test_what_is_typed_looks_so_and_nothing_else_becomes_markup():
    assert coded("1st in `cpu`; start `./drafthouse up`.") == (
        "1st in <code>cpu</code>; start <code>./drafthouse up</code>."
    )
    assert coded("busy with “<b>`<i>`</b>”") == "busy with “&lt;b&gt;<code>&lt;i&gt;</code>&lt;/b&gt;”"
    assert coded("one ` alone, as a cut leaves it") == "one ` alone, as a cut leaves it"
