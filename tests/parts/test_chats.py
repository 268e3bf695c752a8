"""Chat prompts: files of several forms are read, the target's template makes the text, and turns follow answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from decoding.choice import Choice, parse_choices
from decoding.core.load import Load
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt, BadPrompts
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.worst import lines, ranked_by_loss
from decoding.prompts.chat.renderer import Renderer
from decoding.prompts.chat.template import template_of
from decoding.prompts.prompt import PromptItem, decode, read_prompts
from tests.kit.pairs import comparison, pair

FILES = Path(__file__).parent / "prompt_files"
WITH_MARKS = """{{ bos_token }}
{%- if tools %}<|tools|>{{ tools | tojson(indent=2) }}{% endif %}
{%- for message in messages %}
    {%- if loop.first and message.role == 'system' %}<|system|>{{ message.content | trim }}
    {%- elif message.tool_calls %}
        {%- for call in message.tool_calls %}<|call|>{{ call.function.name }}({{ call.function.arguments | tojson }})
        {%- endfor %}
    {%- elif message.role == 'assistant' %}<|assistant|>{% generation %}{{ message.content }}{% endgeneration %}</s>
    {%- else %}<|{{ message.role }}|>{{ message['content'] }}
    {%- endif %}
    {%- if loop.index > 50 %}{% break %}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"""


# Reading -------------------------------------------------------------------------------------------------------------


CHATS = ("messages", "openai-log", "sharegpt", "spec-bench", "chat-as-text")
NAMES = (
    "messages", "tools", "role", "content", "type", "text", "tool_calls", "function", "name", "arguments", "turns",
    "conversations", "from", "value", "body", "custom_id", "timestamp", "max_tokens", "reference", "prompt", "id",
)  # fmt: skip
USER = {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"messages": [{"role": "bot", "content": "a"}]}, "a message has the role 'bot'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "a part of the type 'image_url'; Drafthouse runs text alone, no images and no audio",
        ),
        ({"messages": [USER] * 1001}, "has 1,001 entries; 1,000 are the most"),
        ({"messages": [USER], "tools": [{"\ud800": 1}]}, "hold a NUL character or half a surrogate pair"),
        ({"messages": [USER], "max_tokens": 0}, "its max_tokens is '0'"),
        ({"messages": [{"role": "user", "content": "a" * 1_000_001}]}, "more than the 1,000,000"),
        ({"turns": ["a"] * 257}, "it has 257 turns"),
        ({"messages": [USER], "tools": [json.loads('{"a": [' * 40 + "]}" * 40)]}, "deeper than 16 levels"),
    ],
)
def test_each_fault_of_a_chat_has_its_sentence(row: Any, reason: str) -> None:
    with pytest.raises(BadPrompts, match=reason):
        read_prompts(json.dumps(row), "mine.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(row=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4), form=st.sampled_from([None, *CHATS]))
def test_any_row_is_read_or_refused_in_a_sentence(row: dict[str, Any], form: str | None) -> None:
    try:
        found = read_prompts(json.dumps(row), "any.jsonl", form=form)
    except BadPrompts:
        return
    assert all(json.loads(json.dumps(prompt.chat.to_dict(), allow_nan=False)) for prompt in found if prompt.chat)


def test_arguments_that_no_database_holds_stay_text() -> None:
    for arguments in ('{"a": 1e999}', '{"a": NaN}', "[" * 90_000, "{", "[1]"):
        call = {"function": {"name": "f", "arguments": arguments}}
        row = {"messages": [USER, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "b"}]}
        [prompt] = read_prompts(json.dumps(row), "mine.jsonl")
        assert prompt.chat and prompt.chat.messages[1]["tool_calls"][0]["function"]["arguments"] == arguments


# Rendering -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a tokenizer that has a begin and an end token, and no template yet."""
    words = Tokenizer(WordLevel({"<s>": 0, "</s>": 1, "hello": 2, "<|user|>": 3, "<|assistant|>": 4}, unk_token="</s>"))
    words.pre_tokenizer = WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", extra_special_tokens=["<|user|>", "<|assistant|>"]
    )
    made.save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def renderer(model: Path) -> Iterator[Renderer]:
    made = Renderer(model)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["chat.jsonl", "log.jsonl"])
