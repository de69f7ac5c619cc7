//! Whole updates of PPO, A2C and PQN against `updates.py`, which has them again in PyTorch: values of the
//! observations, truncated episodes, advantages, minibatches, losses, clipping, optimizer, annealing; and
//! with an LSTM the states that it begins with, carries and forgets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;

use rand::seq::SliceRandom;
use rust_trainer::{
    algorithms::{self, Learning, State},
    settings::{Algorithm, AlgorithmSettings, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec, SyncVecEnv, env::Random};

use support::{
    Spaces, generator, images, is_weight, largest, made_up_step, python, read, weights, weights_of,
};

const NUM_ENVS: usize = 3;
const NUM_STEPS: usize = 7;
const NUM_SAMPLES: usize = NUM_ENVS * NUM_STEPS;
/// Side of the images: the smallest for the network, and one for which even a batch of ours is divided among
/// threads.
const SMALL: usize = 36;
const LARGE: usize = 60;

/// Everything that happened, step by step, and what was drawn.
#[derive(Default)]
struct Record {
    obs: Vec<u8>,
    actions: Vec<i64>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    last_obs: Vec<u8>,
    orders: Vec<Vec<i64>>,
}

impl Record {
    fn save(&self, obs_shape: [usize; 3], start: &State, path: &Path) {
        let (steps, envs) = (NUM_STEPS as i64, NUM_ENVS as i64);
        let [channels, height, width] = obs_shape.map(|length| length as i64);
        let flags = |flags: &[bool]| Tensor::from_slice(flags).view([-1, steps, envs]);
        let pictures =
            |bytes: &[u8]| Tensor::from_slice(bytes).view([-1, envs, channels, height, width]);
        let updates = self.actions.len() / NUM_SAMPLES;
        let num_shuffled = self.orders.first().map_or(1, Vec::len) as i64;
        let orders = Tensor::from_slice(&self.orders.concat());
        let orders = orders.view([updates as i64, -1, num_shuffled]);
        let mut tensors = vec![
            ("obs", pictures(&self.obs)),
            (
                "actions",
                Tensor::from_slice(&self.actions).view([-1, steps, envs]),
            ),
            (
                "rewards",
                Tensor::from_slice(&self.rewards).view([-1, steps, envs]),
            ),
            ("terminated", flags(&self.terminated)),
            ("truncated", flags(&self.truncated)),
            ("last_obs", pictures(&self.last_obs)),
            ("orders", orders),
        ];
        let weights = start.tensors.iter().filter(|(name, _)| is_weight(name));
        tensors.extend(weights.map(|(name, tensor)| (name.as_str(), tensor.shallow_clone())));
        Tensor::write_safetensors(&tensors, path).unwrap();
    }
}

/// The algorithms with the sizes of their LSTM.
const ALL: [(Algorithm, usize); 5] = [
    (Algorithm::Ppo, 0),
    (Algorithm::A2c, 0),
    (Algorithm::Ppo, 24),
    (Algorithm::A2c, 24),
    (Algorithm::Pqn, 0),
];

/// The settings of a run that is longer by one than `updates` updates.
fn settings(
    algorithm: Algorithm,
    lstm_size: usize,
    precision: &str,
    updates: usize,
    (num_minibatches, epochs): (usize, usize),
    threads: usize,
) -> Settings {
    // With several threads nothing hides a gradient that is as many times too long.
    let max_grad_norm = if threads == 1 { 0.5 } else { 1e3 };
    let changes = format!(
        "num_envs = {NUM_ENVS}\nmax_grad_norm = {max_grad_norm}\nnum_steps = {NUM_STEPS}\ntotal_steps = {}\nprecision = '{precision}'\ntorch_threads = {threads}",
        NUM_SAMPLES * (updates + 1)
    );
    let changes = match algorithm {
        Algorithm::Ppo => format!(
            "{changes}\nlstm_size = {lstm_size}\nnum_minibatches = {num_minibatches}\nupdate_epochs = {epochs}\nlearning_rate = 1e-3"
        ),
        Algorithm::A2c => {
            format!("{changes}\nlstm_size = {lstm_size}\ngae_lambda = 0.9\nlearning_rate = 0.3")
        }
        Algorithm::Dqn => unreachable!("it has no rollouts: see tests/dqn"),
        Algorithm::Pqn => format!(
            "{changes}\nnum_minibatches = {num_minibatches}\nupdate_epochs = {epochs}\nlearning_rate = 1e-2\nanneal_lr = true"
        ),
    };
    let settings = Settings::defaults(algorithm);
    settings.with(&toml::from_str(&changes).unwrap()).unwrap()
}

fn length(tensor: &Tensor) -> f64 {
    tensor.square().sum(Kind::Double).sqrt().double_value(&[])
}

/// Lets both do `updates` updates of images of `side` by `side`, with PPO and PQN in `epochs` passes, ours
/// with so many `threads`; returns the difference of all weights, and how far ours moved.
fn compare(
    (algorithm, lstm_size): (Algorithm, usize),
    precision: &str,
    updates: usize,
    epochs: usize,
    (side, threads): (usize, usize),
) -> (Tensor, Tensor) {
    let obs_shape = [4, side, side];
    // With an LSTM, sequences are shuffled whole.
    let (num_shuffled, num_minibatches) = match (lstm_size, side) {
        (0, SMALL) => (NUM_SAMPLES, 4),
        (0, _) => (NUM_SAMPLES, 1),
        (_, SMALL) => (NUM_ENVS, 2),
        (_, _) => (NUM_ENVS, 1),
    };
    let passes = (num_minibatches, epochs);
    let settings = settings(algorithm, lstm_size, precision, updates, passes, threads);
    let shuffles = match &settings.algorithm {
        AlgorithmSettings::Ppo(ppo) => ppo.update_epochs,
        AlgorithmSettings::A2c(_) | AlgorithmSettings::Dqn(_) => 0,
        AlgorithmSettings::Pqn(pqn) => pqn.update_epochs,
    };
    let spaces = Spaces {
        obs: ObsSpec {
            shape: obs_shape.to_vec(),
            dtype: Dtype::Uint8,
        },
        actions: ActionSpace::Discrete { n: 6 },
    };
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces.clone()).unwrap();
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();

    let mut random = Random::new(5);
    let mut record = Record::default();
    let mut next_obs = |record: &mut Record, ours: &mut dyn algorithms::Algorithm| {
        let obs = images(&mut random, NUM_ENVS, obs_shape);
        ours.next_obs().copy_from_slice(&obs);
        record.obs.extend(obs);
    };
    let mut dice = Random::new(6);
    next_obs(&mut record, &mut *ours);
    for _ in 0..updates {
        for _ in 0..NUM_STEPS {
            let learned = ours.learn(&mut || false).unwrap();
            assert_eq!(learned, Learning::NotYet);
            let actions = ours.act().unwrap();
            next_obs(&mut record, &mut *ours);
            let last_obs = images(&mut dice, NUM_ENVS, obs_shape);
            let step = made_up_step(&mut dice, NUM_ENVS, (3, -1.0), [5, 4], &last_obs);
            ours.observe(&step).unwrap();
            if let ActionBatch::Discrete(actions) = actions {
                record.actions.extend(actions);
            }
            record.rewards.extend(&step.reward);
            record.terminated.extend(&step.terminated);
            record.truncated.extend(&step.truncated);
            record.last_obs.extend(last_obs);
        }
        let mut rng = generator(&ours.state().unwrap());
        let mut order: Vec<i64> = (0..num_shuffled as i64).collect();
        for _ in 0..shuffles {
            order.shuffle(&mut rng);
            record.orders.push(order.clone());
        }
        let learned = ours.learn(&mut || false).unwrap();
        assert!(matches!(learned, Learning::Done(_)), "it is time");
        assert_eq!(
            generator(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
    }
    assert!(record.truncated.contains(&true) && record.terminated.contains(&true));

    let folder = tempfile::tempdir().unwrap();
    record.save(obs_shape, &start, &folder.path().join("record.safetensors"));
    let settings = serde_json::to_string(&settings.table()).unwrap();
    python(
        "updates.py",
        &[folder.path().as_os_str(), settings.as_ref()],
    );
    let theirs = weights(&read(&folder.path().join("after.safetensors")));
    let ours = weights_of(&ours.state().unwrap());
    let (difference, moved) = (&ours - theirs, &ours - weights_of(&start));
    (difference, moved)
}

#[test]
fn whole_updates_in_fp32() {
    for algorithm in ALL {
        let (difference, moved) = compare(algorithm, "fp32", 3, 3, (SMALL, 1));
        let (difference, moved) = (largest(&difference), largest(&moved));
        assert!(
            difference < 1e-5,
            "{algorithm:?}: a weight differs by {difference:e}"
        );
        assert!(moved > 1e-2, "{algorithm:?}: weights moved by {moved:e}");
    }
}

/// Behind rectified units some are on for one rounding and off for another, with one thread, too; PQN's
/// layers are normalized.
#[test]
fn whole_updates_in_several_threads() {
    for (algorithm, bound) in [
        ((Algorithm::Pqn, 0), 1e-4),
        ((Algorithm::A2c, 0), 0.03),
        ((Algorithm::Ppo, 24), 0.03),
    ] {
        let (difference, moved) = compare(algorithm, "fp32", 2, 1, (LARGE, 4));
        let share = length(&difference) / length(&moved);
        assert!(
            share < bound,
            "{algorithm:?}: the move differs by {share} of its length"
        );
    }
}

/// Rounding to 8 bits differs with the order of sums, and what differs grows with each step: 0.4 % of the
/// move after one, 4 % after four, a third after 36.
#[test]
fn whole_updates_in_bf16() {
    for algorithm in ALL {
        let (difference, moved) = compare(algorithm, "bf16", 1, 1, (SMALL, 1));
        let share = length(&difference) / length(&moved);
        assert!(
            share < 0.1,
            "{algorithm:?}: the move differs by {share} of its length"
        );
    }
}
