"""Serve pages, API and sockets: `python -m webapp.config.server --host 0.0.0.0 --port 8000`.

This is the only place that configures uvicorn: in a container, under `./drafthouse up` and in a test.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import resource
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn

from webapp.config.connections import Config, Limits
from webapp.core import logs

logger = logging.getLogger("drafthouse.server")
FILES_EACH = 2  # a connection, and the file a body is kept in
OTHER_FILES = 256
SWITCH_S = (
    0.0005  # a thread that computes lets others in so often; by default it is 0.005 for each thread that computes
)


def configured(app: Any, limits: Limits | None = None) -> Config:
    """Return our configuration of uvicorn. It names no address: `serve` gets an open socket."""
    from django.conf import settings

    from webapp.core.proxies import is_proxy

    return Config(
        app,
        limits=limits or Limits(),
        is_proxy=partial(is_proxy, trusted=settings.PROXIES),
        lifespan="off",
        log_config=None,  # only Django configures logging
        access_log=False,
        server_header=False,
        proxy_headers=False,  # webapp.core.proxies does this, for the proxies that the operator named
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=64 * 1024,  # all headers; a long poll may name 500 samples in its address
        ws_max_size=256 * 1024,  # the longest message has 64 Ki characters of up to 4 bytes
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        backlog=1024,
    )


def serve(listener: socket.socket, app: Any = "webapp.config.asgi:application") -> None:
    """Serve on a socket that is open already, until SIGTERM or Ctrl-C."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    from webapp.config import readiness
    from webapp.uploads import store

    config = configured(app)
    allow_files(config.limits.connections * FILES_EACH + OTHER_FILES)
    config.load()
    if told := readiness.refusal():
        sys.exit(told)
    if told := readiness.static_files():
        logger.warning(told)
    sys.setswitchinterval(SWITCH_S)
    logs.name_process("web")
    store.current()  # loads what a bucket needs, else the first requests would wait for it
    gc.collect()
    gc.freeze()  # what is loaded stays: no collection during a request need look at it again
    logger.info("serving on %s port %s", *listener.getsockname()[:2])
    uvicorn.Server(config).run(sockets=[listener])


def allow_files(wanted: int) -> None:
    """Raise the limit of open files, which is 1,024 on many systems."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < wanted:
        more = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, more), most))


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m webapp.config.server", description="Serve Drafthouse's web part.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--fd", type=int, help="serve on this inherited listening socket instead")
    parser.add_argument("--app", default="webapp.config.asgi:application", help="the ASGI application (%(default)s)")
    asked = parser.parse_args(argv)
    try:
        listener = listen(asked.host, asked.port) if asked.fd is None else socket.socket(fileno=asked.fd)
    except OSError as error:
        where = f"{asked.host}:{asked.port}" if asked.fd is None else f"file descriptor {asked.fd}"
        sys.stderr.write(f"Cannot listen on {where}: {error.strerror}. Choose another --host or --port.\n")
        return 1
    serve(listener, asked.app)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
