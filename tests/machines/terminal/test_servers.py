"""Servers on the command line, from the arguments to table and document."""

from __future__ import annotations

import itertools
import json
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from decoding.errors import BadServer, DrafthouseError
from tests.kit.processes import state
from tests.kit.servers.formats import Decode, speaking
from tests.kit.servers.stage import StepsFor, greedy_steps, streamed_words
from tests.kit.servers.wire import Asked, Reply, serving
from tests.kit.terminal import ROOT, compared, on_pair, read
from worker.started_server import started
from worker.terminal.arguments import read_arguments
from worker.terminal.compare import main
from worker.terminal.servers import asked_servers, parse_server, parse_start, shown, to_ask

HERE = "http://127.0.0.1:8080,dialect=llamacpp"


@pytest.fixture(scope="module")
def target(box: Path) -> StepsFor:
    return greedy_steps(box / "target")


def words(box: Path) -> Decode:
    return streamed_words(box / "target")


def arguments(box: Path, *more: object) -> list[str]:
    return on_pair(box, "--limit", 4, "--ignore-eos", *more, draft=False)


def test_servers_are_read_with_their_settings_names_and_loads(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = parse_server(f"{HERE},name=mine,model=m,key-file=k,deadline=30,dtype=float16")
    assert one.choice.label == "server:mine"
    assert (one.spec.key, one.spec.deadline_s, one.spec.model) == ("file:k", 30.0, "m")
    plain = parse_server(f"{HERE},key-env=KEY").spec
    assert (one.spec.rounding, plain.key, plain.rounding) == ("float16", "env:KEY", "bfloat16")
    started_in = [parse_start(f"vllm serve m {flag} --port {{port}}").spec.dtype
                  for flag in ("--dtype float16", "--dtype=float32", "--dtype auto", "")]  # fmt: skip
    assert started_in == ["float16", "float32", "", ""]
    start = "on=/opt/llama-server -m a=b.gguf --port {port}"
    flags = ("--server", HERE, "--server", HERE, "--start", start, "--strategies", "lookup:4", "--concurrency", "1,4")
    asked = read_arguments(arguments(box, *flags, "--baseline", "server:llamacpp"))
    labels = ["autoregressive", "lookup:4", "server:llamacpp", "server:llamacpp-2", "server:on"]
    assert [choice.label for choice in asked.choices] == [*labels, *(f"{label} @4" for label in labels)]
    assert (asked.baseline, asked.servers[-1].command[0]) == ("server:llamacpp", "/opt/llama-server")
    monkeypatch.setenv("DRAFTHOUSE_SERVER_CERTIFICATES", "authority.pem")
    assert to_ask(asked.servers).certificates == "authority.pem", "one authority for all of them"
    with pytest.raises(BadServer, match="Two servers are called llamacpp-2"):
        asked_servers([HERE, HERE, f"{HERE},name=llamacpp-2"], [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("http://h:1", "has no dialect; add ,dialect=NAME, one of"),
        ("http://h:1,dialect=lamacpp", "There is no dialect 'lamacpp'"),
        (f"{HERE},key=sk-1", "A key does not belong on the command line"),
        (f"{HERE},modl=x", "is not a setting of a server; there are name,"),
        (f"{HERE},key-file=a,key-env=b", "key-file and key-env"),
        (f"{HERE},deadline=nan", "must lie between"),
        (f"{HERE},dtype=fp8", "The dtype of llamacpp is 'fp8', which is not one of float32, float16, bfloat16"),
        ("llama-server -m x", "has no {port}"),
        ("nginx --port {port}", "is not a server that Drafthouse knows; it can start llama-server"),
        ("llama-server 'half --port {port}", "is not a command"),
        ("--servers-only --prompts p.txt", "needs servers"),
        (f"--servers-only --server {HERE}", "Servers alone need prompts"),
        (f"--servers-only --server {HERE} --draft d", "loads no model here"),
    ],
)
def test_a_slip_in_a_server_or_a_command_that_starts_one_is_told(text: str, told: str) -> None:
    with pytest.raises(DrafthouseError, match=told) as error:
        if text.startswith("--"):
            read_arguments(text.split())
        else:
            [server.choice for server in (asked_servers([text], []) if "://" in text else [parse_start(text)])]
    assert "sk-1" not in str(error.value)


def test_a_key_in_a_command_is_not_shown() -> None:
    told = shown(["vllm", "serve", "m", "--api-key", "sk-1", "--hf-token=sk-2", "--num-draft-tokens", "4"])
    assert "sk-" not in told and told.endswith("--num-draft-tokens 4")


def failing(asked: Asked) -> Reply:
    return Reply([b'{"error": {"message": "out of memory"}}'], 500)


FAILED = "answered 500 Internal Server Error. It says: "


def test_a_server_stands_in_table_document_and_trace_its_key_in_none_and_a_failure_costs_its_samples(
    box, tmp_path, target, capsys
):
    (tmp_path / "key").write_text("sk-very-secret")
    written, trace = tmp_path / "result.json", tmp_path / "trace.jsonl"
    answering, samples = speaking("vllm", target, words(box)), itertools.count(-1)  # the warm-up comes first

    def first_failing(asked: Asked) -> Reply:
        fails = asked.path == "/v1/completions" and next(samples) == 0
        return failing(asked) if fails else answering(asked)

    with serving(first_failing) as wire:
        server = f"{wire.address},dialect=vllm,name=theirs,key-file={tmp_path / 'key'}"
        files = ("--json", written, "--trace", trace)
        assert main(arguments(box, "--server", server, "--strategies", "lookup:3", *files)) == 0
        assert {one.headers["Authorization"] for one in wire.asked} == {"Bearer sk-very-secret"}
    out, err = capsys.readouterr()
    document = compared(written)
    row = document["strategies"][-1]
    assert (row["label"], row["role"], row["audit"]["identical"], len(row["samples"])) == (
        "server:theirs",
        "server",
        3,
        3,
    )
    assert (row["num_spec_steps"], row["num_target_passes"]) == (12, None)
    assert document["complete"] and FAILED in out
    assert document["warnings"][0].startswith(f"1 sample was left out. server:theirs on prompt p0: theirs {FAILED}")
    assert (document["servers"][0]["dtype"], document["servers"][0]["model"]) == ("bfloat16", "m")
    assert document["servers"][0]["prefix_cache"] == "cache_salt, new for each request"
    assert "▣ server:theirs" in out and "server:theirs on the server theirs" in err
    kinds = [json.loads(line)["event"] for line in trace.read_text().splitlines() if "server:theirs" in line]
    assert set(kinds) == {"started", "delivered", "reported", "finished"}
    assert "sk-very-secret" not in out + err + written.read_text() + trace.read_text()


def test_servers_alone_are_compared_without_a_model_here_or_end_with_a_sentence(box, tmp_path, target, capsys):
    written, asked = tmp_path / "result.json", on_pair(box, "--limit", 4, draft=False)[1:]
    with (
        serving(speaking("openai", target, words(box))) as one,
        serving(speaking("transformers", target, words(box))) as two,
        serving(failing) as broken,
    ):
        servers = ("--server", f"{one.address},dialect=openai", "--server", f"{two.address},dialect=transformers")
        assert main(["--servers-only", *servers, *asked, "--json", str(written)]) == 0
        assert "No model runs here, so nobody audits the answers" in capsys.readouterr().err
        assert main(["--servers-only", *asked, "--server", f"{broken.address},dialect=llamacpp"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"llamacpp {FAILED}")
    document = read(written)
    assert document["pair"] is None and document["baseline"] == "server:openai"
    assert document["hardware"]["threads"] == 0
    assert [row["audit"]["identical"] for row in document["strategies"]] == [4, 4]


# ---- started here

PROGRAM = """#!{python}
import http.server, os, subprocess, sys
print("loading", flush=True)
if "--fail" in sys.argv:
    sys.exit("no such model: " + sys.argv[-1])
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
open(sys.argv[1], "w").write(f"{{os.getpid()}} {{child.pid}}")
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Healthy).serve_forever()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program of ours that starts as llama-server does, with a child of its own."""
    path = tmp_path / "llama-server"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_started_server_gets_a_free_port_and_leaves_nothing(program: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with started("it", [str(program), str(pids), "{port}"], "/health") as server:
        assert server.address.startswith("http://127.0.0.1:") and "loading" in server.log.read_text()
        family = [int(pid) for pid in pids.read_text().split()]
        assert all(map(state, family))
    assert not any(map(state, family)) and not server.log.exists()


def test_a_server_that_does_not_start_is_told_with_its_last_words(program: Path) -> None:
    for command, told in (
        (
            [str(program), "--fail", "big.gguf"],
            r"it ended with exit code 1 before it answered(.|\n)*no such model: big",
        ),
        (["no-such-server", "{port}"], "There is no program no-such-server on this machine"),
    ):
        with pytest.raises(BadServer, match=told), started("it", command, "/health"):
            pass


def test_a_started_server_ends_with_a_command_that_is_killed(box: Path, program: Path, tmp_path: Path) -> None:
    pids, command = tmp_path / "pids", [sys.executable, "-m", "worker.terminal.compare"]
    start = f"{shlex.quote(str(program))} {shlex.quote(str(pids))} {{port}}"
    with subprocess.Popen(
        [*command, *arguments(box, "--start", start)], cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        assert process.stderr
        while "is ready at" not in process.stderr.readline():
            assert process.poll() is None
        [server, _] = [int(pid) for pid in pids.read_text().split()]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert not state(server)
