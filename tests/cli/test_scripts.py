"""`scripts/setup`, `scripts/train`, `scripts/wheels`, in a copy of the project with fake tools."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import stat
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from program import ROOT

# What the scripts may call beside python, cargo and c++.
TOOLS = {
    *("awk", "bash", "cat", "chmod", "cp", "cut", "dirname", "du", "env", "find", "flock", "grep"),
    *("kill", "mkdir", "mv", "printf", "readlink", "rm", "sed", "sh", "sleep", "touch"),
}

PYTHON = """#!/usr/bin/env bash
# What is only asked is not told.
[[ $1 == -c ]] ||
    printf '%s\\n' "python $* home=${PYTHONHOME-unset} path=${PYTHONPATH-unset}" >>"$LOG"
case "$1 $2" in
    "-c import sys, sysconfig"*) echo "1 1 3.11.0" ;;
    *get_config_var*) echo .so ;;
    *"print(sys.version_info[:2])") echo 3.11 ;;
    "-c import sys; "*) cd "$(dirname "$0")/.." && pwd ;;
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip")
        if [[ $3 == config ]]; then echo "$PIP_CONFIG"; exit; fi
        sleep "${PIP_SECONDS:-0}"
        if [[ $* == *" uv" ]]; then cp "$UV" "$(dirname "$0")"; fi ;;
esac
"""
UV = '#!/bin/sh\necho "uv $*" >>"$LOG"\n'
MATURIN = '#!/bin/sh\necho "maturin $*" >>"$LOG"\ntouch dist/atari_core-1-linux.whl\n'
CARGO = """#!/usr/bin/env bash
printf '%s\\n' "cargo $* home=${PYTHONHOME-unset} path=${PYTHONPATH-unset}" >>"$LOG"
sleep "${CARGO_SECONDS:-0}"
mkdir -p target/release
echo "${BUILT:-module}" >target/release/lib_rust_trainer.so
printf '#!/bin/sh\\necho "ran $*"\\n' >target/release/rust_trainer
chmod +x target/release/rust_trainer
echo "   Compiling rust_trainer" >&2
echo "    Finished release" >&2
"""


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def change(path: Path) -> None:
    """Have a file or folder changed after all others, however coarse the clock of files is."""
    later = time.time() + 10
    os.utime(path, (later, later))


class Project:
    """A copy of what the scripts read, and a PATH that holds nothing else."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin, self.log = folder / "project", folder / "bin", folder / "log"
        self.uv = folder / "index/uv"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for name in ("constraints.txt", "pyproject.toml", "Cargo.toml", "Cargo.lock"):
            shutil.copy(ROOT / name, self.root)
        self.source = self.root / "rust_trainer/src/main.rs"
        self.source.parent.mkdir(parents=True)
        self.source.touch()
        for folder in ("csrc", "kernels"):
            (self.root / "rust_trainer" / folder).mkdir()
        (self.root / "rust_trainer/build.rs").touch()
        (self.root / "rust_trainer/Cargo.toml").touch()
        for crate in ("vec_env", "vec_env/python", "atari_core", "atari_core/python"):
            (self.root / crate / "src").mkdir(parents=True)
            (self.root / crate / "Cargo.toml").touch()
        (self.root / "rust_trainer/python/rust_trainer").mkdir(parents=True)
        (self.root / ".cargo").mkdir()
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.bin / "c++").symlink_to(shutil.which("true"))
        write_program(self.bin / "python3", PYTHON)
        write_program(self.bin / "cargo", CARGO)
        self.uv.parent.mkdir()
        write_program(self.uv, UV)
        write_program(self.bin / "df", "#!/bin/sh\nprintf 'free\\n. . . 99999999 .\\n'\n")

    def run(
        self, *arguments: object, status: int = 0, script: Path | None = None, **variables: object
    ) -> subprocess.CompletedProcess[str]:
        """Run `scripts/train`, or another script, with nothing but these variables set."""
        process = self.start(*arguments, script=script, **variables)
        out, err = process.communicate(timeout=60)
        assert process.returncode == status, out + err
        return subprocess.CompletedProcess(process.args, status, out, err)

    def start(
        self,
        *arguments: object,
        script: Path | None = None,
        stderr: int = subprocess.PIPE,
        **variables: object,
    ) -> subprocess.Popen[str]:
        """Start what `run` runs."""
        env = {
            "PATH": self.bin,
            "HOME": self.root.parent,
            "LOG": self.log,
            "UV": self.uv,
            **variables,
        }
        return subprocess.Popen(
            [script or self.root / "scripts/train", *map(str, arguments)],
            env={name: str(value) for name, value in env.items()},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def called(self) -> str:
        """Return what was run of python and cargo since the last time, a line each."""
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def built(project: Project) -> Project:
    """The project with all set up."""
    project.run()
    project.called()
    return project


def test_all_is_made_once(project: Project) -> None:
    ended = project.run("--seed", 1)
    assert ended.stdout == "ran train --seed 1\n"
    assert "Compiling rust_trainer" in ended.stderr
    called = project.called()
    for call in ("-m venv", "--editable", "cargo build", "-m maturin"):
        assert called.count(call) == 1, call
    # The package needs the module, which no index has.
    assert called.index("-m maturin") < called.index("--editable")
    ended = project.run("eval", "runs/a")
    assert ended.stdout == "ran eval runs/a\n"
    # The program suggests `eval`; behind `train` this would be a preset and a word too many.
    assert project.run("evl", "runs/a").stdout == "ran evl runs/a\n"
    assert project.called().startswith("cargo build")
    change(project.root / "atari_core/src")
    project.run("eval", "runs/a")
    assert "-m maturin" in project.called()


def test_starts_at_once_set_up_one_after_the_other(project: Project) -> None:
    started = [project.start("--seed", seed, CARGO_SECONDS=0.3) for seed in range(3)]
    for seed, process in enumerate(started):
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, f"ran train --seed {seed}\n"), err
        assert err.count("waiting for another set-up") <= 1
    called = project.called()
    for call in ("-m venv", "--editable", "-m maturin"):
        assert called.count(call) == 1, call


