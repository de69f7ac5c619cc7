//! The replay memory beside a checkpoint: what is left where one of the two is damaged, or cannot be written.

use std::fs;

use super::*;

/// DQN with a checkpoint after each update of 64 agent steps, three in all.
fn dqn(folder: &Path, name: &str) -> Settings {
    let mut settings = Settings::defaults(Algorithm::Dqn);
    folder.clone_into(&mut settings.run.runs_dir);
    name.clone_into(&mut settings.run.run_name);
    let changes = "total_steps = 192\ncheckpoint_every = 64\nsteps_per_update = 64\n\
                   learning_starts = 32\nreplay_capacity = 400";
    with(&settings, &format!("num_envs = {NUM_ENVS}\n{changes}"))
}

fn checkpoints_of(settings: &Settings) -> PathBuf {
    folder_of(settings).join("checkpoints")
}

/// The names of the files, but for their `step-000000000`.
fn names(settings: &Settings) -> Vec<String> {
    let entries = fs::read_dir(checkpoints_of(settings)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .map(|name| name.trim_start_matches("step-000000000").to_owned())
        .collect();
    names.sort();
    names
}

fn notices(settings: &Settings) -> Vec<String> {
    let resume = RunStart::open(&folder_of(settings), &toml::Table::new()).unwrap();
    resume.notices()
}

/// A folder in its place keeps the file from being written, as a full disk does.
fn spoil_the_place_of_a_replay(settings: &Settings, of_step: u64) {
    let place = format!("step-{of_step:012}.replay.safetensors");
    fs::create_dir_all(checkpoints_of(settings).join(place)).unwrap();
}

#[test]
fn a_replay_memory_that_cannot_be_written_does_not_take_the_place_of_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let settings = dqn(folder.path(), "run");
    train(&with(&settings, "total_steps = 64"), one_step()).unwrap();
    spoil_the_place_of_a_replay(&settings, 128);
    let changes = toml::from_str("total_steps = 192").unwrap();
    let longer = RunStart::open(&folder_of(&settings), &changes).unwrap();
    let stop = StopRequest::never();
    let run = Run::start(longer, Box::new(one_step()), &stop).unwrap();
    let message = run.train(&stop).err().unwrap().to_string();
    assert!(
        message.contains("128.replay") && message.contains("checkpoint is of agent step 64"),
        "{message}"
    );
    let left = ["064.replay.safetensors", "064.safetensors"];
    assert_eq!(names(&settings)[..2], left);
    assert_eq!(newest(&settings).counters.step, 64);
    let found = notices(&settings);
    assert!(
        !found.iter().any(|notice| notice.contains("starts empty")),
        "{found:?}"
    );
}

#[test]
fn without_an_older_one_the_checkpoint_is_written_nevertheless() {
    let folder = tempfile::tempdir().unwrap();
    let settings = dqn(folder.path(), "run");
    let run = create(&settings, one_step()).unwrap();
    spoil_the_place_of_a_replay(&settings, 64);
    let error = run.train(&StopRequest::never()).err().unwrap();
    let message = error.to_string();
    assert!(
        message.contains("064.replay") && message.contains("checkpoint is of agent step 64"),
        "{message}"
    );
    assert_eq!(newest(&settings).counters.step, 64);
    let [notice] = &notices(&settings)[..] else {
        unreachable!("one notice: {:?}", notices(&settings))
    };
    assert!(notice.contains("starts empty"), "{notice}");
    let summary = resume(&folder_of(&settings), one_step()).unwrap();
    assert_eq!(summary.counters.step, 192);
}

#[test]
fn what_is_damaged_is_set_apart_and_what_is_unfinished_goes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = dqn(folder.path(), "run");
    train(&settings, one_step()).unwrap();
    let inside = checkpoints_of(&settings);
    fs::write(inside.join("step-000000000192.safetensors"), "").unwrap();
    let unfinished = ".step-000000000256.replay.safetensors.unfinished";
    fs::write(inside.join(unfinished), "gigabytes").unwrap();
    resume(&folder_of(&settings), one_step()).unwrap();
    let found = names(&settings);
    for name in [
        "192.damaged",
        "192.replay.damaged",
        "192.replay.safetensors",
    ] {
        assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
    }
    assert!(!found.iter().any(|found| found == unfinished), "{found:?}");
}

#[test]
fn a_network_whose_outputs_mean_other_returns_begins_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let c51 = |name, more: &str| {
        let settings = with(
            &dqn(folder.path(), name),
            "distributional = 'c51'\ntotal_steps = 64",
        );
        with(&settings, more)
    };
    let first = c51("first", "");
    train(&first, one_step()).unwrap();
    let from = format!("start_from = '{}'", folder_of(&first).display());
    for (name, other) in [
        ("wider", "v_max = 20.0"),
        (
            "quantiles",
            "distributional = 'quantile'\nnum_quantiles = 51",
        ),
    ] {
        let other = c51(name, &format!("{from}\n{other}"));
        let message = create(&other, one_step()).err().unwrap().to_string();
        assert!(message.contains("outputs mean other returns"), "{message}");
    }
    train(&c51("second", &from), one_step()).unwrap();
}

#[test]
fn a_run_that_ends_before_its_first_gradient_step_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (n_step, frequency) in [(1, 4), (1, 10), (3, 4)] {
        let mut said = Vec::new();
        for total_steps in (28..=48).step_by(NUM_ENVS) {
            let name = format!("{n_step}-{frequency}-{total_steps}");
            let changes = format!(
                "total_steps = {total_steps}\nsteps_per_update = {total_steps}\nn_step = {n_step}\n\
                 train_frequency = {frequency}"
            );
            let settings = with(&dqn(folder.path(), &name), &changes);
            let run = create(&settings, one_step()).unwrap();
            let is_said = |notice: &String| notice.starts_with("nothing will be learned: ");
            said.push(run.notices.iter().any(is_said));
            run.train(&StopRequest::never()).unwrap();
            let table = fs::read_to_string(folder_of(&settings).join("updates.csv")).unwrap();
            let mut lines = table.lines().map(|line| line.split(','));
            let place = lines
                .next()
                .unwrap()
                .position(|name| name == "gradient_steps");
            let steps = lines.next_back().unwrap().nth(place.unwrap()).unwrap();
            assert_eq!(said.last(), Some(&(steps == "0")), "{name}");
        }
        assert!(said[0] && !said[said.len() - 1], "{said:?}");
    }
}
