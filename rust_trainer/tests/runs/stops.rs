//! A stop breaks off an update's gradient steps where waiting for them takes too long, and nothing that was
//! learned is lost by it.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    resume::{AFTER_UPDATES, VARIANTS, difference, run_of, task, train_with_stops},
    *,
};

/// In the midst of learning: in the second update, the first of its process, and in those of DQN a
/// gradient step before the last of an agent step.
#[test]
fn an_update_that_is_broken_off_is_learned_from_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    for (name, changes) in [
        ("ppo-lstm", ""),
        ("a2c-normalized", ""),
        ("pqn", ""),
        ("dqn", "train_frequency = 2"),
        ("rainbow-bytes", "train_frequency = 2\nprecision = 'fp32'"),
    ] {
        let variant = VARIANTS.iter().find(|(of, ..)| *of == name).unwrap();
        let (_, algorithm, of, _) = *variant;
        let run = |name| with(&run_of(variant, folder.path(), name), changes);
        let (whole, broken) = (run("whole"), run("broken"));
        train_with_stops(&whole, of, &[]);

        let (env, stop) = task(of, 1, AFTER_UPDATES);
        let first = Run::create(broken.clone(), env, &stop).unwrap();
        let first = first.train(&stop).unwrap().counters;
        let steps = match algorithm {
            Algorithm::Dqn => 8,
            _ => first.step as u32 / NUM_ENVS as u32,
        };
        // The first question begins the wait: A2C asks only one, and the others take a step before the next.
        let patience = Duration::from_nanos(u64::from(algorithm != Algorithm::A2c));
        let (env, stop) = task(of, steps, patience);
        let again = Resume::open(&folder_of(&broken), &toml::Table::new()).unwrap();
        let again = Run::resume(again, env, &stop).unwrap();
        let again = again.train(&stop).unwrap();
        assert_eq!(again.outcome, Outcome::Stopped);
        assert_eq!(again.counters.update, first.update, "{name}");
        if algorithm == Algorithm::Dqn {
            let progress = &newest(&broken).state.values["progress"];
            assert_eq!(progress["steps_to_learn"], 2, "{progress}");
        }
        let (env, stop) = task(of, u32::MAX, AFTER_UPDATES);
        let last = Resume::open(&folder_of(&broken), &toml::Table::new()).unwrap();
        let last = Run::resume(last, env, &stop).unwrap();
        assert_eq!(last.notices(), [""; 0], "{name}");
        last.train(&stop).unwrap();
        assert_eq!(difference(&whole, &broken), None, "{name}");
    }
}

/// Of the first update nothing is kept: the run begins again.
#[test]
fn a_stop_does_not_wait_for_a_million_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(Algorithm::Ppo, folder.path(), "slow");
    let run = create(&with(&settings, "update_epochs = 1_000_000"), one_step()).unwrap();
    let stop = StopRequest::never().with_patience(Duration::from_millis(100));
    let took = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stop.ask();
            Instant::now()
        });
        let summary = run.train(&stop).unwrap();
        assert_eq!(
            (summary.outcome, summary.counters.step),
            (Outcome::Stopped, 0)
        );
        asking.join().unwrap().elapsed()
    });
    assert!(took < Duration::from_secs(20), "{took:?}");
}
