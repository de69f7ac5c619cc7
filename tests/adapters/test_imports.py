"""The libraries are imported by their adapters alone, which say what is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest


def test_the_package_imports_no_library_that_trains() -> None:
    names = "{'stable_baselines3', 'ray', 'pettingzoo', 'torch'}"
    code = f"import sys, atari_wrappers; sys.exit(sorted({names} & sys.modules.keys()) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("adapter", "missing", "remedy"),
    [
        ("stable_baselines3", "stable_baselines3.common", r'pip install "atari-wrappers\[sb3\]"'),
        ("rllib", "ray.rllib.env.vector_env", r'pip install "atari-wrappers\[rllib\]"'),
        ("pettingzoo", "pettingzoo", r'pip install "atari-wrappers\[pettingzoo\]"'),
    ],
)
def test_a_missing_library_is_named_with_its_remedy(
    adapter: str, missing: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"atari_wrappers.adapters.{adapter}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=remedy):
        importlib.import_module(name)
