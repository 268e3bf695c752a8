"""Endpoint: a server that can be a contestant, as data. Standard library only, so that the web process can use it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from decoding.backends.contestants.servers.guard import NOWHERE, Allowed
from decoding.errors import BadServer

CERTIFICATES = "DRAFTHOUSE_SERVER_CERTIFICATES"  # environment variable: PEM file for all servers
ROUTES = re.compile(r"/v1(/(chat/completions|completions|models))?/*$")  # dialects add their own
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LARGEST_KEY = 8192  # bytes
USUAL_PORTS = {"http": 80, "https": 443}
USUAL_DEADLINE_S = 600.0
DTYPES = ("float32", "float16", "bfloat16")
USUAL_DTYPE = "bfloat16"  # published checkpoints are served so, and no other of the formats rounds as coarsely


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """Address, dialect and model of a server. It holds a reference to the key, never the key."""

    name: str  # the choice is `server:NAME`
    address: str  # http://host:port, or https; a path before the dialect's routes is allowed, and /v1 is left out
    dialect: str  # a name of `dialects.DIALECTS`
    model: str = ""  # its name on the server; empty takes the one that the server lists
    key: str = ""  # reference: env:NAME, file:PATH, or what another resolver knows; empty sends none
    deadline_s: float = USUAL_DEADLINE_S  # for one request, from its arrival to its last token
    dtype: str = ""  # number format that it decodes in, one of DTYPES; servers do not tell theirs. Empty: USUAL_DTYPE

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", ROUTES.sub("", self.address))
        if not NAME.fullmatch(self.name):
            raise BadServer(
                f"{self.name[:80]!r} is not a name for a server: take letters, digits, dots, dashes and underscores, "
                "at most 64."
            )
        place = self.place
        if place.scheme not in ("http", "https") or not place.host:
            raise BadServer(f"{self.address[:200]!r} is not a server's address; write it as in http://127.0.0.1:8080.")
        if not 0 < self.deadline_s <= 86_400:
            raise BadServer(f"The deadline of {self.name} is {self.deadline_s:g} s; it must lie between 0 and 86,400.")
        if self.dtype not in ("", *DTYPES):
            raise BadServer(
                f"The dtype of {self.name} is {self.dtype[:40]!r}, which is not one of {', '.join(DTYPES)}."
            )

    @property
    def rounding(self) -> str:
        """Number format in whose roundings its texts are judged."""
        return self.dtype or USUAL_DTYPE

    @property
    def place(self) -> Address:
        return _place(self.address)


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of an address."""

    scheme: str
    host: str
    port: int
    path: str  # without a slash at its end

    @property
    def origin(self) -> str:
        """Host and port, as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORTS.get(self.scheme) else f"{host}:{self.port}"


def _place(address: str) -> Address:
    if any(not "!" <= letter <= "~" for letter in address):
        raise BadServer("The address of a server holds a space or another character that no address can hold.")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadServer(f"{address[:200]!r} is not a server's address: {error}.") from None
    if parts.username is not None or parts.password is not None:  # it would be shown and stored with the address
        raise BadServer("The address of a server holds a user or a password. Leave both out, and name a key.")
    if parts.query or parts.fragment:
        raise BadServer(f"{address[:200]!r} holds more than a path; leave out what begins with ? or #.")
    return Address(
        parts.scheme, host, USUAL_PORTS.get(parts.scheme, 0) if port is None else port, parts.path.rstrip("/")
    )


def key_of(reference: str) -> str:
    """Read a key from the environment (env:NAME) or from a file (file:PATH). No error shows the key."""
    kind, _, where = reference.partition(":")
    if kind == "env":
        key = os.environ.get(where, "").strip()
        if not key:
            raise BadServer(f"The environment variable {where} is empty or not set. Set it to the server's key.")
    elif kind == "file":
        key = _read_key(Path(where))
    else:
        raise BadServer("The reference to a key is unknown; write env:NAME or file:PATH.")
    if not key.isprintable() or not key.isascii():
        raise BadServer(f"The key in {where} holds characters that no HTTP header can hold. Write one line of ASCII.")
    return key


def _read_key(path: Path) -> str:
    try:
        if not path.is_file():
            raise OSError(0, "it is not a regular file")
        with path.open("rb") as file:
            key = file.read(LARGEST_KEY + 1).strip()
    except OSError as error:
        raise BadServer(f"The key file {path} cannot be read: {error.strerror}.") from None
    if not key or len(key) > LARGEST_KEY:
        raise BadServer(f"The key file {path} is empty or has more than {LARGEST_KEY} bytes.")
    return key.decode("ascii", errors="replace")


@dataclass(frozen=True)
class Reach:
    """The servers that a comparison may ask, their keys, which addresses may be reached, and whose certificates are
    trusted."""

    endpoints: Mapping[str, EndpointSpec] = field(default_factory=dict)  # by name
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # by the reference that an endpoint holds
    allowed: Allowed = NOWHERE
    certificates: str = ""  # PEM file of authorities to trust, for all of them, besides the system's

    def endpoint(self, name: str) -> EndpointSpec:
        if name not in self.endpoints:
            known = ", ".join(self.endpoints)
            raise BadServer(f"There is no server {name!r}" + (f"; there are {known}." if known else " here."))
        return self.endpoints[name]
