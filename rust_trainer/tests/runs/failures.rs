//! Environments that fail, hang or block.

use std::{
    collections::VecDeque,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use rust_trainer::{
    report::{Episode, read_rows},
    run::EnvStates,
};
use vec_env::{Actions, EnvError, ObsSlot, StepBatch};

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// A worker process died; it can be made anew.
    Worker,
    /// The environment's own code raised.
    Raise,
    /// Nothing comes any more.
    Hang,
}

/// Fails when it is asked for a step: by the next of `faults` from step `at` on.
struct Failing {
    env: Contexts,
    at: u32,
    faults: VecDeque<Fault>,
    /// Called with each step.
    on_step: Box<dyn FnMut() + Send>,
    is_broken: bool,
    was_restarted: bool,
}

fn failing(at: u32, faults: &[Fault]) -> Failing {
    Failing {
        env: Contexts::new(true, 7, End::Terminated),
        at,
        faults: faults.iter().copied().collect(),
        on_step: Box::new(|| {}),
        is_broken: false,
        was_restarted: false,
    }
}

impl VecEnv for Failing {
    as_inside!(env);

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.env.reset(seed, obs)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        (self.on_step)();
        self.at = self.at.saturating_sub(1);
        self.env.send(actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        if self.at > 0 {
            return self.env.recv_timeout(step, timeout);
        }
        let details = Some("Traceback (most recent call last): …".to_owned());
        let message = "environment 1 died while it did step 9".to_owned();
        let next = (!self.is_broken).then(|| self.faults.pop_front()).flatten();
        if next == Some(Fault::Hang) {
            self.faults.push_front(Fault::Hang);
            thread::sleep(Duration::from_millis(10));
            return Err(EnvError::Timeout);
        }
        if next == Some(Fault::Raise) {
            return Err(EnvError::Backend {
                message,
                details,
                is_usage: false,
            });
        }
        if next == Some(Fault::Worker) || self.is_broken {
            self.is_broken = true;
            return Err(EnvError::Worker {
                env_indices: vec![1],
                doing: "step 9".to_owned(),
                message,
                details,
            });
        }
        self.env.recv_timeout(step, timeout)?;
        if std::mem::take(&mut self.was_restarted) {
            step.truncated[1] = true;
            step.worker_restarted[1] = true;
            let row = [1.0_f32, 0.0].map(f32::to_ne_bytes).concat();
            step.final_obs.push((1, row));
        }
        Ok(())
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        (self.is_broken, self.was_restarted) = (false, true);
        Ok(vec![1])
    }
}

fn short(folder: &Path, name: &str) -> Settings {
    with(&settings(Algorithm::A2c, folder, name), "total_steps = 640")
}

#[test]
fn a_failed_worker_is_made_anew_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    let summary = train(&settings, failing(20, &[Fault::Worker])).unwrap();
    assert_eq!(summary.outcome, Outcome::Finished);
    let table = std::fs::read_to_string(folder_of(&settings).join("updates.csv")).unwrap();
    let mut lines = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = header.iter().position(|name| *name == "worker_restarts");
    assert_eq!(summary.worker_restarts, 1);
    let restarts: Vec<_> = lines.map(|line| line[column.unwrap()].to_owned()).collect();
    assert_eq!(restarts, ["0", "1", "1", "1", "1", "1", "1", "1", "1", "1"]);
}

/// Failing for good in the second update: what the first one learned is kept, and said.
#[test]
fn a_failure_for_good_leaves_a_checkpoint_and_advises_to_resume() {
    let cases: [&[Fault]; 2] = [&[Fault::Worker, Fault::Worker], &[Fault::Raise]];
    for (number, faults) in cases.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let settings = short(folder.path(), &format!("run{number}"));
        let error = train(&settings, failing(20, faults)).err().unwrap();
        let message = error.to_string();
        for words in [
            "environment 1 died",
            "checkpoint is of agent step 64",
            "--resume",
            &settings.run.run_name,
        ] {
            assert!(message.contains(words), "{message}");
        }
        assert!(!message.contains('\n'), "{message}");
        assert!(error.details().unwrap().starts_with("Traceback"));
        assert_eq!(newest(&settings).counters.step, 64);
        resume(&folder_of(&settings), one_step()).unwrap();
        assert_eq!(newest(&settings).counters.step, 640);
        let games = read_rows::<Episode>(&folder_of(&settings).join("episodes.csv")).unwrap();
        assert!(games.is_sorted_by(|one, next| one.step <= next.step));
    }
}

/// Trains in `env`, where a step takes `pace` and a stop is asked for in the one numbered `at`; the agent
/// step at which it stopped, how many steps more it took for that, and how long.
fn stopped(
    settings: &Settings,
    mut env: Failing,
    at: u32,
    pace: Duration,
    stop: StopRequest,
) -> (u64, usize, Duration) {
    let stop = Arc::new(stop);
    let asking = Arc::clone(&stop);
    let (say, asked) = mpsc::channel();
    let mut steps = 0;
    env.on_step = Box::new(move || {
        steps += 1;
        if steps == at {
            asking.ask();
        }
        if steps >= at {
            say.send(Instant::now()).unwrap();
        }
        thread::sleep(pace);
    });
    let run = Run::create(settings.clone(), Box::new(env), &stop).unwrap();
    let summary = run.train(&stop).unwrap();
    assert_eq!(summary.outcome, Outcome::Stopped);
    assert_eq!(newest(settings).counters.step, summary.counters.step);
    let took = asked.recv().unwrap().elapsed();
    (summary.counters.step, asked.try_iter().count(), took)
}