def test_a_chat_becomes_the_text_that_transformers_makes_of_it(model: Path, renderer: Renderer, name: str) -> None:
    (model / "chat_template.jinja").write_text(WITH_MARKS)
    theirs = AutoTokenizer.from_pretrained(model)
    prompts = read_prompts(decode((FILES / name).read_bytes(), name), name)
    for chat in filter(None, (prompt.chat for prompt in prompts)):
        expected = theirs.apply_chat_template(
            list(chat.messages), list(chat.tools) or None, add_generation_prompt=True, tokenize=False
        )
        assert renderer.render(chat.messages, chat.tools) == expected
    [process] = [child for child in psutil.Process().children() if "sandbox.py" in " ".join(child.cmdline())]
    assert process.rlimit(psutil.RLIMIT_NOFILE) == (3, 3)  # it opens no file


def test_a_template_is_found_wherever_models_keep_it(model: Path) -> None:
    config = model / "tokenizer_config.json"
    two = [{"name": "default", "template": "usual"}, {"name": "tool_use", "template": "with tools"}]
    config.write_text(json.dumps({**json.loads(config.read_text()), "chat_template": two}))
    assert [template_of(model, has_tools=has).text for has in (False, True)] == ["usual", "with tools"]  # type: ignore[union-attr]
    (model / "chat_template.jinja").write_text("of its own")
    assert (found := template_of(model)) and (found.text, found.special["bos_token"]) == ("of its own", "<s>")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ raise_exception('Roles must alternate.') }}", "refuses its messages: Roles must alternate"),
        ("{{ messages|random }}", "No filter named 'random'"),
        ("{{ 'x'.encode('cp037') }}", "it uses a part of Jinja that is not offered here"),
        ("{{ messages.append(1) }}", "access to attribute 'append'"),
        ("{{ 'a' * 10 ** 10 }}", "more memory than a template may take"),
        ("{% for i in range(90000) %}{{ 'a' * 90 }}{% endfor %}", "more than 1,000,000 characters"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself without end"),
    ],
)
def test_a_hostile_template_is_refused_in_a_sentence(
    model: Path, renderer: Renderer, template: str, reason: str
) -> None:
    (model / "chat_template.jinja").write_text(template)
    with pytest.raises(BadPrompt, match=reason):
        renderer.render([USER])


def test_a_template_without_end_is_ended_and_not_run_again(model: Path) -> None:
    loops = "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}"
    (model / "chat_template.jinja").write_text(loops)
    renderer = Renderer(model, seconds=0.2)
    for _ in range(2):
        with pytest.raises(BadPrompt, match=r"took more than 0\.2 s of CPU time"):
            renderer.render([USER])
    renderer.close()


def test_every_day_gives_the_same_prompt_once_there_is_a_template(model: Path, renderer: Renderer) -> None:
    with pytest.raises(BadPrompt, match=r"has no chat template.* the form chat-as-text"):
        Renderer(model).render([USER])
    (model / "chat_template.jinja").write_text("{{ strftime_now('%d %B %Y') }}")
    assert renderer.render([USER]) == "26 July 2024"


# Turns ---------------------------------------------------------------------------------------------------------------

TALK = '{"id": "t", "turns": ["b", "c", "d"]}\n{"id": "o", "turns": ["ee"]}\n{"id": "u", "turns": ["f", "g"]}'


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Measurement]:
    """Conversations on a world of the letters a to l: `user` and `assistant` begin with `u`, so the template has none
    of them."""
    (tmp_path / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ 'k' if m.role == 'user' else 'l' }}{{ m.content }}{% endfor %}l"
    )
    made = pair()
    made.renderer = Renderer(tmp_path)
    yield comparison(Sampling(max_new_tokens=5), pair=made, prompts=read_prompts(TALK, "talk.jsonl"))
    made.close()


def by_prompt(samples: list[SampleResult]) -> dict[str, dict[str, SampleResult]]:
    found: dict[str, dict[str, SampleResult]] = {}
    for sample in samples:
        found.setdefault(sample.prompt, {})[sample.strategy] = sample
    return found


