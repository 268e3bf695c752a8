"""Parts of the papers' figures that the service uses: names, files, the methods paragraph. Standard library only."""

from decoding.papers.figure import kept_as
from decoding.papers.figures import FIGURES
from decoding.papers.files import FILES
from decoding.papers.methods import methods

__all__ = ["FIGURES", "FILES", "kept_as", "methods"]
