"""Settings that a plan prints for other engines: each is one that the engine takes.

transformers reads its own here. Of the other engines, `engines/` holds the options that we print, as their sources have
them.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from transformers import GenerationConfig

from decoding.choice import choose
from decoding.drafting.strategy import EngineSetting
from decoding.strategies import STRATEGIES
from decoding.strategies.schedule import STRATEGY as SCHEDULE

TABLES = ("1:7/4:3/16:1/64:0", "8:4", "1:2/2:5/64:1", "1:0/4:0", "1:0/8:3")


def exports() -> Iterator[EngineSetting]:
    for spec in STRATEGIES.values():
        for params in [spec.read({}), *spec.grid()]:
            choice = choose(spec.slug, params)
            yield from choice.spec.exports(choice.params)
    for table in TABLES:
        yield from scheduled(table)


def scheduled(table: str) -> list[EngineSetting]:
    choice = choose(SCHEDULE.slug, {"table": table})
    return list(choice.spec.exports(choice.params))


def of(engine: str) -> list[EngineSetting]:
    found = [export for export in exports() if export.engine == engine]
    assert found
    return found


def options(export: EngineSetting) -> dict[str, str]:
    words = shlex.split(export.setting)
    return dict(zip(words[::2], words[1::2], strict=True))


def vllm(export: EngineSetting) -> dict[str, Any]:
    [(name, config)] = options(export).items()
    assert name == "--speculative-config"
    return json.loads(config)


@pytest.mark.parametrize("engine", ["vLLM", "SGLang", "llama.cpp"])
def test_an_engine_takes_every_option(engine: str) -> None:
    schema = json.loads((Path(__file__).parent / "engines" / f"{engine.lower()}.json").read_text())
    for export in of(engine):
        Draft202012Validator(schema).validate(vllm(export) if engine == "vLLM" else options(export))


def test_transformers_reads_every_setting_and_keeps_it() -> None:
    for export in of("transformers"):
        [call] = [node for node in ast.walk(ast.parse(export.setting)) if isinstance(node, ast.Call)]
        given = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        config = GenerationConfig()
        assert config.update(**given) == {}, "transformers knows no such setting"
        config.validate(strict=True)


def test_engines_with_one_lookahead_get_the_one_for_few_texts_and_are_told_for_how_many() -> None:
    found = {export.engine: export for export in scheduled("2:5/16:2/64:0")}
    assert "--spec-draft-n-max 5 --parallel 2" in found["llama.cpp"].setting
    assert "best for up to 2 at once" in found["llama.cpp"].note
    assert "num_assistant_tokens=5," in found["transformers"].setting
    assert "transformers" not in {export.engine for export in scheduled("1:0/8:3")}
