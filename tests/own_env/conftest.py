"""The package of the example `robot_arm`, built as its users build it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import zipfile
from types import ModuleType

import pytest
from program import ROOT


@pytest.fixture(scope="session")
def robot_arm(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module; what it needs is compiled, so that this takes seconds."""
    folder = tmp_path_factory.mktemp("robot_arm")
    command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--quiet"]
    command += ["--manifest-path", str(ROOT / "examples/robot_arm/Cargo.toml")]
    command += ["--target-dir", str(ROOT / "target"), "--out", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder)
    # Left there: `gymnasium.make` imports the module by its name at any time.
    sys.path.append(str(folder))
    return importlib.import_module("robot_arm")
