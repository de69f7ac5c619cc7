//! Runs that end in the middle of an update: nothing that was learned before is lost.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rust_trainer::run::EnvStates;

use super::{
    variants::{
        AFTER_UPDATES, Stopping, Task, Then, VARIANTS, cart_poles, difference, run_of, task,
        train_with_stops,
    },
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
        let grace_period = Duration::from_nanos(u64::from(algorithm != Algorithm::A2c));
        let (env, stop) = task(of, steps, grace_period);
        let again = RunStart::open(&folder_of(&broken), &toml::Table::new()).unwrap();
        let again = Run::start(again, env, &stop).unwrap();
        let again = again.train(&stop).unwrap();
        assert_eq!(again.outcome, Outcome::Stopped);
        assert_eq!(again.counters.update, first.update, "{name}");
        if algorithm == Algorithm::Dqn {
            let progress = &newest(&broken).state.values["progress"];
            assert_eq!(progress["steps_to_learn"], 2, "{progress}");
        }
        let (env, stop) = task(of, u32::MAX, AFTER_UPDATES);
        let last = RunStart::open(&folder_of(&broken), &toml::Table::new()).unwrap();
        let last = Run::start(last, env, &stop).unwrap();
        assert_eq!(last.notices, [""; 0], "{name}");
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
    let stop = StopRequest::never().with_grace_period(Duration::from_millis(100));
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

/// A stop does not wait for an update that takes longer than the grace period, nor can one be saved whose loss is
/// no number: what is kept is the one before, with its games.
#[test]
fn an_update_that_comes_to_nothing_costs_no_more_than_itself() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name| VARIANTS.iter().find(|(of, ..)| *of == name).unwrap();
    // Updates have 16 and 10 steps; one is broken off in the midst. What DQN did up to there is kept.
    for (variant, then, step) in [
        ("ppo", Then::GoesOn, 64),
        ("ppo", Then::GivesInfinity, 64),
        ("dqn", Then::GoesOn, 92),
    ] {
        let name = if then == Then::GoesOn {
            "stopped"
        } else {
            "spoiled"
        };
        let whole = run_of(of(variant), folder.path(), &format!("{name}-whole"));
        train_with_stops(&whole, Task::CartPole, &[]);
        let broken = run_of(of(variant), folder.path(), name);
        // Less than is left of an update, by far: on a busy machine steps take longer than they sleep.
        let grace = Duration::from_millis(200);
        let stop = Arc::new(StopRequest::never().with_grace_period(grace));
        let mut env = Stopping::new(cart_poles(), 23, Arc::clone(&stop));
        (env.pause, env.then) = (Duration::from_millis(160), then);
        let never = StopRequest::never();
        let heard = if then == Then::GoesOn { &*stop } else { &never };
        let run = Run::create(broken.clone(), Box::new(env), heard).unwrap();
        match (run.train(heard), then) {
            (Ok(summary), Then::GoesOn) => assert_eq!(summary.outcome, Outcome::Stopped),
            (Err(error), _) => {
                let message = error.to_string();
                assert!(message.contains("not finite"), "{message}");
                assert!(message.contains("of agent step 64"), "{message}");
            }
            (Ok(_), _) => unreachable!("a loss that is no number"),
        }
        assert_eq!(newest(&broken).counters.step, step, "{variant}");
        let (env, stop) = task(Task::CartPole, u32::MAX, AFTER_UPDATES);
        let resume = RunStart::open(&folder_of(&broken), &toml::Table::new()).unwrap();
        let run = Run::start(resume, env, &stop).unwrap();
        assert_eq!(run.notices, [""; 0]);
        run.train(&stop).unwrap();
        assert_eq!(difference(&whole, &broken), None, "{variant} {name}");
    }
}

