"""`python -I sandbox.py SECONDS BYTES CHARACTERS`: render chat templates, one JSON line in and one out.

A template is a stranger's program, so it runs in a process of its own, in Jinja's immutable sandbox, with bounds on CPU
time, memory and output. The process cannot open a file once it has started, and ends when its input does.
"""

from __future__ import annotations

import encodings.unicode_escape  # noqa: F401  loaded now, like all below: no file can be opened later
import json
import resource
import signal
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

import jinja2.debug
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

LONGEST_REASON = 300  # characters
TODAY = datetime(2024, 7, 26)  # for every template, so that a prompt is the same tomorrow; Llama 3 falls back to it


class Refused(jinja2.TemplateError):
    """The template itself refuses these messages."""


class TooLong(Exception):
    """The text is longer than a prompt may be."""


class Generation(jinja2.ext.Extension):
    """`{% generation %}` marks answers for training; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012  as Jinja declares it

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def environment() -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    """Offer what chat templates may expect, by the documents of transformers."""
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    del made.filters["random"], made.globals["lipsum"]  # every run must ask the same
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = TODAY.strftime
    return made


def refuse(message: object) -> NoReturn:
    raise Refused(str(message)[:LONGEST_REASON])


def tojson(value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None,
           sort_keys: bool = False) -> str:  # fmt: skip
    """Write JSON as transformers' filter does: Jinja's own would escape for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def rendered(order: Mapping[str, Any], longest: int) -> dict[str, str]:
    """Render one prompt. Return its `text`, or `refused` or `error` with the reason."""
    try:
        template = environment().from_string(order["template"])
        pieces, length = [], 0
        for piece in template.generate(order["variables"]):
            pieces.append(piece)
            if (length := length + len(piece)) > longest:
                raise TooLong(f"it makes more than {longest:,} characters")
        return {"text": "".join(pieces)}
    except Refused as refusal:
        return {"refused": str(refusal)}
    except MemoryError:
        return {"error": "it wants more memory than a template may take"}
    except RecursionError:
        return {"error": "it calls itself without end"}
    except (ImportError, OSError):  # its sentence would name a file of this machine
        return {"error": "it uses a part of Jinja that is not offered here"}
    except Exception as error:  # a template can raise anything
        return {"error": (str(error).partition("\n")[0] or type(error).__name__)[:LONGEST_REASON]}


def main(seconds: float, memory: int, longest: int) -> None:
    rendered({"template": "{{ 1 / 0 }}", "variables": {}}, 1)  # loads what Jinja loads late
    _say({"ready": True})
    if sys.platform == "linux":  # macOS refuses such a bound
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends this process
        answer = rendered(json.loads(line), longest)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _say(answer)


def _say(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
