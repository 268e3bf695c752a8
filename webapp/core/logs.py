"""Keep secrets out of the log, wherever a line comes from."""

from __future__ import annotations

import logging
import re

_SECRETS = re.compile(r"(dh_[A-Za-z0-9]+\.)[A-Za-z0-9_-]+|(/(?:join|enter)/)[^/\s\"']+")


def redact(text: str) -> str:
    return _SECRETS.sub(lambda match: f"{match[1] or match[2]}…", text)


class Redact(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True
