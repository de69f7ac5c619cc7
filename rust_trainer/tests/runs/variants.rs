//! What is trained, stopped and compared: every algorithm in its variants, on environments in Rust.

use std::{fs, sync::Arc, time::Duration};

use rust_trainer::run::{Counters, EnvStates, checkpoints::Found};
use vec_env::{
    Actions, AgentRows, Env, EnvError, MultiAgentEnv, ObsSlot, RowLayout, StepBatch, SyncVecEnv,
    envs::{CartPole, CartPoles, GridWorld, Pendulum, Push, SimpleSpread},
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
    ("iqn", Algorithm::Dqn, Task::CartPole, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 200\ntarget_update = 9\ndistributional = 'iqn'\nnum_tau_samples = 8\nnum_tau_prime_samples = 8\nnum_quantile_samples = 4"),
    ("rainbow-bytes", Algorithm::Dqn, Task::GridWorld, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 200\ntarget_update = 9\nn_step = 3\ndouble_q = true\ndueling = true\nprioritized = true\nnoisy = true\ndistributional = 'c51'\nprecision = 'bf16'"),
    ("ddpg", Algorithm::Ddpg, Task::Pendulum, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 200\nbatch_size = 16\npolicy_frequency = 1\ntau = 0.05"),
    ("td3", Algorithm::Td3, Task::Pendulum, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 200\nbatch_size = 16\ntrain_frequency = 4\ntau = 0.05"),
    ("mappo", Algorithm::Ppo, Task::CartPoles, "num_steps = 16\nnum_minibatches = 4\ncentral_critic = true\nshare_weights = false"),
    ("maddpg", Algorithm::Maddpg, Task::Spread, "steps_per_update = 40\nlearning_starts = 60\nreplay_capacity = 240\nbatch_size = 16\ntrain_frequency = 8\ntau = 0.05"),
];

/// However slow the machine, a stop waits for the end of the update.
pub const AFTER_UPDATES: Duration = Duration::from_secs(600);

/// Agent steps of the runs.
pub const STEPS: u64 = 896;

#[derive(Clone, Copy)]
pub enum Task {
    CartPole,
    GridWorld,
    Pendulum,
    CartPoles,
    Spread,
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
pub fn task(
    task: Task,
    stop_at: u32,
    grace_period: Duration,
) -> (Box<dyn VecEnv>, Arc<StopRequest>) {
    fn single<E: Env>(make: fn(usize) -> E) -> SyncVecEnv<E> {
        SyncVecEnv::new(NUM_ENVS, make).unwrap()
    }
    fn agents<E: MultiAgentEnv>(layout: RowLayout, make: fn(usize) -> E) -> AgentRows<E> {
        AgentRows::new(NUM_ENVS, layout, make).unwrap()
    }
    let stop = Arc::new(StopRequest::never().with_grace_period(grace_period));
    let asking = Arc::clone(&stop);
    let central = RowLayout {
        others: true,
        agent: true,
    };
    let env: Box<dyn VecEnv> = match task {
        Task::CartPole => {
            let env = single(|index| CartPole::new(index as u64));
            Box::new(Stopping::new(env, stop_at, asking))
        }
        Task::GridWorld => {
            let env = single(|index| GridWorld::new(3, index as u64));
            Box::new(Stopping::new(env, stop_at, asking))
        }
        Task::Pendulum => {
            let env = single(|index| Pendulum::new(index as u64));
            Box::new(Stopping::new(env, stop_at, asking))
        }
        Task::CartPoles => {
            let env = agents(central, |index| CartPoles::new(2, index as u64));
            Box::new(Stopping::new(env, stop_at, asking))
        }
        Task::Spread => {
            let make = |index| SimpleSpread::new(2, Push::Discrete, index as u64);
            let env = agents(RowLayout::default(), make);
            Box::new(Stopping::new(env, stop_at, asking))
        }
    };
    (env, stop)
}

/// Asks for a stop in some step.
pub struct Stopping<V> {
    env: V,
    left: u32,
    stop: Arc<StopRequest>,
    /// How long each step takes.
    pub pause: Duration,
    /// What happens in that step.
    pub then: Then,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Then {
    GoesOn,
    Hangs,
    GivesInfinity,
}

impl<V: VecEnv> Stopping<V> {
    pub fn new(env: V, left: u32, stop: Arc<StopRequest>) -> Self {
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

impl<V: VecEnv> VecEnv for Stopping<V> {
    as_inside!(env);
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
    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        std::thread::sleep(self.pause);
        if self.left == 0 && self.then == Then::Hangs {
            std::thread::sleep(Duration::from_millis(10));
            return Err(EnvError::Timeout);
        }
        self.env.recv_timeout(step, timeout)?;
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
            let resume = RunStart::open(&folder_of(settings), &toml::Table::new()).unwrap();
            notices.extend(resume.notices());
            Run::start(resume, env, &stop).unwrap()
        };
        notices.extend(run.notices.iter().cloned());
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
