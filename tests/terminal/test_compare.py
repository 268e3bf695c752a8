"""`./drafthouse compare` on small random models, saved as a user's files are."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.models.devices import usual_threads
from tests.kit.hub import COMMIT, hub
from tests.kit.models import LLAMA, another_order_of_words, save, spoil
from webapp.core.version import version
from worker.terminal.compare import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, a draft and eight prompts."""
    folder = tmp_path_factory.mktemp("box")
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", **{**LLAMA, "num_hidden_layers": 1})
    prompts = [{"id": f"p{n}", "text": f"w{n} w{n + 9} w3", "category": "words"} for n in range(8)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    return folder


def arguments(box: Path, *more: str) -> list[str]:
    return [
        *("--target", str(box / "target"), "--draft", str(box / "draft"), "--prompts", str(box / "prompts.jsonl")),
        *("--max-new-tokens", "12"),
        *more,
    ]


@pytest.fixture(scope="module")
def compared(box: Path) -> dict[str, Any]:
    """One comparison of every strategy, and the files it left."""
    strategies = "static:3,heuristic,threshold:0.2,oracle,assisted:3"
    files = ("--json", str(box / "result.json"), "--trace", str(box / "trace.jsonl"))
    assert main(arguments(box, "--strategies", strategies, "--repeats", "2", *files)) == 0
    result: dict[str, Any] = json.loads((box / "result.json").read_text())
    return result


def test_the_document_is_as_its_schema_says(compared: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(compared)


def test_the_document_says_what_ran(compared: dict[str, Any]) -> None:
    labels = [row["label"] for row in compared["strategies"]]
    assert labels == ["autoregressive", "static:3", "heuristic:5", "threshold:0.2", "oracle:32", "assisted:3"]
    assert compared["complete"] is True
    assert compared["is_noisy"] is bool(compared["noise"])
    assert compared["doubt"].startswith("The machine was not quiet: ") is compared["is_noisy"]
    assert compared["drafthouse"] == version()
    assert compared["prompts"]["count"] == 8
    assert compared["hardware"]["threads"] == usual_threads()
    assert [len(row["samples"]) for row in compared["strategies"]] == [16] * 6
    assert [row["runner"] for row in compared["strategies"]] == ["fast"] * 5 + ["transformers"]


def test_a_model_of_the_hub_is_named_in_the_document_with_its_commit(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    asked = ["--target", "org/target", "--prompts", str(box / "prompts.jsonl"), "--strategies", "lookup"]
    with hub() as there:
        there.add("org/target", {file.name: file.read_bytes() for file in (box / "target").iterdir()})
        monkeypatch.setenv("HF_ENDPOINT", there.address)
        assert main([*asked, "--limit", "1", "--max-new-tokens", "2", "--json", str(tmp_path / "result.json")]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    jsonschema.Draft202012Validator(json.loads((ROOT / "docs/compare.schema.json").read_text())).validate(result)
    assert result["pair"]["target"]["hub"] == f"org/target@{COMMIT}"


def test_greedy_text_is_the_targets_under_every_strategy(compared: dict[str, Any]) -> None:
    assert {row["label"]: row["audit"]["identical"] for row in compared["strategies"]} == {
        row["label"]: 16 for row in compared["strategies"]
    }


@pytest.mark.smoke
def test_the_trace_adds_up_to_the_document(box: Path, compared: dict[str, Any]) -> None:
    events = [json.loads(line) for line in (box / "trace.jsonl").read_text().splitlines()]
    for row in compared["strategies"]:
        own = [event for event in events if event["strategy"] == row["label"]]
        verified = [event for event in own if event["event"] == "verified"]
        drafted = [event for event in own if event["event"] == "drafted"]
        assert len(verified) == row["num_target_passes"]
        assert sum(len(event["tokens"]) for event in drafted) == row["num_draft_tokens"]
        assert sum(event["event"] == "finished" for event in own) == 16
        assert {event["prompt"] for event in own} == {f"p{n}" for n in range(8)}
    prompted = [event for event in events if event["event"] == "prompted"]
    assert len(prompted) == 8 and all(len(event["tokens"]) > 1 for event in prompted)


def test_the_verdict_is_the_first_line_and_everything_else_is_aside(
    box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(box, "--strategies", "static:2", "--limit", "2")) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert "static:2 ran at" in lines[0] and "on 2 prompts, and nobody" in lines[0]
    assert lines[1].endswith("at least 6 prompts: run 4 more.") or "Other programs" in lines[1], "on a busy machine"
    assert lines[3].split() == [
        "strategy", "tokens/s", "speed-up", "end", "to", "end", "per", "round", "accepted", "drafting",
        "verifying", "audit"
    ]  # fmt: skip
    assert [line.split()[1] for line in lines[4:6]] == ["autoregressive", "static:2"]
    assert "target 0.1M, draft 0.0M parameters" in err
    assert err.index("2 prompts are too few") < err.index("Warming up")
    assert err.splitlines()[-1].startswith("4/4 samples")


def test_the_way_from_the_bound_to_the_measured_speed_adds_up_for_every_kind_of_draft(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "result.json"
    strategies = "static:2,oracle,tree,lookup,ssd"
    assert main(arguments(box, "--strategies", strategies, "--limit", "2", "--json", str(written))) == 0
    rows = {row["strategy"]: row for row in json.loads(written.read_text())["strategies"]}
    assert rows["autoregressive"]["why"]["refusal"].startswith("It drafted nothing")
    for row in (rows[name] for name in ("static", "oracle", "tree", "ssd")):
        steps = row["why"]["steps"]
        assert [step["from"] for step in steps] == [row["why"]["bound"], *(step["to"] for step in steps[:-1])]
        assert steps[-1]["to"] == pytest.approx(row["tokens_per_s"])
    assert rows["static"]["why"]["bound"] == pytest.approx(rows["oracle"]["why"]["bound"])  # one pair, one text
    assert "static:2, why not faster: bound " in capsys.readouterr().out


def test_the_regret_of_the_hybrid_is_told_and_stands_in_the_document(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "result.json"
    asked = arguments(box, "--strategies", "hybrid,best-source", "--limit", "2", "--json", str(written))
    assert main(asked) == 0
    document = json.loads(written.read_text())
    jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "compare.schema.json").read_text())).validate(document)
    [found] = [row["regret"] for row in document["strategies"] if row["regret"]]
    assert (found["bound"], found["reached"]["prompts"]) == ("best-source", 2)
    assert found["sentence"] in capsys.readouterr().out


def test_another_baseline_is_pinned_for_table_verdict_and_document(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "result.json"
    flags = ("--strategies", "static:2,static:3", "--baseline", "static:2", "--limit", "2", "--json", str(written))
    assert main(arguments(box, *flags)) == 0
    out = capsys.readouterr().out
    assert "static:3 ran at" in out.splitlines()[0] and "static:2's speed" in out.splitlines()[0]
    assert "static:2's total decoding time over the strategy's" in out
    document = json.loads(written.read_text())
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["baseline"] == "static:2"
    assert [row["speedup"]["ratio"] == 1 for row in document["strategies"]] == [False, True, False]


def test_the_document_of_several_loads_is_as_its_schema_says(box: Path, tmp_path: Path) -> None:
    written = tmp_path / "result.json"
    load = ("--concurrency", "1,3", "--slo", "ttft=5s")
    assert main([*arguments(box, "--strategies", "static:2", "--json", str(written)), *load]) == 0
    document = json.loads(written.read_text())
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert [(load["concurrency"], load["baseline"]) for load in document["loads"]] == [
        (1, "autoregressive"),
        (3, "autoregressive @3"),
    ]
    assert document["objective"] == {"ttft_ms": 5000}
    assert [sample["load"]["concurrency"] for row in document["strategies"] for sample in row["samples"][:1]] == [
        1, 1, 3, 3,
    ]  # fmt: skip


@pytest.mark.parametrize("load", [(), ("--concurrency", "3")], ids=["one user", "three users"])
def test_a_text_whose_model_answers_nan_is_left_out_and_told(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], load: tuple[str, ...]
) -> None:
    for name in ("target", "draft"):
        shutil.copytree(box / name, tmp_path / name)
        spoil(tmp_path / name, token=50)
    bad = json.dumps({"id": "bad", "text": "w4 w50"}) + "\n"
    (tmp_path / "prompts.jsonl").write_text((box / "prompts.jsonl").read_text() + bad)
    written = tmp_path / "result.json"
    assert main(arguments(tmp_path, "--strategies", "static:2", "--json", str(written), *load)) == 0
    document = json.loads(written.read_text())
    [told] = document["warnings"]
    suffix = " @3" if load else ""
    assert told.startswith(
        f"2 samples were left out. autoregressive{suffix} on prompt bad: The model answered with NaN"
    )
    assert told in capsys.readouterr().out
    assert [row["audit"]["identical"] for row in document["strategies"]] == [8, 8]
    assert document["complete"] is True


@pytest.mark.parametrize("load", [(), ("--concurrency", "3"), ("--rate", "200")], ids=["one", "three", "open"])
def test_a_prompt_that_is_too_long_is_left_out_and_told(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], load: tuple[str, ...]
) -> None:
    novel = json.dumps({"id": "novel", "text": "w1 " * 200}) + "\n"
    prompts, written = tmp_path / "prompts.jsonl", tmp_path / "result.json"
    prompts.write_text(novel + (box / "prompts.jsonl").read_text())
    asked = arguments(box, "--strategies", "static:2", "--json", str(written), "--prompts", str(prompts), *load)
    assert main(asked) == 0
    document, told = json.loads(written.read_text()), capsys.readouterr()
    why = "Prompt novel has 200 tokens and the target holds 128"
    assert f"Left out: {why}" in told.err and why in told.out
    assert any(warning.startswith("2 samples were left out. ") for warning in document["warnings"])
    assert [len(row["samples"]) for row in document["strategies"]] == [8, 8] and document["complete"]


def test_ctrl_c_shows_and_writes_what_is_done(box: Path, tmp_path: Path) -> None:
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "worker.terminal.compare"),
            *arguments(box, "--strategies", "static:2", "--repeats", "1000", "--json", str(tmp_path / "result.json")),
        ],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while b" 4/16000 samples" not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    os.close(terminal)

    assert process.returncode == 130
    assert any(line.split()[:2] == ["●", "autoregressive"] for line in out.splitlines()[3:5])
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["complete"] is False
    assert len({len(row["samples"]) for row in result["strategies"]}) == 1