def test_the_lock_is_not_kept_by_what_outlives_the_set_up(built: Project) -> None:
    """As a server that a compiler starts."""
    server = "sleep 60 >/dev/null 2>&1 &\necho $! >>server"
    write_program(built.bin / "cargo", f"#!/bin/sh\n{server}\n")
    built.run("doctor")
    try:
        assert "waiting" not in built.run("doctor").stderr
    finally:
        subprocess.run(["kill", *(built.root / "server").read_text().split()], check=True)


def test_what_is_asked_for_is_added_and_kept(built: Project) -> None:
    setup = built.root / "scripts/setup"
    for asked, extras in [("--ray", "train,ray"), ("--dev", "train,test")]:
        for _ in range(2):
            built.run(asked, script=setup)
        assert built.called().count("--editable") == 1
        built.run("doctor")
        built.run("--ray", script=setup)
        assert "--editable" not in built.called()
        assert (built.root / ".venv/.setup").read_text().splitlines()[1] == extras


def test_another_interpreter_or_a_broken_one_makes_another_environment(built: Project) -> None:
    write_program(built.bin / "python3.13", PYTHON.replace("3.11", "3.13"))
    of_the_old = built.root / "target/release/.fingerprint/pyo3-ffi-1"
    of_the_old.mkdir(parents=True)
    for _ in range(2):
        built.run("doctor", PYTHON="python3.13")
    assert built.called().count("-m venv") == 1
    assert not of_the_old.exists()
    built.run("doctor")
    assert "-m venv" not in built.called()
    write_program(built.root / ".venv/bin/python", "#!/bin/sh\nexit 1\n")
    for _ in range(2):
        built.run("doctor")
    assert built.called().count("-m venv") == 1


def test_a_project_that_was_moved_makes_another_environment(built: Project) -> None:
    """Whose programs would name the folder where they were."""
    before = built.root
    built.root = before.with_name("moved here")
    before.rename(built.root)
    for _ in range(2):
        built.run("doctor")
    assert built.called().count("-m venv") == 1


def test_the_index_of_torch_is_kept(project: Project) -> None:
    index = "https://packages.example/cpu"
    project.run("doctor", TORCH_INDEX_URL=index)
    assert f"--index-url {index} torch" in project.called()
    project.run("doctor")
    assert "--editable" not in project.called()
    project.run("doctor", TORCH_INDEX_URL="")
    assert "--editable" in project.called()


