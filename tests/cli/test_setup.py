"""`scripts/setup`, in a copy of the project with fake tools."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
from pathlib import Path

from program import ROOT
from project import PYTHON, Project, change, write_program


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
    server = "sleep 600 >/dev/null 2>&1 &\necho $! >>server"
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
    # Ctrl-C while it was made.
    (built.root / ".venv/bin/no-pip").touch()
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
    called = project.called()
    assert "--editable" in called
    assert "-m venv" in called, "torch of the other index would stay"


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


def test_the_trainers_module_is_that_of_the_last_build(built: Project) -> None:
    placed = built.root / "rust_trainer/python/rust_trainer/_rust_trainer.so"
    assert placed.read_text() == "module\n"
    built.run(BUILT="another")
    assert placed.read_text() == "another\n"
    assert (
        "--moduel is none of"
        in built.run("--moduel", script=built.root / "scripts/setup", status=1).stderr
    )


def test_an_old_rust_is_named(project: Project) -> None:
    ended = project.run(RUST="75", status=1)
    assert ended.stderr.startswith("setup: cargo is 1.75, 1.89 or newer is needed: rustup update")


def test_conda_does_not_reach_the_build(project: Project) -> None:
    """As maturin refuses it beside `.venv`."""
    project.run("doctor", CONDA_PREFIX="/opt/conda")
    called = project.called()
    assert "conda=unset" in called
    assert "conda=/opt" not in called


def test_help_says_what_may_be_asked_for(project: Project) -> None:
    out = project.run("--help", script=project.root / "scripts/setup").stdout
    assert out.startswith("Makes everything that training needs")
    assert "TORCH_INDEX_URL=" in out
    assert out.splitlines()[-1].endswith("it is kept")


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
