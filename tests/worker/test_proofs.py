"""Proofs from the queue: refused in words without llama-server, and worked out with the real one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from decoding.errors import BadServer
from tests.kit import make
from tests.kit.comparisons import succeeded
from tests.kit.linux import LINUX
from tests.kit.processes import family, state
from tests.worker.conftest import prompts, until
from tests.worker.killing import killable_worker
from webapp.registry.models import LanguageModel, Pair, Readiness
from webapp.studies import services as studies
from webapp.studies.kinds import PLAN
from webapp.studies.models import Study
from worker.jobs.proof.llama_server import VARIABLE, program

STARTER = Path(__file__).parents[2] / "starter" / "pair"
SILENT = f"""#!{sys.executable}
import http.server, os, pathlib, subprocess, sys, threading

here = pathlib.Path(__file__).parent

class Silent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        (here / "asked").touch()
        threading.Event().wait()

child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
for pid in (os.getpid(), child.pid):
    (here / f"{{pid}}.pid").touch()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Silent).serve_forever()
"""
GREEDY = {"temperature": 0, "max_new_tokens": 48}


@pytest.fixture
def pair(team, settings) -> Pair:
    """The starter pair where it lies: llama.cpp has its tokenizer."""
    settings.MODEL_ROOTS = [STARTER]
    target, draft = (
        LanguageModel.objects.create(
            team=team.home, name=part, source="path", location=str(STARTER / part), state=Readiness.READY, facts={}
        )
        for part in ("target", "draft")
    )
    return Pair.objects.create(team=team.home, name="starter", target=target, draft=draft)


@pytest.fixture
def proof(team, pair) -> Study:
    words = prompts(team, ["def add(a, b):", "class Stack:"])
    plan = make.study(team, PLAN, pair=pair, dataset=words, sampling=GREEDY)
    return studies.prove(plan=plan, by=team)


def test_a_worker_without_llama_server_says_what_to_set(proof, make_worker, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    make_worker().look()
    proof.job.refresh_from_db()
    assert proof.job.state == "failed"
    assert proof.job.reason.startswith("There is no llama-server on this machine")
    assert f"set {VARIABLE} to its path" in proof.job.reason


@pytest.mark.slow
@LINUX
def test_servers_that_a_killed_worker_started_end_with_it(proof, tmp_path):
    silent = tmp_path / "llama-server"
    silent.write_text(SILENT)
    silent.chmod(0o755)
    with killable_worker(**{VARIABLE: str(silent), "DRAFTHOUSE_MODEL_ROOTS": str(STARTER)}) as worker:
        until(lambda: (tmp_path / "asked").exists(), "a server to be asked")
        servers = [int(path.stem) for path in tmp_path.glob("*.pid")]
        assert len(servers) == 4 and all(map(state, servers))  # two, and a child of each
        worker.kill()
    until(lambda: not any(map(state, servers)), "the servers to end")


@pytest.mark.peer
@pytest.mark.slow
def test_a_worker_proves_a_plan_on_the_real_llama_server(proof, make_worker, engine, settings, tmp_path):
    try:
        program()
    except BadServer as missing:
        pytest.skip(str(missing))
    settings.DATA_DIR = tmp_path
    make_worker().look()
    succeeded(proof)
    assert set(proof.document) == set(make.STUDIES["proof"])  # which the page's tests rest on
    for side in ("ours", "theirs"):
        audit = proof.document[side]["audit"]
        assert (audit["identical"] + audit["tie"], audit["divergent"]) == (2, 0)
    said = " ".join(proof.job.events.values_list("sentence", flat=True))
    assert "Warming up: 0 of 4" in said and "Proving: 1 of 8" in said
    assert proof.job.done_count == proof.job.total_count == 8
    assert len(list(tmp_path.glob("gguf/*/model.gguf"))) == 2
    assert set(family(engine.pid)) <= {engine.pid}  # both servers have ended