/// What DQN learned before it is saved: all that a run has which a stop ended in the same place.
#[test]
fn a_gradient_step_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let variant = VARIANTS.iter().find(|(of, ..)| *of == "dqn").unwrap();
    for (name, changes) in [("plain", ""), ("noisy", "prioritized = true\nnoisy = true")] {
        let run = |what| {
            with(
                &run_of(variant, folder.path(), &format!("{name}-{what}")),
                changes,
            )
        };
        let (spoiled, stopped) = (run("spoiled"), run("stopped"));
        let mut env = Stopping::new(cart_poles(), 23, Arc::new(StopRequest::never()));
        env.then = Then::GivesInfinity;
        let message = train(&spoiled, env).err().unwrap().to_string();
        let failed = newest(&spoiled);
        let step = failed.counters.step;
        let words = format!(
            "the loss is not finite: the run diverged (at agent step {step}); its newest \
                             checkpoint, of agent step {step} "
        );
        assert!(message.starts_with(&words), "{message}");

        let steps = step as u32 / NUM_ENVS as u32;
        assert!(steps >= 23, "{steps}");
        let (env, asks) = task(Task::CartPole, steps, Duration::ZERO);
        let run = Run::create(stopped.clone(), env, &asks).unwrap();
        assert_eq!(run.train(&asks).unwrap().outcome, Outcome::Stopped);
        let whole = newest(&stopped);
        assert_eq!(failed.counters.update, whole.counters.update);
        assert_eq!(failed.state.values, whole.state.values);
        assert_eq!(failed.state.tensors, whole.state.tensors);
        assert!(matches!(failed.envs, EnvStates::Saved(_)));
    }
}

#[test]
fn where_games_cannot_go_on_the_run_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let variant = &VARIANTS[0];
    let no_changes = toml::Table::new();
    let resumed = |settings: &Settings, env: Box<dyn VecEnv>| {
        let resume = RunStart::open(&folder_of(settings), &no_changes).unwrap();
        Run::start(resume, env, &StopRequest::never()).unwrap()
    };

    // In the first update, before which there is nothing to go back to.
    let settings = run_of(variant, folder.path(), "hangs");
    let stop = Arc::new(StopRequest::never());
    let mut env = Stopping::new(cart_poles(), 5, Arc::clone(&stop));
    env.then = Then::Hangs;
    let run = Run::create(settings.clone(), Box::new(env), &stop).unwrap();
    assert_eq!(run.train(&stop).unwrap().counters.step, 0);
    assert!(checkpoints::find(&folder_of(&settings)).is_err());
    let run = resumed(&settings, task(Task::CartPole, 0, AFTER_UPDATES).0);
    assert_eq!(run.notices, [""; 0]);
    run.train(&StopRequest::never()).unwrap();
    let whole = run_of(variant, folder.path(), "whole");
    train_with_stops(&whole, Task::CartPole, &[]);
    assert_eq!(difference(&whole, &settings), None, "it begins again");

    // In the second, before the first one is kept, as it is after a second.
    let run = (0..20).find_map(|attempt| {
        let settings = run_of(variant, folder.path(), &format!("hangs-later-{attempt}"));
        let stop = Arc::new(StopRequest::never());
        let mut env = Stopping::new(cart_poles(), 20, Arc::clone(&stop));
        env.then = Then::Hangs;
        let run = Run::create(settings.clone(), Box::new(env), &stop).unwrap();
        assert_eq!(run.train(&stop).unwrap().counters.step, 64);
        let run = resumed(&settings, task(Task::CartPole, 0, AFTER_UPDATES).0);
        (!run.notices.is_empty()).then_some(run)
    });
    let run = run.expect("an update within a second");
    let [notice] = run.notices.as_slice() else {
        unreachable!("{:?}", run.notices)
    };
    assert!(
        notice.contains("start over") && notice.contains("in the middle"),
        "{notice}"
    );
    run.train(&StopRequest::never()).unwrap();

    // The games of another size than those saved.
    let settings = run_of(&VARIANTS[1], folder.path(), "other");
    let (env, stop) = task(Task::GridWorld, 1, AFTER_UPDATES);
    Run::create(settings.clone(), env, &stop)
        .unwrap()
        .train(&stop)
        .unwrap();
    let mut checkpoint = newest(&settings);
    let EnvStates::Saved(states) = &mut checkpoint.envs else {
        unreachable!("a grid world has states")
    };
    states[2].truncate(20);
    checkpoint
        .save(&folder_of(&settings).join("checkpoints"))
        .unwrap();
    let run = resumed(&settings, task(Task::GridWorld, 0, AFTER_UPDATES).0);
    let [notice] = run.notices.as_slice() else {
        unreachable!("{:?}", run.notices)
    };
    assert!(
        notice.contains("start over") && notice.contains("environment 2"),
        "{notice}"
    );

    // Environments without states.
    let settings = with(
        &super::settings(Algorithm::A2c, folder.path(), "none"),
        "total_steps = 640",
    );
    train(&settings, one_step()).unwrap();
    let run = resumed(&settings, Box::new(one_step()));
    let [notice] = run.notices.as_slice() else {
        unreachable!("{:?}", run.notices)
    };
    assert!(notice.contains("backend `rust`"), "{notice}");
}