def no_weights(model: Path) -> None:
    (model / "model.safetensors").unlink()


def torn_weights(model: Path) -> None:
    whole = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(whole[:-100])


def pickled_weights(model: Path) -> None:
    no_weights(model)
    (model / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def unknown_architecture(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    config |= {"model_type": "perpetuum", "architectures": ["PerpetuumForCausalLM"]}
    (model / "config.json").write_text(json.dumps(config))


def no_tokenizer(model: Path) -> None:
    for file in model.glob("token*"):
        file.unlink()


def another_vocabulary(model: Path) -> None:
    save(model, "llama", **{**LLAMA, "vocab_size": 50})


def other_words(model: Path) -> None:
    text = (model / "tokenizer.json").read_text().replace('"w', '"v').replace("<end>", "<stop>")
    (model / "tokenizer.json").write_text(text)
    for file in ("config.json", "generation_config.json"):
        config = json.loads((model / file).read_text())
        (model / file).write_text(json.dumps({**config, "eos_token_id": None}))


def weights_that_are_no_numbers(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["model.norm.weight"][:] = torch.nan
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})


def more_than_fits(model: Path) -> None:
    """A checkpoint of a terabyte, all holes."""
    config = json.loads((model / "config.json").read_text())
    inner = 2**31
    config["intermediate_size"] = inner
    (model / "config.json").write_text(json.dumps(config))
    shapes = {name: list(weight.shape) for name, weight in load_file(model / "model.safetensors").items()}
    header: dict[str, Any] = {}
    end = 0
    for name, shape in shapes.items():
        grown = [inner if size == LLAMA["intermediate_size"] else size for size in shape]
        start, end = end, end + 4 * torch.Size(grown).numel()
        header[name] = {"dtype": "F32", "shape": grown, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    with (model / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


@pytest.mark.parametrize(
    ("model", "damage", "words"),
    [
        ("target", no_weights, "has no weights"),
        ("draft", torn_weights, "is torn"),
        ("target", pickled_weights, "pickle"),
        ("target", unknown_architecture, "perpetuum"),
        ("target", no_tokenizer, "tokenizer"),
        ("draft", other_words, "None of the draft's 97 tokens writes what one of the target's 97 does"),
        ("target", weights_that_are_no_numbers, "NaN"),
        ("draft", weights_that_are_no_numbers, "NaN"),
        ("target", more_than_fits, "GiB"),
    ],
)
def test_a_model_that_will_not_do_is_told_in_one_sentence(
    box: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    model: str,
    damage: Callable[[Path], None],
    words: str,
) -> None:
    for name in ("target", "draft"):
        shutil.copytree(box / name, tmp_path / name)
    shutil.copy(box / "prompts.jsonl", tmp_path)
    damage(tmp_path / model)
    files = ("--json", str(tmp_path / "result.json"), "--trace", str(tmp_path / "trace.jsonl"))
    assert main(arguments(tmp_path, *files)) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft", "prompts.jsonl", "target"]


@pytest.mark.parametrize("method", ["auto", "tli", "slem"])
@pytest.mark.parametrize(("change", "shared"), [(another_vocabulary, "50 of the draft's 50"),
                                                (another_order_of_words, "97 of the draft's 97")])  # fmt: skip
def test_a_draft_with_another_tokenizer_writes_the_targets_text_after_a_word_on_what_it_shares(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str, change: Callable[[Path], None],
    shared: str,
) -> None:  # fmt: skip
    for name in ("target", "draft"):
        shutil.copytree(box / name, tmp_path / name)
    shutil.copy(box / "prompts.jsonl", tmp_path)
    change(tmp_path / "draft")
    strategies = "static:3,heuristic,threshold:0.2" + (",ssd:2,oracle" if method == "tli" else "")
    strategies += ",assisted:3" if change is another_vocabulary else ""
    more = ("--strategies", strategies, "--json", str(tmp_path / "result.json"), "--other-tokenizer", method)
    assert main(arguments(tmp_path, *more)) == 0
    assert f"The target shares {shared} tokens" in capsys.readouterr().err
    rows = json.loads((tmp_path / "result.json").read_text())["strategies"]
    assert {row["label"]: row["audit"]["identical"] for row in rows} == {row["label"]: 8 for row in rows}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("ssd:2", "ssd:2 needs a draft that says"),
        ("static:2,hybrid", "hybrid needs a draft that says the target's tokens, and this pair matches text (SLEM)"),
        ("tree:2x2", "tree:2x2 needs a draft that says"),
        ("assisted", "with as many outputs (97 each)"),
    ],
)
def test_what_cannot_run_with_another_tokenizer_is_refused(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], choice: str, words: str
) -> None:
    shutil.copytree(box / "draft", tmp_path / "draft")
    another_order_of_words(tmp_path / "draft")
    folders = ("--target", str(box / "target"), "--draft", str(tmp_path / "draft"))
    prompts = ("--prompts", str(box / "prompts.jsonl"), "--strategies", choice)
    assert main([*folders, *prompts, "--other-tokenizer", "slem"]) == 2
    told = capsys.readouterr()
    assert words in told.err and not told.out


