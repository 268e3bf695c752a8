"""`./drafthouse ask`: one request to a running Drafthouse, as every form's "copy as CLI" spells it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

from worker.terminal.ending import ended
from worker.terminal.service import HERE, Service, ServiceRefused, exit_with


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="./drafthouse ask",
        description="Ask a running Drafthouse over REST; API in its menu lists what there is.",
        epilog="DRAFTHOUSE_TOKEN holds the API token.",
    )
    parser.add_argument("method", choices=("GET", "POST", "PUT", "PATCH", "DELETE"))
    parser.add_argument("address", help=f"such as {HERE}/api/v1/pairs/, or /api/v1/pairs/ alone for {HERE}")
    parser.add_argument("body", nargs="?", help="JSON")
    asked = parser.parse_args(argv)
    try:
        body = None if asked.body is None else json.loads(asked.body)
    except ValueError as error:
        parser.error(f"the body is not JSON: {error}")
    try:
        parts = urlsplit(HERE + asked.address if asked.address.startswith("/") else asked.address)
        service = Service(f"{parts.scheme}://{parts.netloc}" if parts.netloc else asked.address)
        answer = service.read(asked.method, parts._replace(scheme="", netloc="").geturl(), body)
    except (ServiceRefused, OSError) as error:
        exit_with(error)
    sys.stdout.buffer.write(shown(answer))


def shown(answer: bytes) -> bytes:
    """JSON so that it can be read; anything else, such as CSV, as it came."""
    try:
        return f"{json.dumps(json.loads(answer), indent=2, ensure_ascii=False)}\n".encode()
    except ValueError:
        return answer


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
