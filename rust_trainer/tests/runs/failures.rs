//! Environments that fail, hang or block.

use std::{collections::VecDeque, sync::mpsc, thread, time::Duration};

use rust_trainer::report::read_episodes;
use vec_env::{Actions, EnvError, ObsSlot, ObsSpec, StepBatch};

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
    fn num_envs(&self) -> usize {
        NUM_ENVS
    }

    fn obs_spec(&self) -> &ObsSpec {
        &self.env.spec
    }

    fn action_space(&self) -> &ActionSpace {
        &self.env.space
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.env.reset(seed, obs)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        (self.on_step)();
        self.at = self.at.saturating_sub(1);
        self.env.send(actions, obs)
    }

    fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
        if self.at > 0 {
            return self.env.recv(step);
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
        self.env.recv(step)?;
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

    fn close(&mut self) -> Result<(), EnvError> {
        Ok(())
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
        let games = read_episodes(&folder_of(&settings).join("episodes.csv")).unwrap();
        assert!(games.is_sorted_by(|one, next| one.step <= next.step));
    }
}

#[test]
fn a_stop_is_heeded_while_an_environment_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    let stop = std::sync::Arc::new(StopRequest::never());
    let asking = std::sync::Arc::clone(&stop);
    let mut env = failing(20, &[Fault::Hang]);
    let mut steps = 0;
    env.on_step = Box::new(move || {
        steps += 1;
        if steps == 20 {
            asking.ask();
        }
    });
    let run = Run::create(settings.clone(), Box::new(env), &stop).unwrap();
    let summary = run.train(&stop).unwrap();
    assert_eq!(
        (summary.outcome, summary.counters.step),
        (Outcome::Stopped, 64)
    );
    assert_eq!(newest(&settings).counters.step, 64);
}

#[test]
fn a_stop_is_heeded_while_the_first_reset_blocks() {
    struct Blocking(Failing, mpsc::Receiver<()>);
    impl VecEnv for Blocking {
        fn num_envs(&self) -> usize {
            self.0.num_envs()
        }
        fn obs_spec(&self) -> &ObsSpec {
            self.0.obs_spec()
        }
        fn action_space(&self) -> &ActionSpace {
            self.0.action_space()
        }
        fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) -> Result<(), EnvError> {
            let _never = self.1.recv();
            Ok(())
        }
        fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
            self.0.send(actions, obs)
        }
        fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
            self.0.recv(step)
        }
        fn close(&mut self) -> Result<(), EnvError> {
            Ok(())
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
