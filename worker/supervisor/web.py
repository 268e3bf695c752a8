"""`python -m worker.supervisor.web FD`: the pages and the API, on a socket that is open already."""

from __future__ import annotations

import socket
import sys

from webapp.config.server import serve
from worker import leash


def main(fd: int) -> None:
    leash.put_on()
    serve(socket.socket(fileno=fd))


if __name__ == "__main__":
    main(int(sys.argv[1]))