def test_every_strategy_continues_the_baselines_answers(talk: Measurement) -> None:
    talk.warm_up()
    found = by_prompt(talk.run())
    assert list(found) == ["t", "t#2", "t#3", "o", "u", "u#2"]
    answers = {name: found[name]["autoregressive"] for name in found}
    assert answers["t"].rendered == "kbl"
    assert answers["t#3"].rendered == f"kbl{answers['t'].text}kcl{answers['t#2'].text}kdl"
    assert {sample.prompt_tokens for sample in found["t#3"].values()} == {len(answers["t#3"].rendered)}
    assert [(answers[name].turn, answers[name].conversation) for name in ("t", "t#2", "t#3")] == [
        (1, ""), (2, "t"), (3, "t"),
    ]  # fmt: skip
    assert all(s.audit and s.audit.outcome == "identical" for of in found.values() for s in of.values())
    with pytest.raises(BadPrompt, match="Prompt t: No chat template is here"):
        comparison(prompts=talk.prompts).reading.text(talk.prompts[0])


def test_under_load_a_turn_comes_after_the_one_whose_answer_it_follows(talk: Measurement) -> None:
    alone = {s.prompt: s.tokens for s in talk.run() if s.strategy == "autoregressive"}
    talk.choices = [choice.at(Load(2)) for choice in parse_choices("autoregressive,static:3")]
    talk.__post_init__()
    samples = talk.run()
    assert len(samples) == 12
    assert all(sample.tokens == alone[sample.prompt] for sample in samples)


def test_each_repeat_follows_its_own_answers(talk: Measurement) -> None:
    talk.sampling, talk.repeats = Sampling(max_new_tokens=5, temperature=1.0), 2
    talk.choices = list(parse_choices("autoregressive"))
    samples = talk.run()
    first, second = (s for s in samples if s.prompt == "t")
    assert first.text != second.text
    keys = [key for group in talk.schedule() for key in group if key.prompt.id == "t#2"]
    for key, answer in zip(keys, (first, second), strict=True):
        assert talk.reading.text(key.prompt, key.repeat) == f"kbl{answer.text}kcl"


def test_an_answer_ends_before_its_end_token(talk: Measurement) -> None:
    talk.pair.end_tokens = frozenset({int(talk.pair.tokenizer.encode("k")[0])})
    talk.choices, talk.sampling = list(parse_choices("autoregressive")), Sampling(max_new_tokens=40, temperature=1.5)
    samples = talk.run()
    ended = [sample for sample in samples if sample.reason == "eos"]
    assert ended and all(sample.text == sample.answer + "k" for sample in ended)
    [first, later] = [s for s in samples if s.prompt in ("u", "u#2")]
    assert later.rendered == f"kfl{first.answer}kgl"


def test_prompts_are_ranked_by_what_they_lose_and_read_again(talk: Measurement) -> None:
    base = [sample for sample in talk.run() if sample.strategy == "autoregressive"]
    slow = {"t#3": 4, "o": 2}  # how many times as long
    own = [
        dataclasses.replace(s, decode_ns=s.decode_ns * slow.get(s.prompt, 1), draft_ns=0, strategy="mine") for s in base
    ]
    losses = ranked_by_loss(own, base)
    assert [(loss.prompt, loss.speedup) for loss in losses[:2]] == [("t#3", 0.25), ("o", 0.5)]
    assert losses[0].lost_ms == pytest.approx(3e-6 * next(s.decode_ns for s in base if s.prompt == "t#3"))
    worst, _ = read_prompts("".join(lines(losses[:2], talk.prompts, base)), "worst.jsonl")
    assert worst.chat and [message["content"] for message in worst.chat.messages][::2] == ["b", "c", "d"]


def test_a_logged_request_gets_no_more_tokens_than_it_asked_for() -> None:
    prompts = [PromptItem("short", "ab", max_tokens=3), PromptItem("long", "ab", max_tokens=90)]
    choices: list[Choice] = list(parse_choices("autoregressive,static:3"))
    samples = comparison(prompts=prompts, choices=choices).run()
    assert [len(sample.tokens) for sample in samples] == [3, 3, 12, 12]
    assert {sample.audit.outcome for sample in samples if sample.audit} == {"identical"}
