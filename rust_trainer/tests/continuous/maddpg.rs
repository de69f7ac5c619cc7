//! Gradient steps of MADDPG against `maddpg_updates.py`, which has them again in PyTorch: central critics, Gumbel-softmax
//! and bounded actions, target networks; and beside DDPG, which it is for an agent alone.

use std::path::{Path, PathBuf};

use rand::RngExt;
use rust_trainer::{
    algorithms::{self, State},
    settings::{Algorithm, Settings},
};
use tch::{Device, Tensor};
use vec_env::{
    ActionBatch, ActionSpace, Dtype, ObsSpec, StepBatch, SyncVecEnv, VecEnv, env::Random,
};

use super::{
    agents,
    deterministic::compare_weights,
    support::{Spaces, generator, is_weight, made_up_step, python, read, to_bytes},
};

const AGENTS: usize = 3;
const WIDTH: usize = 4;
const BATCH: usize = 6;
const STEPS: usize = 15;
/// Steps before the first gradient step, and those that are kept.
const STARTS: usize = 4;
const CAPACITY: usize = 8;

fn spaces(is_discrete: bool) -> Spaces {
    Spaces {
        obs: ObsSpec {
            shape: vec![WIDTH],
            dtype: Dtype::Float32,
        },
        actions: if is_discrete {
            ActionSpace::Discrete { n: 4 }
        } else {
            ActionSpace::Box {
                shape: vec![2],
                low: vec![-1.0, 0.5],
                high: vec![1.0, 4.5],
            }
        },
    }
}

fn settings(algorithm: Algorithm, rows: usize, changes: &str) -> Settings {
    let changes = format!(
        "total_steps = 10_000\nreplay_capacity = {}\nlearning_starts = {}\ntrain_frequency = {rows}\n\
         batch_size = {BATCH}\nlearning_rate = 1e-3\ngamma = 0.9\ntau = 0.1\nmlp_width = 16\ninit = 'uniform'\n\
         torch_threads = 1\n{changes}",
        CAPACITY * rows,
        STARTS * rows,
    );
    let defaults = Settings::defaults(algorithm);
    defaults.with(&toml::from_str(&changes).unwrap()).unwrap()
}

/// Everything that happened, and what was drawn.
#[derive(Default)]
struct Record {
    obs: Vec<f32>,
    actions: Vec<f32>,
    step: StepBatch,
    last_obs: Vec<f32>,
    /// Steps that each batch is of; for discrete actions what noise is made of, of the targets and of the policies.
    numbers: Vec<i64>,
    uniform: Vec<f64>,
}

