"""`./drafthouse plan --prove`: refused in words without llama-server, and proved on the real one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from decoding.backends.contestants.base import Request
from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.guard import TERMINAL
from decoding.backends.contestants.servers.running import Servers
from decoding.choice import choose
from decoding.core.ending import Ending
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.errors import BadServer
from decoding.models.gguf.writing import export_of, write
from decoding.strategies import STRATEGIES
from decoding.trace.events import Recorder, Reported
from tests.kit.terminal import ROOT, given, read
from worker.engine.residents import Residents
from worker.jobs.proof.llama_server import VARIABLE, program
from worker.started_server import started
from worker.terminal import plan
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.proof import proved

STARTER = ROOT / "starter" / "pair"
SMALL = ["--threads", "1", "--max-new-tokens", "32", "--temperature", "0", "--limit"]


def test_without_llama_server_a_proof_is_refused_before_anything_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    assert given(plan.run, "--prove", *SMALL, 1, "--json", tmp_path / "plan.json") == 2
    shown, told = capsys.readouterr()
    assert (shown, list(tmp_path.iterdir())) == ("", [])
    assert told.startswith("There is no llama-server on this machine")


def test_a_proof_is_for_one_user(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert given(plan.run, "--prove", "--load", "1,4", *SMALL, 1) == 2
    assert "is for a plan with one user. Leave out --load" in capsys.readouterr().err


STANDS_IN = """#!{python}
import sys, threading
from pathlib import Path
sys.path.insert(0, "{root}")
from tests.decoding.servers.formats import speaking
from tests.decoding.servers.weights import greedy_steps
from tests.decoding.servers.wire import serving
from transformers import AutoTokenizer
target, port = Path("{target}"), int(sys.argv[sys.argv.index("--port") + 1])
with serving(speaking("llamacpp", greedy_steps(target), AutoTokenizer.from_pretrained(target).decode), port=port):
    threading.Event().wait()
"""


def test_a_command_proves_the_best_setting_and_prints_the_document_of_the_job(monkeypatch, tmp_path, capsys):
    server = tmp_path / "llama-server"
    server.write_text(STANDS_IN.format(python=sys.executable, root=STARTER.parents[1], target=STARTER / "target"))
    server.chmod(0o700)
    monkeypatch.setenv(VARIABLE, str(server))
    monkeypatch.setenv("DRAFTHOUSE_DATA", str(tmp_path / "data"))
    bench = read_recorded(parser_of("plan", "").parse_args([*SMALL, "1", "--repetition-penalty", "1"]), None)
    settings = [("suffix", {}, 3.0), ("static", {"lookahead": 2}, 1.3), ("static", {"lookahead": 4}, 1.2)]
    rows = [{"strategy": slug, "params": params, "speedup": speedup} for slug, params, speedup in settings]
    found = proved(bench, {"settings": rows}, Residents())
    shown, told = capsys.readouterr()
    assert set(found) == set(read(ROOT / "tests" / "golden" / "studies.json")["proof"])
    assert (found["setting"], found["promised"]) == ("static:2", 1.3)
    assert found["verdict"] in shown and "proving: 4/4" in told
    assert [found[name]["audit"]["divergent"] for name in ("ours", "theirs")] == [0, 0]


@pytest.fixture(scope="module")
def llama() -> str:
    try:
        return program()
    except BadServer as missing:
        pytest.skip(str(missing))


@pytest.mark.peer
@pytest.mark.slow
def test_a_promise_is_proved_on_the_real_llama_server(llama, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DRAFTHOUSE_DATA", str(tmp_path / "data"))
    out = tmp_path / "plan.json"
    assert given(plan.run, "--prove", *SMALL, 2, "--json", out) == 0
    told = capsys.readouterr().out
    found = read(out)
    proof = found["proof"]
    assert found["format"] == "drafthouse.plan/1" and proof["format"] == "drafthouse.proof/1"
    assert {"engine": "llama.cpp", "setting": proof["options"], "of": proof["setting"], "note": ""} in found[
        "elsewhere"
    ]
    promised = next(row["speedup"] for row in found["settings"] if row["label"] == proof["setting"])
    assert proof["promised"] == promised
    for side in (proof["ours"], proof["theirs"]):
        assert (side["audit"]["identical"] + side["audit"]["tie"], side["audit"]["divergent"]) == (2, 0)
        assert side["mean_acceptance_length"] > 1
    ours = proof["ours"]
    assert ours["round_price"] * ours["speedup"]["ratio"] == pytest.approx(ours["mean_acceptance_length"])
    assert proof["verdict"] in told and all(reason in told for reason in proof["reasons"])
    assert len(list((tmp_path / "data" / "gguf").glob("*/model.gguf"))) == 2
    assert list(Path("/tmp").glob("drafthouse-on-*.log")) == []


def drafted(address: str) -> int:
    """Count the tokens that a server drafts of one text."""
    servers = Servers(Reach({"it": EndpointSpec("it", address, "llamacpp")}, allowed=TERMINAL), None)
    choice, sink = choose("server", {"name": "it"}), Recorder()
    request = Request(choice, [], Sampling(max_new_tokens=24, temperature=0), 0, Ending(()), "def add(a, b):\n")
    servers.begin([choice])
    try:
        [_] = servers.run([request], lambda _: sink, never)
    finally:
        servers.close()
    return sum(event.num_draft_tokens or 0 for event in sink.events if isinstance(event, Reported))


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("slug", [slug for slug in STRATEGIES if choose(slug).setting_in("llama.cpp")])
def test_llama_server_takes_the_line_that_a_plan_prints_and_drafts_with_it(llama, tmp_path, slug):
    for part in ("target", "draft"):
        write(export_of(STARTER / part), tmp_path / f"{part}.gguf", "float16")
    line = choose(slug).setting_in("llama.cpp").replace("DRAFT", str(tmp_path / "draft.gguf"))
    command = [llama, "-m", str(tmp_path / "target.gguf"), "-t", "1", "-c", "512", "--port", "{port}"]
    with started("it", [*command, *shlex.split(line)], "/health") as server:
        assert drafted(server.address) > 0
