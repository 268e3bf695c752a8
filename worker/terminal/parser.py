"""A parser whose errors are sentences."""

from __future__ import annotations

import argparse
from typing import NoReturn

from decoding.errors import DrafthouseError


class BadArguments(DrafthouseError):
    code = "bad-arguments"


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sentence = message.removeprefix("argument ")
        raise BadArguments(f"{sentence[0].upper()}{sentence[1:]}. {self.prog} --help lists what there is.")
