"""Files of a finished figure, fit for a paper: SVG, PDF, CSV, and a matplotlib script. Standard library only.

All are made from the figure's plain data, so the service, the terminal and an old document give the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from decoding.papers.files.pdf import pdf
from decoding.papers.files.plate import plate
from decoding.papers.files.script import script
from decoding.papers.files.svg import svg
from decoding.papers.files.table import csv

Maker = Callable[[Mapping[str, Any]], bytes]

FILES: Mapping[str, Maker] = {
    "svg": lambda figure: svg(plate(figure)).encode(),
    "pdf": lambda figure: pdf(plate(figure)),
    "csv": lambda figure: csv(figure).encode(),
    "py": lambda figure: script(figure).encode(),
}
TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf", "csv": "text/csv", "py": "text/x-python"}