/// Plays and learns, records in `folder` what happened if there is one, and returns the states at the start and at the end.
fn play(settings: &Settings, env: &dyn VecEnv, folder: Option<&Path>) -> [State; 2] {
    let rows = env.num_envs();
    let num_actions = env.action_space().num_actions() as usize;
    let mut ours = algorithms::new(settings, env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let [mut random, mut dice] = [5, 6].map(|more| Random::new(settings.run.seed + more));
    let mut observations = || -> Vec<f32> {
        let numbers = (0..rows * WIDTH).map(|_| random.uniform(-2.0, 2.0) as f32);
        numbers.collect()
    };
    let mut record = Record::default();
    record.obs.extend(observations());
    ours.next_obs().copy_from_slice(&to_bytes(&record.obs));
    for step_number in 0..STEPS {
        match ours.act().unwrap() {
            ActionBatch::Discrete(actions) => {
                assert!(actions.iter().all(|action| (0..4).contains(action)));
                record
                    .actions
                    .extend(actions.iter().map(|action| *action as f32));
            }
            ActionBatch::Continuous(actions) => record.actions.extend(actions),
        }
        let (next, last_obs) = (observations(), observations());
        ours.next_obs().copy_from_slice(&to_bytes(&next));
        let step = made_up_step(&mut dice, rows, (5, -2.0), [6, 5], &to_bytes(&last_obs));
        ours.observe(&step).unwrap();
        record.obs.extend(next);
        record.last_obs.extend(last_obs);
        record.step.reward.extend(&step.reward);
        record.step.terminated.extend(&step.terminated);
        record.step.truncated.extend(&step.truncated);
        let mut rng = generator(&ours.state().unwrap());
        let held = (step_number + 1).saturating_sub(CAPACITY) as u64..step_number as u64 + 1;
        if held.end >= STARTS as u64 {
            let numbers = (0..BATCH).map(|_| rng.random_range(held.clone()) as i64);
            record.numbers.extend(numbers);
            let count = 2 * BATCH * rows * num_actions;
            record
                .uniform
                .extend((0..count).map(|_| rng.random::<f64>()));
        }
        ours.learn(&mut || false).unwrap();
        let after = generator(&ours.state().unwrap());
        assert_eq!(after, rng, "nothing else is drawn");
    }
    if let Some(folder) = folder {
        let table = serde_json::to_string(&settings.table()).unwrap();
        std::fs::write(folder.join("settings.json"), table).unwrap();
        record.save(&start, &folder.join("record.safetensors"));
    }
    [start, ours.state().unwrap()]
}

impl Record {
    fn save(&self, start: &State, path: &Path) {
        let agents = AGENTS as i64;
        let rows = |tensor: Tensor| tensor.view([-1, agents]);
        let wide = |numbers: &[f32]| Tensor::from_slice(numbers).view([-1, agents, WIDTH as i64]);
        let steps = STEPS as i64;
        let named = [
            ("obs", wide(&self.obs)),
            ("last_obs", wide(&self.last_obs)),
            (
                "actions",
                Tensor::from_slice(&self.actions).view([steps, agents, -1]),
            ),
            ("rewards", rows(Tensor::from_slice(&self.step.reward))),
            (
                "terminated",
                rows(Tensor::from_slice(&self.step.terminated)),
            ),
            ("truncated", rows(Tensor::from_slice(&self.step.truncated))),
            (
                "numbers",
                Tensor::from_slice(&self.numbers).view([-1, BATCH as i64]),
            ),
            ("uniform", Tensor::from_slice(&self.uniform)),
        ];
        let mut tensors: Vec<_> = named.map(|(name, x)| (name.to_owned(), x)).into();
        for (name, tensor) in start.tensors.iter().filter(|(name, _)| is_weight(name)) {
            tensors.push((format!("start.{name}"), tensor.shallow_clone()));
        }
        Tensor::write_safetensors(&tensors, path).unwrap();
    }
}

#[test]
fn gradient_steps_of_maddpg() {
    const SEEDS: u64 = 4;
    // As in `tests/updates.rs`.
    const CLEAR: f64 = 5e-7;
    let folder = tempfile::tempdir().unwrap();
    let mut played = Vec::new();
    for (case, policy_frequency) in [(true, 1), (false, 2)] {
        for seed in 0..SEEDS {
            let changes =
                format!("num_envs = 1\nseed = {seed}\npolicy_frequency = {policy_frequency}");
            let settings = settings(Algorithm::Maddpg, AGENTS, &changes);
            let env = agents::rows(&settings, &spaces(case));
            let own: PathBuf = folder.path().join(format!("{case}-{seed}"));
            std::fs::create_dir(&own).unwrap();
            let states = play(&settings, &env, Some(&own));
            played.push((own, states));
        }
    }
    let folders: Vec<&PathBuf> = played.iter().map(|(folder, _)| folder).collect();
    python("maddpg_updates.py", &folders);
    for played in played.chunks(SEEDS as usize) {
        let mut num_clear = 0;
        for (folder, [start, end]) in played {
            let theirs = read(&folder.join("after.safetensors"));
            if theirs["clearance"].double_value(&[]) < CLEAR {
                continue;
            }
            num_clear += 1;
            let num_compared = compare_weights([start, end], &theirs, folder);
            assert_eq!(num_compared, 2 * 2 * 6 * AGENTS);
        }
        assert!(num_clear > 0, "kinks are near with all seeds");
    }
}

#[test]
fn of_an_agent_alone_it_is_ddpg() {
    let [one, other] = [Algorithm::Ddpg, Algorithm::Maddpg].map(|algorithm| {
        let env = SyncVecEnv::new(AGENTS, |_| spaces(false)).unwrap();
        let settings = settings(algorithm, AGENTS, "num_envs = 3");
        let [start, end] = play_alone(&settings, &env);
        assert_ne!(start.tensors[0].1, end.tensors[0].1);
        end
    });
    assert_eq!(one.values, other.values);
    for ((name, one), (_, other)) in one.tensors.iter().zip(&other.tensors) {
        assert_eq!(one, other, "{name}");
    }
}

/// Learns in environments of one agent each.
fn play_alone(settings: &Settings, env: &dyn VecEnv) -> [State; 2] {
    let mut ours = algorithms::new(settings, env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let (mut random, mut dice) = (Random::new(1), Random::new(2));
    let mut observe = || {
        let numbers = (0..AGENTS * WIDTH).map(|_| random.uniform(-2.0, 2.0) as f32);
        to_bytes(&numbers.collect::<Vec<_>>())
    };
    ours.next_obs().copy_from_slice(&observe());
    for _ in 0..STEPS {
        ours.act().unwrap();
        ours.next_obs().copy_from_slice(&observe());
        let step = made_up_step(&mut dice, AGENTS, (5, -2.0), [6, 5], &observe());
        ours.observe(&step).unwrap();
        ours.learn(&mut || false).unwrap();
    }
    [start, ours.state().unwrap()]
}
