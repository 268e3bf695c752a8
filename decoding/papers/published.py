"""Parts of the papers' figures that the service uses: their names, their files, how to repeat them, the methods
paragraph. Standard library only."""

from decoding.papers.figure import RepeatOptions, kept_as, sampling_options
from decoding.papers.figures import FIGURES
from decoding.papers.files import FILES
from decoding.papers.methods import methods

__all__ = ["FIGURES", "FILES", "RepeatOptions", "kept_as", "methods", "sampling_options"]
