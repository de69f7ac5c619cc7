//! Bringing Python up and ending with it. Each case needs a process of its own: this test program
//! runs itself again with one of the functions of `child.rs`.
#![allow(clippy::unwrap_used, missing_docs)]

mod child;
#[path = "../common/mod.rs"]
mod common;

use std::{
    env, fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

fn rerun(name: &str, virtual_env: Option<&Path>) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "--exact",
        &format!("child::{name}"),
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env_remove("VIRTUAL_ENV").stdin(Stdio::null());
    if let Some(folder) = virtual_env {
        command.env("VIRTUAL_ENV", folder);
    }
    command
}

fn run(name: &str, virtual_env: Option<&Path>) -> String {
    succeeded(&rerun(name, virtual_env).output().unwrap())
}

fn succeeded(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// The value in a line `name=value` that a child printed.
fn value<'a>(output: &'a str, name: &str) -> &'a str {
    let lines = output
        .lines()
        .filter_map(|line| line.split_once(&format!("{name}=")));
    lines
        .map(|(_, value)| value)
        .next()
        .unwrap_or_else(|| unreachable!("no {name} in {output}"))
}

/// A virtual environment with no packages, made of links.
fn bare_venv(version: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let built_against = Path::new(env!("PYTHON_SHIM_PYTHON"));
    let real = built_against.canonicalize().unwrap();
    fs::create_dir_all(folder.path().join("bin")).unwrap();
    symlink(&real, folder.path().join("bin/python")).unwrap();
    let config = format!(
        "home = {}\nversion = {version}\n",
        real.parent().unwrap().display()
    );
    fs::write(folder.path().join("pyvenv.cfg"), config).unwrap();
    folder
}

#[test]
fn python_is_the_one_that_the_program_was_built_against() {
    let output = run("facts", None);
    let venv = Path::new(env!("PYTHON_SHIM_PYTHON"))
        .parent()
        .unwrap()
        .parent()
        .unwrap();
    assert_eq!(value(&output, "executable"), env!("PYTHON_SHIM_PYTHON"));
    assert_eq!(Path::new(value(&output, "prefix")), venv);
    assert!(
        value(&output, "numpy").starts_with(venv.to_str().unwrap()),
        "{output}"
    );
}

#[test]
fn an_active_virtual_env_is_preferred() {
    let venv = bare_venv("3.11.0");
    let output = run("start_only", Some(venv.path()));
    assert_eq!(
        Path::new(value(&output, "executable")),
        venv.path().join("bin/python")
    );
    assert_eq!(Path::new(value(&output, "prefix")), venv.path());
    let output = run("start_only", Some(Path::new("/nonexistent")));
    assert_eq!(value(&output, "executable"), env!("PYTHON_SHIM_PYTHON"));
}

#[test]
fn a_virtual_env_without_the_package_is_explained() {
    let venv = bare_venv("3.11.0");
    let error = run("make_fails", Some(venv.path()));
    let error = value(&error, "error");
    assert!(
        error.contains("`atari_wrappers` is not installed"),
        "{error}"
    );
    assert!(
        error.contains(venv.path().to_str().unwrap()) && error.contains("./scripts/setup"),
        "{error}"
    );
}

#[test]
fn a_virtual_env_of_another_version_is_explained() {
    let venv = bare_venv("3.10.2");
    for child in ["make_fails", "new_fails"] {
        let error = run(child, Some(venv.path()));
        let error = value(&error, "error");
        assert!(
            error.contains("is Python 3.10.2, but this program was built against Python 3."),
            "{error}"
        );
        assert!(
            error.contains(venv.path().to_str().unwrap()) && error.contains("./scripts/setup"),
            "{error}"
        );
    }
}

/// Packages of another Python crash this one, and its worker processes (numpy's C parts above all).
#[test]
fn pythonhome_and_pythonpath_are_ignored_and_told() {
    let other = tempfile::tempdir().unwrap();
    fs::write(
        other.path().join("numpy.py"),
        "raise ImportError('of another')",
    )
    .unwrap();
    let output = rerun("ignored_variables", None)
        .env("PYTHONHOME", "/nonexistent")
        .env("PYTHONPATH", other.path())
        .output()
        .unwrap();
    let output = succeeded(&output);
    assert_eq!(value(&output, "executable"), env!("PYTHON_SHIM_PYTHON"));
    assert_eq!(value(&output, "ignored"), "PYTHONHOME, PYTHONPATH");
    assert_eq!(value(&output, "problems"), "0", "{output}");
}

#[test]
fn sigint_stays_with_whoever_handled_it() {
    run("sigint_default_is_kept", None);
    run("sigint_handler_is_kept", None);
}

/// Python imports for a second; a training that was stopped meanwhile gives SIGINT back.
#[test]
fn who_handles_sigint_may_change_while_packages_are_imported() {
    run("sigint_changes_during_an_import", None);
}

#[test]
fn whatever_is_called_first_starts_python_and_keeps_sigint() {
    for child in [
        "parallel_env_is_first",
        "tracker_check_is_first",
        "tracker_start_is_first",
    ] {
        run(child, None);
    }
}

#[test]
fn workers_are_python_and_end_with_the_env() {
    run("workers_end_with_drop", None);
}

#[test]
fn ctrl_c_leaves_workers_to_the_program() {
    // A terminal sends Ctrl-C to the whole process group, workers included.
    succeeded(
        &rerun("ctrl_c_while_workers_run", None)
            .process_group(0)
            .output()
            .unwrap(),
    );
}

#[test]
fn shutdown_ends_workers_and_writes_output() {
    let output = run("shutdown_runs_exit_functions", None);
    assert!(output.contains("written by Python"), "{output}");
}

/// Whether a process still runs; one that ended and waits to be reaped does not.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

fn assert_workers_end(output: &str) {
    let workers: Vec<&str> = value(output, "workers").split(',').collect();
    assert_eq!(workers.len(), 2);
    let deadline = Instant::now() + Duration::from_secs(30);
    while workers.iter().any(|pid| is_running(pid)) {
        assert!(Instant::now() < deadline, "orphaned workers: {output}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_program_that_exits_without_closing_leaves_no_workers() {
    let output = run("exit_without_drop", None);
    assert_workers_end(&output);
}

#[test]
fn a_program_that_is_killed_leaves_no_workers() {
    let mut child = rerun("wait_to_be_killed", None)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let output = lines
        .find_map(|line| line.ok().filter(|line| line.contains("workers=")))
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_workers_end(&output);
}
