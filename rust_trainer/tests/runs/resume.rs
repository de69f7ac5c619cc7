//! The same seed gives the same run, and a run that was stopped and resumed is the one that never was:
//! bit for bit, for every algorithm. And what a resumed run says that is not.

use super::{
    variants::{AFTER_UPDATES, STEPS, Task, VARIANTS, difference, run_of, task, train_with_stops},
    *,
};

#[test]
fn the_same_seed_gives_the_same_run_and_stops_change_nothing() {
    for algorithm in Algorithm::ALL {
        let mut variants = VARIANTS.iter();
        assert!(
            variants.any(|(_, of, ..)| of == algorithm),
            "{algorithm} is not among VARIANTS"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for variant in VARIANTS {
        let (name, algorithm, of, _) = *variant;
        let run = |name| run_of(variant, folder.path(), name);
        let whole = run("whole");
        train_with_stops(&whole, of, &[]);
        if !seen.contains(&algorithm) {
            seen.push(algorithm);
            let other = with(&run("other"), "seed = 2");
            train_with_stops(&other, of, &[]);
            assert!(difference(&whole, &other).is_some(), "{name}: another seed");
        }

        // In the midst of updates and at their ends.
        let broken = run("broken");
        let notices = train_with_stops(&broken, of, &[1, 19, 16]);
        assert_eq!(notices, [""; 0], "{name}");
        assert_eq!(difference(&whole, &broken), None, "{name}");
    }
}

#[test]
fn a_change_of_what_rounds_numbers_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_of(&VARIANTS[0], folder.path(), "run");
    let (env, stop) = task(Task::CartPole, 1, AFTER_UPDATES);
    Run::create(settings.clone(), env, &stop)
        .unwrap()
        .train(&stop)
        .unwrap();
    let notices = |changes: &str| {
        let changes = toml::from_str(changes).unwrap();
        RunStart::open(&folder_of(&settings), &changes)
            .unwrap()
            .notices()
    };
    assert_eq!(notices("torch_threads = 1"), [""; 0]);
    let [notice] = &notices("torch_threads = 1\ntotal_steps = 2048")[..] else {
        unreachable!("one change")
    };
    let words = format!("total_steps was {STEPS} and is 2048 now: the learning rate jumps");
    assert!(notice.contains(&words), "{notice}");
    let [notice] = &notices("torch_threads = 2")[..] else {
        unreachable!("one change")
    };
    assert!(
        notice.contains("torch_threads was 1 and is 2 now"),
        "{notice}"
    );

    // Another machine: the settings are the same, but not what they come to.
    let mut elsewhere = newest(&settings);
    for (name, value) in [
        ("torch_threads", "999"),
        ("processor", "an abacus"),
        ("instructions", "beads"),
        ("torch", "1.0"),
        ("ale-py", "0.1"),
        ("opencv-python-headless", "2.4"),
        ("ATEN_CPU_CAPABILITY", "sse2"),
        ("rust_trainer", "0.0.9"),
    ] {
        assert!(elsewhere.arithmetic.contains_key(name), "{name}");
        elsewhere
            .arithmetic
            .insert(name.to_owned(), value.to_owned());
    }
    let inside = folder_of(&settings).join("checkpoints");
    elsewhere.save(&inside).unwrap();
    let found = notices("").join("\n");
    for words in [
        "torch_threads was 999 and is 1",
        "processor was an abacus",
        "instructions was beads",
        "torch was 1.0",
        "ale-py was 0.1",
        "opencv-python-headless was 2.4",
        "ATEN_CPU_CAPABILITY was sse2",
        "rust_trainer was 0.0.9",
    ] {
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn an_epsilon_that_goes_back_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::defaults(Algorithm::Pqn);
    folder.path().clone_into(&mut settings.run.runs_dir);
    let changes =
        format!("run_name = 'run'\nnum_envs = {NUM_ENVS}\ntotal_steps = {STEPS}\nnum_steps = 8");
    let settings = with(&settings, &changes);
    let (env, stop) = task(Task::CartPole, 1, AFTER_UPDATES);
    let run = Run::create(settings.clone(), env, &stop).unwrap();
    run.train(&stop).unwrap();
    let notices = |changes: &str| {
        let changes = toml::from_str(changes).unwrap();
        let resume = RunStart::open(&folder_of(&settings), &changes);
        resume.unwrap().notices()
    };
    assert_eq!(notices(&format!("total_steps = {STEPS}")), [""; 0]);
    let [notice] = &notices("total_steps = 20480")[..] else {
        unreachable!("one change")
    };
    let words = format!("total_steps was {STEPS} and is 20480 now: epsilon");
    assert!(notice.contains(&words), "{notice}");
}
