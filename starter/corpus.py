"""Training corpus: permissively licensed Python sources that exist on every machine with Drafthouse.

It has the interpreter's standard library and the sources of those packages in SOURCES that are installed. Each source
file is one `Source`: its code, and its prose (docstrings; documentation files are all prose). A file belongs to exactly
one split, by a hash of its name: training uses only `corpus`, and the other splits give the prompts.
"""

import ast
import hashlib
import inspect
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from decoding.errors import DrafthouseError

PYTHON_LICENCE = "PSF-2.0"
SOURCES = {  # distribution: licence; all permissive, so that anyone may use the weights for anything
    "anyio": "MIT",
    "asgiref": "BSD-3-Clause",
    "attrs": "MIT",
    "autobahn": "MIT",
    "celery": "BSD-3-Clause",
    "channels": "BSD-3-Clause",
    "channels_redis": "BSD-3-Clause",
    "click": "BSD-3-Clause",
    "cryptography": "Apache-2.0 OR BSD-3-Clause",
    "daphne": "BSD-3-Clause",
    "django": "BSD-3-Clause",
    "djangorestframework": "BSD-3-Clause",
    "drf-spectacular": "BSD-3-Clause",
    "fsspec": "BSD-3-Clause",
    "huggingface_hub": "Apache-2.0",
    "jinja2": "BSD-3-Clause",
    "jsonschema": "MIT",
    "kombu": "BSD-3-Clause",
    "markdown-it-py": "MIT",
    "mpmath": "BSD-3-Clause",
    "mypy": "MIT",
    "networkx": "BSD-3-Clause",
    "numpy": "BSD-3-Clause",
    "packaging": "Apache-2.0 OR BSD-2-Clause",
    "prompt_toolkit": "BSD-3-Clause",
    "pydantic": "MIT",
    "pytest": "MIT",
    "redis": "MIT",
    "rich": "MIT",
    "scipy": "BSD-3-Clause",
    "setuptools": "MIT",
    "sympy": "BSD-3-Clause",
    "torch": "BSD-3-Clause",
    "transformers": "Apache-2.0",
    "twisted": "MIT",
    "typer": "MIT",
    "vine": "BSD-3-Clause",
    "whitenoise": "MIT",
}
BYTES_PER_PACKAGE = 3_000_000  # so that no package outweighs the standard library
LONGEST_FILE = 200_000  # longer files are tables
SHARES = {"test": 0.015, "validation": 0.03, "train": 0.06}  # upper limits of the hash; anything above is corpus
LEFT_OUT = {
    "test",
    "tests",
    "testing",
    "idle_test",
    "_vendor",
    "site-packages",
    "locale",
    "encodings",
    "lib2to3",
    "pip",
}
DOCUMENTS = {".md", ".rst", ".txt"}


@dataclass(frozen=True)
class Source:
    """One source file. `name` starts with its package, so that it is the same on every machine."""

    name: str
    code: str
    prose: tuple[str, ...]

    @property
    def split(self) -> str:
        """`corpus` is for training; `train`, `validation` and `test` give prompts that neither model saw."""
        place = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8]) / 2**64
        return next((split for split, end in SHARES.items() if place < end), "corpus")

    @property
    def documents(self) -> list[str]:
        """Texts for the tokenizer and the models: the code as it is, and its prose again on its own."""
        return [text for text in (self.code, "\n\n".join(self.prose)) if text]


def installed_sources() -> list[Source]:
    """Read the standard library and every installed package of SOURCES, each file once, in a fixed order."""
    library = Path(sysconfig.get_paths()["stdlib"])
    found = list(folder_sources(library, "python"))
    for name in SOURCES:
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        paths = [(path.as_posix(), Path(str(path.locate()))) for path in files if ".." not in path.parts]
        readme = metadata.metadata(name).get_payload()
        package = [Source(f"{name}/README", "", (str(readme).strip(),))] if readme else []
        package += [source for path, place in paths if (source := read_source(f"{name}/{path}", place))]
        found += capped(package)
    return without_copies(found)


def folder_sources(folder: Path, package: str) -> Iterator[Source]:
    """Read every usable file under a folder."""
    for place in sorted(folder.rglob("*")):
        if source := read_source(f"{package}/{place.relative_to(folder).as_posix()}", place):
            yield source


def read_source(name: str, place: Path) -> Source | None:
    """Read one file. None if it is neither Python nor documentation, or is a test, a table or not readable as text."""
    if place.suffix not in {".py", *DOCUMENTS} or LEFT_OUT & set(Path(name).parts) or ".dist-info" in name:
        return None
    try:
        if not 200 <= place.stat().st_size <= (5 * LONGEST_FILE if "pydoc_data" in name else LONGEST_FILE):
            return None
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    text = text.replace("\r\n", "\n").expandtabs(4)
    if looks_like_a_table(text):
        return None
    if place.suffix in DOCUMENTS:
        return None if "requires" in name or "LICENSE" in name else Source(name, "", (text.strip(),))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    if "pydoc_data" in name:  # the language reference as a dictionary of texts
        return Source(name, "", tuple(t for t in string_constants(tree) if len(t) > 200))
    return Source(name, without_header(text), tuple(docstrings(tree)))


def looks_like_a_table(text: str) -> bool:
    """Tell data from language: most characters are digits, or no person wrote such lines."""
    digits = sum(map(str.isdigit, text))
    foreign = sum(not character.isascii() for character in text)
    lines = text.count("\n") + 1
    return digits > 0.15 * len(text) or foreign > 0.03 * len(text) or len(text) > 120 * lines


def without_header(text: str) -> str:
    """Drop the licence comment at the top of a file: models would learn little else from 5,000 copies."""
    return re.sub(r"\A(?:#[^\n]*\n|\s*\n)+", "", text)


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield docstrings of at least a few sentences."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and len(text) >= 200:
                yield text


def string_constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield inspect.cleandoc(node.value)


def capped(package: list[Source]) -> list[Source]:
    """Keep a package's share: files in the order of their hash, up to the limit."""
    kept, size = [], 0
    for source in sorted(package, key=lambda source: hashlib.sha256(source.name.encode()).digest()):
        size += sum(map(len, source.documents))
        if size > BYTES_PER_PACKAGE:
            break
        kept.append(source)
    return sorted(kept, key=lambda source: source.name)


def without_copies(sources: list[Source]) -> list[Source]:
    """Keep the first of files that differ only in white space."""
    seen: set[str] = set()
    kept = []
    for source in sources:
        print_of = " ".join("\n".join(source.documents).split())
        if print_of and print_of not in seen:
            seen.add(print_of)
            kept.append(source)
    return kept


def read_corpus(folder: Path | None) -> list[Source]:
    """Read the given folder, or the installed packages. Refuses a corpus that is too small."""
    if folder is None:
        return installed_sources()
    if not folder.is_dir():
        raise DrafthouseError(f"There is no folder {folder}. Name a folder of Python or documentation files.")
    sources = without_copies(list(folder_sources(folder, folder.name)))
    if not any(source.split == "corpus" for source in sources):
        raise DrafthouseError(
            f"The folder {folder} holds no usable file. A corpus needs .py, .md, .rst or .txt files of 200 bytes to "
            f"{LONGEST_FILE // 1000} kB, in UTF-8, that are neither tests nor tables."
        )
    return sources
