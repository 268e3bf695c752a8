"""A model folder for the engine's checks, without its weights: small files whole, large ones as holes.

The web process keeps chunks, not folders. Checks read only the header of a weight file; the rest is a sparse file of
the right length, which takes no space and no time.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from webapp.registry import checkpoints
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader


def sketch(upload: Upload, folder: Path) -> Path:
    for name, file in checkpoints.in_one_folder(list(upload.files.all())).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _sketch_file(file, FileReader(file, upload.team_id), path)
    return folder


def _sketch_file(file: UploadedFile, reader: FileReader, path: Path) -> None:
    with path.open("xb") as copy:
        if file.path.endswith(".safetensors"):
            start = reader.read(8)
            copy.write(start + reader.read(min(int.from_bytes(start, "little"), checkpoints.LONGEST_HEADER)))
            copy.truncate(file.size)
        else:
            shutil.copyfileobj(reader, copy, 1 << 20)