def test_a_new_version_of_the_module_is_built_before_the_package_asks_for_it(
    built: Project,
) -> None:
    for name in ("pyproject.toml", "Cargo.toml"):
        path = built.root / name
        path.write_text(path.read_text() + "# 0.2.0\n")
    change(built.root / "Cargo.toml")
    built.run("doctor")
    called = built.called()
    assert called.index("-m maturin") < called.index("--editable")


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


def test_the_trainers_module_is_that_of_the_last_build(built: Project) -> None:
    placed = built.root / "rust_trainer/python/rust_trainer/_rust_trainer.so"
    assert placed.read_text() == "module\n"
    built.run(BUILT="another")
    assert placed.read_text() == "another\n"
    assert (
        "--moduel is none of"
        in built.run("--moduel", script=built.root / "scripts/setup", status=1).stderr
    )


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


def test_without_cargo_a_program_that_is_current_runs(built: Project) -> None:
    (built.bin / "cargo").unlink()
    assert built.run("doctor").stdout == "ran doctor\n"
    change(built.source)
    ended = built.run("doctor", status=1)
    assert ended.stdout == ""
    assert ended.stderr.startswith("setup: cargo is missing: install Rust from https://rustup.rs")


def test_a_build_that_fails_leaves_nothing_that_counts_as_built(built: Project) -> None:
    change(built.source)
    write_program(built.bin / "cargo", "#!/bin/sh\necho 'error: a typing mistake' >&2\nexit 101\n")
    assert "a typing mistake" in built.run(status=101).stderr
    (built.bin / "cargo").unlink()
    assert "cargo is missing" in built.run(status=1).stderr


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


def test_on_a_terminal_one_line_says_how_far_it_is(project: Project) -> None:
    index = "https://user:secret@packages.example/simple"
    # Ten times as fast: a tick after 0.1 s.
    (project.bin / "sleep").unlink()
    write_program(project.bin / "sleep", f"#!/bin/sh\nexec {shutil.which('sleep')} 0.$1\n")
    ours, terminal = pty.openpty()
    process = project.start(PIP_SECONDS=8, TORCH_INDEX_URL=index, stderr=terminal)
    os.close(terminal)
    shown = ""
    with contextlib.suppress(OSError):  # how the end of a terminal shows
        while part := os.read(ours, 4096):
            shown += part.decode()
    os.close(ours)
    process.communicate(timeout=60)
    assert process.returncode == 0, shown
    ticks = [line for line in shown.splitlines() if "MB are in .venv after" in line]
    assert max(line.count("\rsetup: ") for line in shown.split("\n")) >= 2, (
        "one line, over and over"
    )
    assert ticks
    assert "secret" not in shown
    assert "packages.example" not in shown
    assert not (project.root / ".venv/tmp").exists()


def test_in_a_file_no_line_is_written_over_and_over(project: Project) -> None:
    assert "MB are in .venv" not in project.run(PIP_SECONDS=0.3).stderr


def test_uv_installs_and_pip_brings_it_where_it_is_not_there(project: Project) -> None:
    installed = f"uv pip install --compile-bytecode --python {project.root}/.venv/bin/python"
    project.run()
    called = project.called()
    assert called.count("-m pip --disable-pip-version-check install") == 1
    assert called.count(installed) == 2
    shutil.rmtree(project.root / ".venv")
    shutil.copy(project.uv, project.bin)
    project.run()
    called = project.called()
    assert "-m pip" not in called
    assert called.count(installed) == 2


def test_pip_installs_where_its_settings_name_an_index(project: Project) -> None:
    project.run(PIP_CONFIG="global.index-url='https://packages.example/simple'")
    called = project.called()
    assert "uv pip" not in called
    assert called.count("-m pip --disable-pip-version-check install") == 2


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


def test_a_set_up_to_train_builds_the_parts_of_one_to_test(sources: Path) -> None:
    """With other features of a library all that stands on it would be compiled once more."""
    train = ["--package", "rust_trainer", "--package", "rust_trainer_python"]
    assert " ".join(train) in (ROOT / "scripts/setup").read_text()
    form = ["--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p}: {f}"]
    parts = []
    for packages in (train, ["--workspace"]):
        command = ["cargo", "tree", "--offline", "--locked", *packages, *form]
        shown = subprocess.check_output(command, cwd=sources, text=True)
        parts.append({line.replace(" (*)", "") for line in shown.splitlines()})
    assert len(parts[0]) > 100
    assert not parts[0] - parts[1]
