"""`python -m worker.supervisor.web FD`: the pages and the API, on a socket that is open already."""

from __future__ import annotations

import os
import socket
import sys

import uvicorn

from worker import leash


def main(fd: int) -> None:
    leash.put_on()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    config = uvicorn.Config(
        "webapp.config.asgi:application",
        lifespan="off",
        log_config=None,  # Django's logging is all there is
        access_log=False,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
