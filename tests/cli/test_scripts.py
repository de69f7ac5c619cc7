"""The scripts beside `setup`, in a copy of the project with fake tools."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from program import ROOT
from project import Project, write_program

MATURIN = '#!/bin/sh\necho "maturin $*" >>"$LOG"\ntouch dist/atari_core-1-linux.whl\n'


@pytest.mark.parametrize("name", ["ray_sweep", "ray_train"])
def test_help_of_ray_installs_no_ray(project: Project, name: str) -> None:
    ended = project.run("--help", script=project.root / "scripts" / name)
    assert f"./scripts/{name} --" in ended.stdout
    assert project.called() == ""


@pytest.mark.parametrize("words", [["--help"], ["one", "two"], ["dist"]])
def test_gpu_pack_builds_nothing_for_what_is_no_folder_to_pack(
    project: Project, words: list[str]
) -> None:
    words = [str(project.root / word) if word == "dist" else word for word in words]
    write_program(project.bin / "realpath", '#!/bin/sh\necho "$2"\n')
    ended = project.run(*words, script=project.root / "scripts/gpu_pack", status=1)
    assert ended.stderr.startswith("gpu_pack: ")
    assert (ended.stdout, project.called()) == ("", "")


def test_a_link_to_the_script_runs_it(built: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    first, second = tmp_path / "elsewhere/first", tmp_path / "second"
    first.symlink_to("../project/scripts/train")
    second.symlink_to(first)
    assert built.run("doctor", script=second).stdout == "ran doctor\n"
    link = tmp_path / "elsewhere/setup"
    link.symlink_to(built.root / "scripts/setup")
    assert built.run(script=link).stderr == "   Compiling rust_trainer\n"


@pytest.mark.parametrize("name", ["atari_sweep", "policy_actions", "resume_sweep", "strobe_sweep"])
def test_what_is_written_in_python_finds_the_projects_own(built: Project, name: str) -> None:
    link = built.bin / name
    link.symlink_to(built.root / "scripts" / name)
    for script in (built.root / "scripts" / name, link):
        built.run("pong", script=script)
        assert built.called().startswith(f"python {script} pong ")


def test_another_python_on_the_variables_reaches_no_tool(project: Project) -> None:
    project.run(PYTHONHOME="/nowhere", PYTHONPATH="/somewhere")
    called = project.called()
    assert called.count("\n") > 4
    assert called.count("home=unset path=unset") == called.count("home=")


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["train", "--help"], ["eval", "-h"], ["help"], ["--version"]]
)
def test_help_waits_for_no_build(built: Project, words: list[str]) -> None:
    built.source.touch()
    ended = built.run(*words)
    assert ended.stdout.startswith("ran ")
    assert (ended.stderr, built.called()) == ("", "")


def test_help_before_the_first_build_is_a_line(project: Project) -> None:
    ended = project.run("--help", status=1)
    assert (ended.stdout, project.called()) == ("", "")
    assert ended.stderr.count("\n") == 1
    assert "./scripts/setup builds it" in ended.stderr


def test_wheels_without_the_trainers_need_no_set_up(project: Project) -> None:
    write_program(project.bin / "maturin", MATURIN)
    project.run("atari_core", script=project.root / "scripts/wheels")
    called = project.called()
    assert "maturin build" in called
    assert "cargo" not in called
    assert not (project.root / ".venv").exists()
    (project.bin / "cargo").unlink()
    ended = project.run("atari_core", script=project.root / "scripts/wheels", status=1)
    assert ended.stderr.startswith("wheels: cargo is missing: install Rust from https://rustup.rs")


def test_the_versions_that_are_asked_for_are_those_of_the_crates_and_the_package() -> None:
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text())
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rust = crates["workspace"]["package"]["rust-version"]
    python = package["project"]["requires-python"].removeprefix(">=")
    for path in (
        *("scripts/setup", "scripts/wheels"),
        *("README.md", "docs/command-line.md", "docs/install.md"),
    ):
        text = (ROOT / path).read_text()
        assert set(re.findall(r"(?:Rust|rustup\.rs,) (\d[\d.]*\d)", text)) == {rust}, path
        assert set(re.findall(r"Python (\d[\d.]*\d) or newer", text)) == {python}, path
