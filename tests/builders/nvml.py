"""Compiles the stand-in of NVIDIA's driver library, which the real `pynvml` then loads through the loader."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")
N_GPUS = 8
SPLIT = 5
VIRTUAL = 6


def build_nvml(folder: Path) -> Path:
    """The folder with libnvidia-ml.so.1, to be put on LD_LIBRARY_PATH."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "the tests of the GPU sampler need a C compiler"
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
    return folder


def with_nvml(folder: Path, **more: str) -> dict[str, str]:
    """An environment for a process that finds the library."""
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), **more}
