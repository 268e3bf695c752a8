"""Parts of the papers' figures that the service uses: names and files. Standard library only."""

from decoding.papers.figure import kept_as
from decoding.papers.figures import FIGURES
from decoding.papers.files import FILES

__all__ = ["FIGURES", "FILES", "kept_as"]
