"""The libraries are imported by their adapters alone, which say what is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest


def test_no_library_is_imported_before_it_is_asked_for() -> None:
    """By the package, and by a batch of games."""
    names = {"av", "cv2", "grpc", "matplotlib", "pettingzoo", "ray", "stable_baselines3", "torch"}
    look = f"print({names} & sys.modules.keys())"
    play = "e = a.make_vec('PongNoFrameskip-v4', 2); e.reset(); e.step([0, 0]); e.close()"
    code = f"import sys, atari_wrappers as a; {look}; {play}; {look}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("set()\n" * 2, "")


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
