//! The same seed gives the same run, and a run that was stopped and resumed is the one that never was:
//! bit for bit, for every algorithm.

use std::{fs, sync::Arc, time::Duration};

use rust_trainer::run::{Counters, EnvStates, checkpoints::Found};
use vec_env::{
    Actions, Env, EnvError, ObsSlot, ObsSpec, StepBatch, SyncVecEnv,
    envs::{CartPole, GridWorld, Pendulum},
};

use super::*;

/// What is trained: a line for each, with its name, algorithm, task and settings.
#[rustfmt::skip]
pub const VARIANTS: &[(&str, Algorithm, Task, &str)] = &[
    ("ppo", Algorithm::Ppo, Task::CartPole, "num_steps = 16"),
    ("ppo-bytes", Algorithm::Ppo, Task::GridWorld, "num_steps = 16\nprecision = 'bf16'"),
    ("ppo-normalized", Algorithm::Ppo, Task::Pendulum, "num_steps = 16\nnorm_obs = true\nnorm_reward = true"),
    ("ppo-lstm", Algorithm::Ppo, Task::CartPole, "num_steps = 16\nlstm_size = 8"),
    ("a2c", Algorithm::A2c, Task::CartPole, "num_steps = 8"),
    ("a2c-bytes", Algorithm::A2c, Task::GridWorld, "num_steps = 8\nnorm_adv = true"),
    ("a2c-normalized", Algorithm::A2c, Task::CartPole, "num_steps = 8\nnorm_obs = true\nnorm_reward = true"),
    ("a2c-lstm", Algorithm::A2c, Task::Pendulum, "num_steps = 8\nlstm_size = 8"),
    ("pqn", Algorithm::Pqn, Task::CartPole, "num_steps = 16\nnum_minibatches = 4\nanneal_lr = true\nexploration_fraction = 0.7"),
    ("pqn-bytes", Algorithm::Pqn, Task::GridWorld, "num_steps = 16\nnum_minibatches = 4\nprecision = 'bf16'"),
    ("dqn", Algorithm::Dqn, Task::CartPole, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 200\nn_step = 2\ntarget_update = 9"),
    ("rainbow-bytes", Algorithm::Dqn, Task::GridWorld, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 200\ntarget_update = 9\nn_step = 3\ndouble_q = true\ndueling = true\nprioritized = true\nnoisy = true\ndistributional = 'c51'\nprecision = 'bf16'"),
];

/// However slow the machine, a stop waits for the end of the update.
pub const AFTER_UPDATES: Duration = Duration::from_secs(600);

/// Agent steps of the runs.
const STEPS: u64 = 896;

#[derive(Clone, Copy)]
pub enum Task {
    CartPole,
    GridWorld,
    Pendulum,
}

/// The settings of a variant's run of some name.
pub fn run_of(variant: &(&str, Algorithm, Task, &str), folder: &Path, name: &str) -> Settings {
    tch::set_num_threads(1);
    let (of, algorithm, _, changes) = variant;
    let mut settings = Settings::defaults(*algorithm);
    folder.clone_into(&mut settings.run.runs_dir);
    settings.run.run_name = format!("{of}-{name}");
    let shared = format!("num_envs = {NUM_ENVS}\ntotal_steps = {STEPS}\ntorch_threads = 1\n");
    with(&settings, &(shared + changes))
}

/// The task's environments, and the stop that they ask for in their `stop_at`th step.
pub fn task(task: Task, stop_at: u32, patience: Duration) -> (Box<dyn VecEnv>, Arc<StopRequest>) {
    fn stopping<E: Env + 'static>(
        make: fn(usize) -> E,
        left: u32,
        stop: &Arc<StopRequest>,
    ) -> Box<dyn VecEnv> {
        let env = SyncVecEnv::new(NUM_ENVS, make).unwrap();
        Box::new(Stopping::new(env, left, Arc::clone(stop)))
    }
    let stop = Arc::new(StopRequest::never().with_patience(patience));
    let env = match task {
        Task::CartPole => stopping(|index| CartPole::new(index as u64), stop_at, &stop),
        Task::GridWorld => stopping(|index| GridWorld::new(3, index as u64), stop_at, &stop),
        Task::Pendulum => stopping(|index| Pendulum::new(index as u64), stop_at, &stop),
    };
    (env, stop)
}

/// Asks for a stop in some step.
pub struct Stopping<E> {
    env: SyncVecEnv<E>,
    left: u32,
    stop: Arc<StopRequest>,
    /// How long each step takes.
    pause: Duration,
    /// What happens in that step.
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    GoesOn,
    Hangs,
    GivesInfinity,
}

impl<E: Env> Stopping<E> {
    fn new(env: SyncVecEnv<E>, left: u32, stop: Arc<StopRequest>) -> Self {
        Self {
            env,
            left,
            stop,
            pause: Duration::ZERO,
            then: Then::GoesOn,
        }
    }
}

pub fn cart_poles() -> SyncVecEnv<CartPole> {
    SyncVecEnv::new(NUM_ENVS, |index| CartPole::new(index as u64)).unwrap()
}

impl<E: Env> VecEnv for Stopping<E> {
    fn num_envs(&self) -> usize {
        self.env.num_envs()
    }
    fn obs_spec(&self) -> &ObsSpec {
        self.env.obs_spec()
    }
    fn action_space(&self) -> &ActionSpace {
        self.env.action_space()
    }
    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.env.reset(seed, obs)
    }
    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.stop.ask();
        }
        self.env.send(actions, obs)
    }
    fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
        std::thread::sleep(self.pause);
        if self.left == 0 && self.then == Then::Hangs {
            std::thread::sleep(Duration::from_millis(10));
            return Err(EnvError::Timeout);
        }
        self.env.recv(step)?;
        if self.left == 0 && self.then == Then::GivesInfinity {
            step.reward[0] = f32::INFINITY;
        }
        Ok(())
    }
    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.env.save_state()
    }
    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.env.restore_state(states, obs)
    }
    fn close(&mut self) -> Result<(), EnvError> {
        self.env.close()
    }
}

