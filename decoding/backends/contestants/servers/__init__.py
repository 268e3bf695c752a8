"""Servers as contestants: vLLM, SGLang, llama.cpp and others answer requests over HTTP. `dialects` says how each is
asked, `endpoint` where it is, `guard` which addresses may be reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.drafting.params import Param
from decoding.drafting.strategy import Looks, Strategy

if TYPE_CHECKING:
    from decoding.backends.contestants.base import Contestant
    from decoding.backends.pair import ModelPair

SERVER = Strategy(
    slug="server",
    title="Server",
    summary="A server that is running elsewhere; it decodes with models of its own.",
    role="server",
    order=20,
    looks=Looks("▣", "M-8.5,-8.5H8.5V8.5H-8.5ZM-6,-6V6H6V-6ZM-3.5,-3.5H3.5V3.5H-3.5Z", "#4b5a6c", "#66788c", 66),
    params=(Param("name", "text", "", "which of the servers that are known here"),),
    remark="is another program, asked over HTTP: its times hold the way there and back",
    needs_draft=False,
)
SPECS = (SERVER,)


def contestant(pair: ModelPair) -> Contestant:
    from decoding.backends.contestants.servers.running import Servers

    return Servers(pair.servers, pair.tokenizer)