#[test]
fn a_stop_is_heeded_while_an_environment_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    let env = failing(20, &[Fault::Hang]);
    let (step, _, took) = stopped(&settings, env, 20, Duration::ZERO, StopRequest::never());
    assert_eq!(step, 64);
    // A second, on a machine that is not busy.
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// What ends soon is waited for; a rollout that takes longer than a second is given up in its midst, at once.
#[test]
fn a_stop_in_the_midst_of_a_rollout_takes_at_most_a_second_or_two() {
    let folder = tempfile::tempdir().unwrap();
    let patient = StopRequest::never().with_grace_period(Duration::from_secs(600));
    let pace = Duration::from_millis(200);
    for (name, stop, learned) in [("soon", patient, 128), ("late", StopRequest::never(), 64)] {
        let settings = short(folder.path(), name);
        // The third step of the second update, of 16 steps each.
        let (step, more, _) = stopped(&settings, failing(u32::MAX, &[]), 19, pace, stop);
        assert_eq!(step, learned, "{name}");
        // Whoever waited for a second would take five steps in it.
        assert!(name == "soon" || more <= 2, "{more} steps more");
    }
}

/// A loss that is no number: said before it changes a weight, and the checkpoint before is named.
#[test]
fn a_run_that_diverges_keeps_its_last_good_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    for algorithm in [Algorithm::Ppo, Algorithm::A2c] {
        let settings = with(
            &settings(algorithm, folder.path(), algorithm.name()),
            "learning_rate = 1e37\ncheckpoint_every = 1\nkeep_checkpoints = 100",
        );
        let error = train(&settings, Contexts::new(false, 9, End::Terminated))
            .err()
            .unwrap();
        let message = error.to_string();
        assert!(
            message.contains("not finite") && !message.contains('\n'),
            "{message}"
        );
        let Ok(found) = checkpoints::find(&folder_of(&settings)) else {
            assert!(message.contains("no checkpoint"), "{message}");
            continue;
        };
        assert!(found.damaged.is_empty(), "{:?}", found.damaged);
        let step = format!("of agent step {} ", found.checkpoint.counters.step);
        assert!(
            message.contains(&step) && message.contains("smaller learning rate"),
            "{message}"
        );
        found.checkpoint.policy(Device::Cpu).unwrap();
    }
}

/// A panic below, as libtorch's bindings have them: an error, and what was learned is kept.
#[test]
fn a_panic_in_the_midst_of_a_run_leaves_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    let mut env = failing(u32::MAX, &[]);
    let mut steps = 0;
    env.on_step = Box::new(move || {
        steps += 1;
        assert!(steps < 20, "the reactor is too hot");
    });
    let message = train(&settings, env).err().unwrap().to_string();
    for words in [
        "the reactor is too hot",
        "failures.rs:",
        "checkpoint is of agent step 64",
    ] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(newest(&settings).counters.step, 64);
}

/// Environments that step, and answer nothing else.
struct Mute {
    env: Failing,
    answers: mpsc::Receiver<()>,
    saving: mpsc::Sender<()>,
}

impl VecEnv for Mute {
    as_inside!(env);

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.env.reset(seed, obs)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.env.send(actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.env.recv_timeout(step, timeout)
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        let _ = self.saving.send(());
        let _never = self.answers.recv();
        Err(EnvError::Closed)
    }
}

#[test]
fn a_stop_is_heeded_while_environments_do_not_hand_out_their_states() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(&short(folder.path(), "run"), "checkpoint_every = 128");
    let (_open, answers) = mpsc::channel();
    let (saving, asked) = mpsc::channel();
    let env = failing(u32::MAX, &[]);
    let stop = StopRequest::never();
    let run = Run::create(
        settings.clone(),
        Box::new(Mute {
            env,
            answers,
            saving,
        }),
        &stop,
    )
    .unwrap();
    let (summary, took) = thread::scope(|scope| {
        let stop = &stop;
        let asking = scope.spawn(move || {
            asked.recv().unwrap();
            stop.ask();
            Instant::now()
        });
        let summary = run.train(stop).unwrap();
        (summary, asking.join().unwrap().elapsed())
    });
    assert_eq!(summary.outcome, Outcome::Stopped);
    assert!(took < Duration::from_secs(15), "{took:?}");
    let saved = newest(&settings);
    assert_eq!(saved.counters.step, summary.counters.step);
    let EnvStates::Missing(why) = &saved.envs else {
        unreachable!("nobody handed them out")
    };
    assert!(why.contains("did not answer"), "{why}");
    resume(&folder_of(&settings), one_step()).unwrap();
}

#[test]
fn a_stop_is_heeded_while_the_first_reset_blocks() {
    struct Blocking(Failing, mpsc::Receiver<()>);
    impl VecEnv for Blocking {
        as_inside!(0);
        fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) -> Result<(), EnvError> {
            let _never = self.1.recv();
            Ok(())
        }
        fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
            self.0.send(actions, obs)
        }
        fn recv_timeout(
            &mut self,
            step: &mut StepBatch,
            timeout: Option<Duration>,
        ) -> Result<(), EnvError> {
            self.0.recv_timeout(step, timeout)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (_open, blocks) = mpsc::channel();
    let stop = StopRequest::never();
    stop.ask();
    let env = Box::new(Blocking(failing(0, &[]), blocks));
    let created = Run::create(short(folder.path(), "run"), env, &stop);
    assert!(matches!(created.err(), Some(TrainerError::Stopped)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