def test_a_missing_model_is_told(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--target", "gone", "--draft", str(box / "draft"), "--prompts", str(box / "prompts.jsonl")]) == 2
    assert capsys.readouterr().err.startswith("gone is not a folder.")


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        ("", "is empty"),
        ('{"text": "w1"}\n{"text": "  "}\n', "line 2 is broken: its text is empty"),
        ('{"text": "w1"}\n\nw2\n', "line 3 is broken: not JSON"),
        (json.dumps({"id": "novel", "text": "w1 " * 200}) + "\n", "Prompt novel has 200 tokens"),
        (json.dumps({"id": "brim", "text": "w1 " * 128}) + "\n", "leaves no room"),
    ],
)
def test_prompts_that_will_not_do_are_told_before_anything_runs(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], prompts: str, words: str
) -> None:
    (tmp_path / "prompts.jsonl").write_text(prompts)
    models = ("--target", str(box / "target"), "--draft", str(box / "draft"))
    assert main([*models, "--prompts", str(tmp_path / "prompts.jsonl")]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.out == "" and "samples" not in told.err


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(box, "--json", str(tmp_path / "gone" / "result.json"))) == 2
    assert "cannot be written: No such file or directory." in capsys.readouterr().err
    assert main(arguments(box, "--json", "/dev/null")) == 2
    assert "not a regular file" in capsys.readouterr().err
    assert Path("/dev/null").is_char_device()


def test_a_slip_is_told_without_loading_torch(box: Path) -> None:
    code = (
        "import sys; from worker.terminal.compare import main; "
        "code = main(sys.argv[1:]); sys.exit(99 if 'torch' in sys.modules else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments(box, "--strategies", "static:0")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "static: lookahead is '0', outside 1 to 64.\n")
