"""Parts of the papers' figures that the service uses: their names, their files, the methods paragraph. Standard library
only."""

from decoding.papers import FIGURES
from decoding.reproduce.figure import kept_as
from decoding.reproduce.files import FILES, TYPES
from decoding.reproduce.methods import methods

__all__ = ["FIGURES", "FILES", "TYPES", "kept_as", "methods"]