/// Trains to the end, with a stop in the step of each number counted from the one before, and a fresh
/// start from the run's folder after it. What was said when it started again.
pub fn train_with_stops(settings: &Settings, of: Task, stops: &[u32]) -> Vec<String> {
    let mut notices = Vec::new();
    for (number, stop_at) in stops.iter().chain([&u32::MAX]).enumerate() {
        let (env, stop) = task(of, *stop_at, AFTER_UPDATES);
        let run = if number == 0 {
            Run::create(settings.clone(), env, &stop).unwrap()
        } else {
            let resume = Resume::open(&folder_of(settings), &toml::Table::new()).unwrap();
            notices.extend(resume.notices());
            Run::resume(resume, env, &stop).unwrap()
        };
        notices.extend(run.notices().iter().cloned());
        let outcome = run.train(&stop).unwrap().outcome;
        let stopped = *stop_at != u32::MAX;
        assert_eq!(
            outcome == Outcome::Stopped,
            stopped,
            "stop in step {stop_at}"
        );
    }
    notices
}

/// All that the newest checkpoint of a run holds.
fn newest_whole(settings: &Settings) -> Checkpoint {
    let Found {
        path,
        mut checkpoint,
        ..
    } = checkpoints::find(&folder_of(settings)).unwrap();
    checkpoint.read_replay(&path).unwrap();
    checkpoint
}

/// A table of a run but for the columns that tell of time.
fn rows(settings: &Settings, table: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder_of(settings).join(table)).unwrap();
    let lines = || text.lines().map(|line| line.split(','));
    let header: Vec<&str> = lines().next().unwrap().collect();
    let is_time = |name: &str| name.starts_with("seconds") || name == "steps_per_second";
    let kept = |line: std::str::Split<'_, char>| {
        let cells = line.zip(&header).filter(|(_, name)| !is_time(name));
        cells.map(|(cell, _)| cell.to_owned()).collect()
    };
    lines().map(kept).collect()
}

/// In what two runs differ; nothing, where they are one.
pub fn difference(one: &Settings, other: &Settings) -> Option<String> {
    let [left, right] = [one, other].map(newest_whole);
    let progress = |counters: Counters| (counters.step, counters.update);
    assert_eq!(progress(left.counters).0, STEPS);
    if progress(left.counters) != progress(right.counters) {
        return Some(format!("{:?} and {:?}", left.counters, right.counters));
    }
    let tensors = |of: &Checkpoint| {
        let state = of.state.tensors.iter().chain(&of.state.replay);
        state
            .map(|(name, tensor)| (name.clone(), tensor.shallow_clone()))
            .collect::<Vec<_>>()
    };
    let (ours, theirs) = (tensors(&left), tensors(&right));
    assert_eq!(ours.len(), theirs.len());
    for ((name, ours), (of, theirs)) in ours.iter().zip(&theirs) {
        if name != of || ours != theirs {
            return Some(format!("tensor `{name}` ({of})"));
        }
    }
    if left.state.values != right.state.values {
        return Some(format!(
            "{:?} and {:?}",
            left.state.values, right.state.values
        ));
    }
    assert!(matches!(left.envs, EnvStates::Saved(_)));
    if left.envs != right.envs {
        return Some("the environments".to_owned());
    }
    ["updates.csv", "episodes.csv"]
        .into_iter()
        .find_map(|table| {
            let (ours, theirs) = (rows(one, table), rows(other, table));
            assert!(ours.len() > 4, "{table}: {ours:?}");
            (ours != theirs).then(|| format!("{table}: {ours:#?}\nand {theirs:#?}"))
        })
}

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
    for variant in VARIANTS {
        let (name, _, of, _) = *variant;
        let run = |name| run_of(variant, folder.path(), name);
        let (whole, again, other) = (run("whole"), run("again"), with(&run("other"), "seed = 2"));
        train_with_stops(&whole, of, &[]);
        train_with_stops(&again, of, &[]);
        assert_eq!(difference(&whole, &again), None, "{name}");
        train_with_stops(&other, of, &[]);
        assert!(difference(&whole, &other).is_some(), "{name}: another seed");

        // In the midst of updates and at their ends.
        let broken = run("broken");
        let notices = train_with_stops(&broken, of, &[1, 19, 16]);
        assert_eq!(notices, [""; 0], "{name}");
        assert_eq!(difference(&whole, &broken), None, "{name}");
    }
}

