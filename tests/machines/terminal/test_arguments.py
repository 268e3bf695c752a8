import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from decoding.errors import BadCheckpoint, DrafthouseError
from tests.kit.hub import COMMIT, Hub, hub
from worker.terminal.arguments import Arguments, read_arguments
from worker.terminal.material import STARTER_PAIR


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        '{"text": "one", "split": "train"}\n{"text": "two", "split": "test"}\n{"text": "three", "split": "test"}\n'
    )
    return file


def ask(prompts: Path, *more: str) -> Arguments:
    return read_arguments(["--target", "big", "--draft", "small", "--prompts", str(prompts), *more])


def test_autoregressive_takes_part_even_when_nobody_names_it_and_another_baseline_may_be_named(prompts: Path) -> None:
    args = ask(prompts, "--strategies", "static:4,threshold:0.4,cap=10")
    assert [choice.label for choice in args.choices] == ["autoregressive", "static:4", "threshold:0.4,cap=10"]
    assert args.remarks == ("autoregressive runs too: it is what the others are compared with.",)
    named = ask(prompts, "--strategies", "static:4,autoregressive")
    assert ([choice.label for choice in named.choices], named.remarks) == (["static:4", "autoregressive"], ())
    assert named.baseline == "autoregressive"
    assert ask(prompts, "--baseline", "heuristic").baseline == "heuristic:5"


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub with the starter pair."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    with hub() as there:
        monkeypatch.setenv("HF_ENDPOINT", there.address)
        for name, folder in (("big", STARTER_PAIR.target), ("small", STARTER_PAIR.draft)):
            assert folder
            there.add(f"org/{name}", {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()})
        yield there


def test_models_of_the_hub_are_named_by_their_ids_and_fetched_once(
    prompts: Path, there: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--target", "org/big", "--draft", f"org/small@{COMMIT}", "--prompts", str(prompts)]
    args = read_arguments(named)
    args.material.report.require()
    home = prompts.parent / "huggingface"
    assert args.pair.target == home / "hub/models--org--big/snapshots" / COMMIT
    assert args.pair.draft == home / "hub/models--org--small/snapshots" / COMMIT
    assert args.material.own_classifier == home / "assets/drafthouse/models--org--big/disco"
    assert "fetching org/big, MB: 34/34" in capsys.readouterr().err
    there.given.clear()
    assert read_arguments(named).pair == args.pair
    assert (there.given, capsys.readouterr().err) == ([], "")
    with pytest.raises(BadCheckpoint, match=r"^org/bigg is no folder here. The hub gives no org/bigg "):
        read_arguments(["--target", "org/bigg", "--prompts", str(prompts)])


def test_folders_files_and_slips_ask_no_hub(
    prompts: Path, there: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org/big").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for name in ("org/big", "org/missing.gguf"):
        assert read_arguments(["--target", name, "--prompts", str(prompts)]).pair.target == Path(name)
    with pytest.raises(DrafthouseError):
        read_arguments(["--target", "org/small", "--prompts", str(prompts), "--split", "validation"])
    assert there.given == []


def test_the_classifier_of_a_gguf_file_lies_beside_it_and_never_among_models_of_the_hub(tmp_path: Path) -> None:
    cached = tmp_path / "hub/models--org--big/snapshots" / COMMIT / "big.gguf"
    cached.parent.mkdir(parents=True)
    (tmp_path / "big.gguf").write_bytes(b"GGUF")
    cached.symlink_to(tmp_path / "big.gguf")
    beside, apart = (replace(STARTER_PAIR, named=file).own_classifier for file in (tmp_path / "big.gguf", cached))
    assert (beside, apart) == (tmp_path / "disco", tmp_path / "assets/drafthouse/models--org--big/disco")


def test_every_sampling_setting_has_a_flag_and_split_and_limit_choose_prompts(prompts: Path) -> None:
    flags = "--max-new-tokens 7 --temperature 0.5 --top-k 9 --top-p 0.8 --repetition-penalty 1.1 --dice ratio --seed 3"
    chosen = ("--split", "test", "--limit", "1")
    args = ask(prompts, *chosen, *flags.split(), "--stop", "\n\n", "--stop", "def ", "--ignore-eos")
    assert args.sampling.to_dict() == {
        "max_new_tokens": 7,
        "temperature": 0.5,
        "top_k": 9,
        "top_p": 0.8,
        "repetition_penalty": 1.1,
        "dice": "ratio",
        "seed": 3,
        "stop": ["\n\n", "def "],
        "ignore_eos": True,
    }
    assert [prompt.text for prompt in args.prompts] == ["two"]


def test_the_pair_in_the_box_brings_prompts_and_settings_that_flags_override() -> None:
    suited = json.loads(STARTER_PAIR.settings.read_text())
    args = read_arguments([])
    assert {prompt.split for prompt in args.prompts} == {"test"}
    assert args.sampling.temperature == suited["sampling"]["temperature"]
    assert args.sampling.max_new_tokens == suited["max_new_tokens"]
    args = read_arguments(["--temperature", "0", "--split", "train"])
    assert {prompt.split for prompt in args.prompts} == {"train"} and args.sampling.is_greedy


PAIR = "--target big --draft small"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--fast", "Unrecognized arguments: --fast. ./drafthouse compare --help lists what there is."),
        ("--limit １２", "--limit: '１２' is not a whole number from 1 up."),
        ("--temperature nan", "temperature is nan; it must lie between 0 and 10."),
        ("--strategies static:0", "static: lookahead is '0', outside 1 to 64."),
        (
            "--strategies static:4 --baseline static:8",
            "static:8 takes no part, so nothing can be relative to it. --baseline can be autoregressive or static:4.",
        ),
        ("--draft small", "A draft needs a target to draft for: give --target MODEL too."),
        (PAIR, "Models of your own need prompts"),
        (f"{PAIR} --prompts gone.txt", "gone.txt cannot be read: No such file or directory."),
    ],
)
def test_a_slip_is_told_in_a_sentence(flags: str, sentence: str) -> None:
    with pytest.raises(DrafthouseError) as told:
        read_arguments(flags.split())
    assert str(told.value).startswith(sentence)
