"""Renderer: makes the text of a chat prompt by the target's template, in a process of its own (`sandbox`)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from decoding.errors import BadPrompt
from decoding.prompts.chat.messages import LONGEST, Message
from decoding.prompts.chat.template import Template, template_of

SANDBOX = Path(__file__).with_name("sandbox.py")
SECONDS = 5.0  # of CPU time for one prompt; published templates take some milliseconds
MEMORY = 512 << 20  # bytes of address space
CURE = "Read the prompts with the form chat-as-text, or add a chat_template.jinja to the model"


class Renderer:
    """Starts its process with the first prompt and keeps it for the next ones. `close` ends it."""

    def __init__(self, folder: Path, seconds: float = SECONDS) -> None:
        """Render by the template of the target's folder, within `seconds` for a prompt."""
        self._folder = folder
        self._seconds = seconds
        self._templates: dict[bool, Template | None] = {}  # by whether there are tools
        self._process: subprocess.Popen[str] | None = None
        self._ended = ""  # why the process was ended: what used up its bounds once is not run again

    def render(self, messages: Sequence[Message], tools: Sequence[Message] = ()) -> str:
        """Return the text that ends where the model's answer begins. Refuse, in a sentence, what has no such text."""
        template = self._template(bool(tools))
        variables = {
            **template.special,
            "messages": list(messages),
            "tools": list(tools) or None,
            "documents": None,
            "add_generation_prompt": True,
        }
        answer = self._ask({"template": template.text, "variables": variables})
        if "refused" in answer:
            raise BadPrompt(f"The target's chat template refuses its messages: {answer['refused']}")
        if "error" in answer:
            raise BadPrompt(f"The target's chat template fails: {answer['error'].rstrip('.')}. {CURE}.")
        return answer["text"]

    def close(self) -> None:
        if self._process is not None:
            with suppress(BrokenPipeError), self._process:
                pass  # this closes its input, which is its sign to end, and waits
            self._process = None

    def _template(self, has_tools: bool) -> Template:
        if has_tools not in self._templates:
            self._templates[has_tools] = template_of(self._folder, has_tools=has_tools)
        if (found := self._templates[has_tools]) is None:
            raise BadPrompt(
                f"The target in {self._folder} has no chat template, so nothing makes a text of messages. {CURE}."
            )
        return found

    def _ask(self, order: dict[str, Any]) -> dict[str, str]:
        if self._ended:
            return {"error": self._ended}
        process = self._process = self._process or self._started()
        assert process.stdin is not None and process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            if line := process.stdout.readline():
                answer: dict[str, str] = json.loads(line)
                return answer
        self.close()
        is_slow = process.returncode == -signal.SIGPROF
        self._ended = f"it took more than {self._seconds:g} s of CPU time" if is_slow else "it brought down its process"
        return {"error": self._ended}

    def _started(self) -> subprocess.Popen[str]:
        bounds = (str(self._seconds), str(MEMORY), str(LONGEST))
        process = subprocess.Popen(
            [sys.executable, "-I", str(SANDBOX), *bounds],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            encoding="utf-8",
        )
        assert process.stdout is not None
        if not process.stdout.readline():
            process.communicate()
            raise BadPrompt("The process that renders chat templates ended at its start: is jinja2 installed?")
        return process
