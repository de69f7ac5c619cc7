//! Who may work in a run's folder, and what is left of one in which nothing ran.

use std::{fs, path::Path, thread};

use rust_trainer::{
    error::TrainerError,
    run::RunFolder,
    settings::{Algorithm, Settings},
};

fn settings(runs: &Path, name: &str) -> Settings {
    let mut settings = Settings::defaults(Algorithm::Ppo);
    runs.clone_into(&mut settings.run.runs_dir);
    name.clone_into(&mut settings.run.run_name);
    settings
}

/// The folder of a run that has begun.
fn create(settings: &Settings) -> Result<RunFolder, TrainerError> {
    let folder = RunFolder::reserve(settings)?;
    folder.write_settings(settings)?;
    Ok(folder)
}

#[test]
fn names_that_leave_the_folder_of_runs_are_refused() {
    let above = tempfile::tempdir().unwrap();
    let runs = above.path().join("runs");
    let long = "a".repeat(5000);
    for name in [
        "../escape",
        "a/b",
        "/tmp/x",
        "..",
        ".",
        "",
        "a/",
        "a\nb",
        &long,
    ] {
        let error = create(&settings(&runs, name)).unwrap_err();
        let message = error.to_string();
        let is_line = !message.contains('\n') && message.len() < 300;
        assert!(message.contains("run_name") && is_line, "{name}: {error}");
    }
    assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
    create(&settings(&runs, "..a")).unwrap();
}

#[test]
fn a_run_is_worked_on_by_one_process_at_a_time() {
    let runs = tempfile::tempdir().unwrap();
    let settings = settings(runs.path(), "run");
    let first = create(&settings).unwrap();
    let path = first.path().to_owned();
    let message = RunFolder::open(&path).unwrap_err().to_string();
    assert!(message.contains("another process"), "{message}");
    drop(first);
    RunFolder::open(&path).unwrap();
    assert_eq!(Settings::in_folder(&path).unwrap(), Some(settings));
}

#[test]
fn each_of_those_that_ask_for_a_free_name_at_once_has_a_folder() {
    let above = tempfile::tempdir().unwrap();
    let settings = settings(&above.path().join("runs"), "run");
    let reserve = || {
        let mut own = settings.clone();
        let folder = RunFolder::reserve_free(&mut own).unwrap();
        assert!(folder.path().ends_with(&own.run.run_name));
        folder
    };
    let folders: Vec<RunFolder> = thread::scope(|scope| {
        let started: Vec<_> = (0..8).map(|_| scope.spawn(reserve)).collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut paths: Vec<_> = folders.iter().map(RunFolder::path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 8);
    drop(folders);
    // The folder above may stay: it was not empty when the one who made it went.
    let left = fs::read_dir(above.path().join("runs"));
    assert!(left.is_err() || left.is_ok_and(|mut left| left.next().is_none()));
}

#[test]
fn a_folder_that_was_left_before_its_settings_is_free() {
    let runs = tempfile::tempdir().unwrap();
    let settings = settings(runs.path(), "run");
    let path = runs.path().join("run");
    fs::create_dir(&path).unwrap();
    fs::write(path.join(".settings.toml.unfinished"), "").unwrap();
    drop(create(&settings).unwrap());
    create(&settings).unwrap_err();
    RunFolder::open(&path).unwrap();
    assert_eq!(Settings::in_folder(&path).unwrap(), Some(settings));
}

#[test]
fn a_folder_in_which_nothing_ran_goes_with_all_that_was_made_for_it() {
    let above = tempfile::tempdir().unwrap();
    let runs = above.path().join("deep/runs");
    let kept = create(&settings(&runs, "kept")).unwrap();
    create(&settings(&runs, "gone")).unwrap().remove();
    assert!(kept.path().exists() && !runs.join("gone").exists());
    kept.remove();
    assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
    assert!(RunFolder::open(&runs).is_err());
}
