"""Packages say one version, declare what they import and carry their licences."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from program import ROOT

import atari_core
import atari_wrappers
import rust_trainer
from atari_wrappers import about

CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())
VERSION = CARGO["workspace"]["package"]["version"]
FOLDERS = {"atari_wrappers": ".", "atari_core": "atari_core/python", "rust_trainer": "rust_trainer"}
PROJECTS = {
    name: tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    for name, folder in FOLDERS.items()
}
# Modules whose package has another name.
PACKAGES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "dm_env": "dm-env",
    "google": "protobuf",
    "grpc": "grpcio",
    "ale_py": "ale-py",
    "atari_core": "atari-core",
    "multi_agent_ale_py": "multi-agent-ale-py",
    "stable_baselines3": "stable-baselines3",
}


def requirements(lines: list[str]) -> dict[str, str]:
    """Return requirements by the name of their package."""
    return {re.match(r"[\w-]+", line)[0]: line for line in lines}


def test_there_is_one_version() -> None:
    core = "atari-core==" + VERSION
    wrappers = PROJECTS["atari_wrappers"]
    assert {module.__version__ for module in (atari_core, atari_wrappers, rust_trainer)} == {
        VERSION
    }
    assert wrappers["version"] == VERSION
    assert requirements(wrappers["dependencies"])["atari-core"].startswith(f"{core};")
    assert f"atari-wrappers=={VERSION}" in PROJECTS["rust_trainer"]["dependencies"]
    assert all("version" in PROJECTS[name]["dynamic"] for name in ("atari_core", "rust_trainer"))
    for crate in ("vec_env", "atari_core"):  # which are published, and name each other
        assert CARGO["workspace"]["dependencies"][crate]["version"] == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_trainer_needs_the_torch_that_it_is_built_with() -> None:
    minor = rust_trainer._TORCH
    assert f"torch=={minor}.*" in PROJECTS["rust_trainer"]["dependencies"]
    constraints = (ROOT / "constraints.txt").read_text()
    (pin,) = re.findall(rf"^torch=={re.escape(minor)}\.\d+$", constraints, re.MULTILINE)
    # What the image takes from an index of torch must be what the constraints ask for after it.
    assert f'"{pin}"' in (ROOT / "docker/Dockerfile").read_text()


@pytest.mark.parametrize(("name", "found"), [("torch", "2.12.0"), ("atari-wrappers", "0.0.1")])
def test_another_version_is_refused_in_a_line(
    name: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = {"torch": "2.11.1+cpu", "atari-wrappers": VERSION} | {name: found}
    monkeypatch.setattr(rust_trainer, "version", right.get)
    with pytest.raises(ImportError, match=rf"needs {name} .*, and {found} is .*pip install") as no:
        rust_trainer.main(["--version"])
    assert "\n" not in str(no.value)


@pytest.mark.parametrize("name", PROJECTS)
def test_an_index_can_show_it(name: str) -> None:
    project, folder = PROJECTS[name], ROOT / FOLDERS[name]
    assert project["license"] == "MIT OR Apache-2.0"
    assert project["requires-python"] == ">=3.11"
    assert (folder / project["readme"]).read_text().startswith("# ")
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (folder / licence).read_bytes() == (ROOT / licence).read_bytes()
    pythons = {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)}
    assert pythons <= set(project["classifiers"])


def imports(package: Path) -> set[str]:
    """Return the modules that a package imports, also where it does so late."""
    found: set[str] = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names


def test_what_is_imported_is_declared() -> None:
    project = PROJECTS["atari_wrappers"]
    extras = project["optional-dependencies"]
    declared = requirements(project["dependencies"])
    for name in (
        "dm-env",
        "http",
        "opencv",
        "pettingzoo",
        "ray",
        "remote",
        "rllib",
        "sb3",
        "torch",
        "two-player",
        "video",
    ):
        declared |= requirements(extras[name])
    used = imports(ROOT / "atari_wrappers") - {"atari_wrappers"}
    assert {PACKAGES.get(name, name) for name in used} <= declared.keys()


@pytest.mark.parametrize(("system", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_another_system_is_refused_in_a_line(system: str, name: str) -> None:
    with pytest.raises(ImportError, match=rf"runs on Linux only, and this is {name}$"):
        about.check_machine(system, "x86_64")


def test_another_processor_is_told_in_a_line() -> None:
    assert about.check_machine("linux", "x86_64") is None
    told = about.check_machine("linux", "aarch64")
    assert "tested on x86-64 only, and this is aarch64" in told
    assert "\n" not in told


def test_the_core_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atari_core, "__version__", "0.0.9")
    told = rf"it is 0.0.9, .* is {VERSION}\): pip install atari-core=="
    with pytest.raises(atari_wrappers.UnsupportedError, match=told):
        atari_wrappers.make_vec("PongNoFrameskip-v4", 1, backend="native")
    with pytest.warns(UserWarning, match=told):
        atari_wrappers.make_vec("PongNoFrameskip-v4", 1).close()
