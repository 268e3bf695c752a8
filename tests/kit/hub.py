"""A hub of our own on loopback, which speaks the protocol of the Hugging Face hub: commits, redirects to a store of
large files, etags, gates. It can be told to misbehave, and remembers what it gave."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = ".safetensors"  # kept in the store, named by SHA-256; git keeps the others
GATE = "Access to model {} is restricted and you are not in the authorized list."


@dataclass
class Repository:
    files: dict[str, bytes]
    commits: dict[str, str] = field(default_factory=lambda: {"main": COMMIT})  # by the name of a branch or a tag
    readers: tuple[str, ...] = ()  # tokens that may read it; none: everybody
    is_private: bool = False  # strangers are told that there is none
    commit: str = COMMIT


@dataclass
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.given: list[str] = []  # names of files, as often as their content was sent
        self.is_broken = False  # every call is answered by 500
        self.false: dict[str, bytes] = {}  # name of a file: what is sent in its place, under its own hash
        self.false_sizes: dict[str, int] = {}  # name of a file: bytes that are announced

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, hub_id: str, files: Mapping[str, bytes], **more: Any) -> Repository:
        self.repositories[hub_id] = Repository(dict(files), **more)
        return self.repositories[hub_id]

    def answer(self, path: str, token: str) -> Answer:
        if self.is_broken:
            return Answer(500)
        match unquote(path).strip("/").split("/"):
            case ["api", "models", owner, name, *rest]:
                return self._api(f"{owner}/{name}", rest, token)
            case [owner, name, "resolve", revision, *rest]:
                return self._file(f"{owner}/{name}", revision, "/".join(rest), token)
            case ["store", owner, name, file]:
                return Answer(200, self._content(self.repositories[f"{owner}/{name}"], file))
        return Answer(404)

    def _api(self, hub_id: str, rest: list[str], token: str) -> Answer:
        there = self.repositories.get(hub_id)
        if there is None or (there.is_private and token not in there.readers):
            return Answer(401 if not token else 404, headers={"X-Error-Code": "RepoNotFound"})
        match rest:
            case ["auth-check"]:
                return self._gate(hub_id, there, token) or Answer(200)
            case [] | ["revision", _]:
                asked = rest[1] if rest else "main"
                return self._about(hub_id, there, asked)
            case ["tree", _]:
                return _json([_tree(name, data) for name, data in there.files.items()])
        return Answer(404)

    def _about(self, hub_id: str, there: Repository, revision: str) -> Answer:
        if revision not in (there.commit, *there.commits):
            return Answer(404, headers={"X-Error-Code": "RevisionNotFound"})
        files = [
            {"rfilename": (told := _tree(name, data))["path"], "size": told["size"], "blobId": told["oid"]}
            | ({"lfs": {"sha256": told["lfs"]["oid"], **told["lfs"]}} if "lfs" in told else {})
            for name, data in there.files.items()
        ]
        return _json({"id": hub_id, "sha": there.commits.get(revision, revision), "siblings": files})

    def _file(self, hub_id: str, revision: str, name: str, token: str) -> Answer:
        there = self.repositories.get(hub_id)
        if there is None:
            return Answer(404, headers={"X-Error-Code": "RepoNotFound"})
        if refusal := self._gate(hub_id, there, token):
            return refusal
        if name not in there.files:
            return Answer(404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": there.commit})
        data, about = there.files[name], {"X-Repo-Commit": there.commit}
        if not name.endswith(LARGE):
            return Answer(200, self._content(there, name), {**about, "ETag": f'"{_git_hash(data)}"'})
        size = self.false_sizes.get(name, len(data))
        linked = {"X-Linked-ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Linked-Size": str(size)}
        store = f"http://localhost:{self.server_port}/store/{hub_id}/{name}"
        return Answer(302, headers={**about, **linked, "Location": store})

    def _content(self, there: Repository, name: str) -> bytes:
        return self.false.get(name, there.files[name])

    def _gate(self, hub_id: str, there: Repository, token: str) -> Answer | None:
        if not there.readers or token in there.readers:
            return None
        return Answer(403, headers={"X-Error-Code": "GatedRepo", "X-Error-Message": GATE.format(hub_id)})


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        answer = self.server.answer(path, self.headers.get("Authorization", "").removeprefix("Bearer "))
        body = answer.body
        self.send_response(answer.status)
        for key, value in {**answer.headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET" and body:
            if not path.startswith("/api/"):
                self.server.given.append(path.rpartition("/")[2])
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def _json(value: Any) -> Answer:
    return Answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _tree(name: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": _git_hash(data)}
    if name.endswith(LARGE):
        found["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return found


def _git_hash(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def hub() -> Iterator[Hub]:
    with Hub() as there:
        threading.Thread(target=there.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield there
        finally:
            there.shutdown()
