"""Each example runs; one whose library is not installed is left out."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def missing(path: Path) -> list[str]:
    """Return the modules that an example imports and that are not installed."""
    nodes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.stmt)]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    tops = {name.partition(".")[0] for name in names}
    return sorted(name for name in tops if importlib.util.find_spec(name) is None)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    if lacking := missing(path):
        pytest.skip(f"needs {', '.join(lacking)}")
    command = [sys.executable, str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