/// A stop does not wait for an update that takes longer than a second, nor can one be saved whose loss is
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
        let stop = Arc::new(StopRequest::never());
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
        let resume = Resume::open(&folder_of(&broken), &toml::Table::new()).unwrap();
        let run = Run::resume(resume, env, &stop).unwrap();
        assert_eq!(run.notices(), [""; 0]);
        run.train(&stop).unwrap();
        assert_eq!(difference(&whole, &broken), None, "{variant} {name}");
    }
}

#[test]
fn where_games_cannot_go_on_the_run_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let variant = &VARIANTS[0];
    let no_changes = toml::Table::new();
    let resumed = |settings: &Settings, env: Box<dyn VecEnv>| {
        let resume = Resume::open(&folder_of(settings), &no_changes).unwrap();
        Run::resume(resume, env, &StopRequest::never()).unwrap()
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
    assert_eq!(run.notices(), [""; 0]);
    run.train(&StopRequest::never()).unwrap();
    let whole = run_of(variant, folder.path(), "whole");
    train_with_stops(&whole, Task::CartPole, &[]);
    assert_eq!(difference(&whole, &settings), None, "it begins again");

    // In the second, before the first one is kept.
    let settings = run_of(variant, folder.path(), "hangs-later");
    let stop = Arc::new(StopRequest::never());
    let mut env = Stopping::new(cart_poles(), 20, Arc::clone(&stop));
    env.then = Then::Hangs;
    let run = Run::create(settings.clone(), Box::new(env), &stop).unwrap();
    assert_eq!(run.train(&stop).unwrap().counters.step, 64);
    let run = resumed(&settings, task(Task::CartPole, 0, AFTER_UPDATES).0);
    let [notice] = run.notices() else {
        unreachable!("{:?}", run.notices())
    };
    assert!(
        notice.contains("start anew") && notice.contains("in the middle"),
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
    let [notice] = run.notices() else {
        unreachable!("{:?}", run.notices())
    };
    assert!(
        notice.contains("start anew") && notice.contains("environment 2"),
        "{notice}"
    );

    // Environments without states.
    let settings = with(
        &super::settings(Algorithm::A2c, folder.path(), "none"),
        "total_steps = 640",
    );
    train(&settings, one_step()).unwrap();
    let run = resumed(&settings, Box::new(one_step()));
    let [notice] = run.notices() else {
        unreachable!("{:?}", run.notices())
    };
    assert!(notice.contains("backend `rust`"), "{notice}");
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
        Resume::open(&folder_of(&settings), &changes)
            .unwrap()
            .notices()
    };
    assert_eq!(notices("torch_threads = 1\ntotal_steps = 2048"), [""; 0]);
    let [notice] = &notices("torch_threads = 2")[..] else {
        unreachable!("one change")
    };
    assert!(
        notice.contains("torch_threads was 1 and is 2 now"),
        "{notice}"
    );

    // Another machine: the settings are the same, but not what they come to.
    let mut elsewhere = newest(&settings);
    for (name, value) in [("torch_threads", "999"), ("processor", "an abacus")] {
        elsewhere
            .arithmetic
            .insert(name.to_owned(), value.to_owned());
    }
    let inside = folder_of(&settings).join("checkpoints");
    elsewhere.save(&inside).unwrap();
    let found = notices("").join("\n");
    for words in ["torch_threads was 999 and is 1", "processor was an abacus"] {
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
        let resume = Resume::open(&folder_of(&settings), &changes);
        resume.unwrap().notices()
    };
    assert_eq!(notices(&format!("total_steps = {STEPS}")), [""; 0]);
    let [notice] = &notices("total_steps = 20480")[..] else {
        unreachable!("one change")
    };
    let words = format!("total_steps was {STEPS} and is 20480 now: epsilon");
    assert!(notice.contains(&words), "{notice}");
}
