//! Gradient steps of DDPG and TD3 against `ddpg_updates.py`, which has them again in PyTorch: actions at random and
//! with noise, what is replayed, smoothed targets, twin critics, the delayed policy, Adam, target networks.

use std::{
    collections::HashMap,
    fmt::Debug,
    path::{Path, PathBuf},
};

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rust_trainer::{
    algorithms::{self, State},
    settings::{Algorithm, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec, SyncVecEnv, env::Random};

use super::support::{
    Played, Spaces, generator, is_weight, largest, made_up_step, python, read, save, to_bytes,
};

const NUM_ENVS: usize = 3;
const WIDTH: usize = 5;
const DIMS: usize = 2;
const BATCH: usize = 6;
const STEPS: usize = 19;
/// Transitions before the first gradient step, and those that are kept: whole steps of all environments.
const STARTS: u64 = 12;
const CAPACITY: u64 = 24;

/// Bounds of different lengths, and not around zero.
fn spaces() -> Spaces {
    Spaces {
        obs: ObsSpec {
            shape: vec![WIDTH],
            dtype: Dtype::Float32,
        },
        actions: ActionSpace::Box {
            shape: vec![DIMS],
            low: vec![-1.0, 0.5],
            high: vec![1.0, 4.5],
        },
    }
}

fn settings(algorithm: Algorithm, changes: &str, seed: u64) -> Settings {
    let changes = format!(
        "num_envs = {NUM_ENVS}\ntotal_steps = {}\nreplay_capacity = 23\nlearning_starts = {STARTS}\n\
         train_frequency = {NUM_ENVS}\nbatch_size = {BATCH}\nlearning_rate = 1e-3\ngamma = 0.9\ntau = 0.1\n\
         mlp_width = 16\ninit = 'uniform'\nexploration_noise = 0.3\ntorch_threads = 1\nseed = {seed}\n{changes}",
        NUM_ENVS * STEPS * 2,
    );
    let defaults = Settings::defaults(algorithm);
    defaults.with(&toml::from_str(&changes).unwrap()).unwrap()
}

/// Everything that happened, step by step, and what was drawn.
#[derive(Default)]
struct Record {
    played: Played<f32, f32>,
    /// For the actions: uniform numbers, and from the first gradient step on normal ones.
    act_drawn: Vec<f64>,
    /// Transitions of each batch, and the noise on their targets.
    numbers: Vec<i64>,
    noise: Vec<f64>,
}

impl Record {
    fn save(&self, start: &State, path: &Path) {
        let (envs, dims, batch) = (NUM_ENVS as i64, DIMS as i64, BATCH as i64);
        let mut tensors = self.played.tensors(&[envs, WIDTH as i64], &[envs]);
        let act_drawn = Tensor::from_slice(&self.act_drawn).view([-1, envs, dims]);
        let noise = Tensor::from_slice(&self.noise).view([-1, batch, dims]);
        let numbers = Tensor::from_slice(&self.numbers).view([-1, batch]);
        let drawn = [
            ("act_drawn", act_drawn),
            ("noise", noise),
            ("numbers", numbers),
        ];
        tensors.extend(drawn.map(|(name, tensor)| (name.to_owned(), tensor)));
        save(tensors, start, "start.", path);
    }
}

/// The generator of the actions.
fn of_actions(state: &State) -> Pcg64 {
    serde_json::from_str(state.values["policy_rng"].as_str().unwrap()).unwrap()
}

/// Plays and learns, and records in `folder` what happened; the states at the start and at the end.
fn play(algorithm: Algorithm, settings: &Settings, folder: &Path) -> [State; 2] {
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces()).unwrap();
    let mut ours = algorithms::new(settings, &env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let mut random = Random::new(settings.run.seed + 5);
    let mut observations = || -> Vec<f32> {
        (0..NUM_ENVS * WIDTH)
            .map(|_| random.uniform(-2.0, 2.0) as f32)
            .collect()
    };
    let mut dice = Random::new(settings.run.seed + 6);
    let mut record = Record::default();
    record.played.obs.extend(observations());
    ours.next_obs()
        .copy_from_slice(&to_bytes(&record.played.obs));
    for step_number in 0..STEPS as u64 {
        let mut rng = of_actions(&ours.state().unwrap());
        let is_random = step_number * (NUM_ENVS as u64) < STARTS;
        record.act_drawn.extend((0..NUM_ENVS * DIMS).map(|_| {
            if is_random {
                rng.random::<f64>()
            } else {
                StandardNormal.sample(&mut rng)
            }
        }));
        let ActionBatch::Continuous(actions) = ours.act().unwrap() else {
            unreachable!("the space is a box")
        };
        assert_eq!(
            of_actions(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
        let next = observations();
        ours.next_obs().copy_from_slice(&to_bytes(&next));
        let last_obs = observations();
        let step = made_up_step(&mut dice, NUM_ENVS, (5, -2.0), [6, 5], &to_bytes(&last_obs));
        ours.observe(&step).unwrap();
        record.played.actions.extend(actions);
        record.played.obs.extend(next);
        record.played.note(&step, last_obs);

        let mut rng = generator(&ours.state().unwrap());
        let end = (step_number + 1) * NUM_ENVS as u64;
        let held = end.saturating_sub(CAPACITY)..end;
        if held.end >= STARTS {
            let numbers = (0..BATCH).map(|_| rng.random_range(held.clone()) as i64);
            record.numbers.extend(numbers);
            let normal = StandardNormal.sample_iter(&mut rng);
            let count = if algorithm == Algorithm::Td3 {
                BATCH * DIMS
            } else {
                0
            };
            record
                .noise
                .extend::<Vec<f64>>(normal.take(count).collect());
        }
        ours.learn(&mut || false).unwrap();
        assert_eq!(
            generator(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
    }
    if algorithm == Algorithm::Ddpg {
        record.noise.resize(record.numbers.len() * DIMS, 0.0);
    }
    record.save(&start, &folder.join("record.safetensors"));
    let table = serde_json::to_string(&settings.table()).unwrap();
    std::fs::write(folder.join("settings.json"), table).unwrap();
    [start, ours.state().unwrap()]
}

#[test]
fn gradient_steps_of_ddpg_and_td3() {
    const SEEDS: u64 = 4;
    // As in `tests/updates.rs`.
    const CLEAR: f64 = 5e-7;
    let cases = [
        (Algorithm::Ddpg, "policy_frequency = 1"),
        (Algorithm::Ddpg, ""),
        (Algorithm::Td3, ""),
        (
            Algorithm::Td3,
            "policy_frequency = 3\npolicy_noise = 0.6\nnoise_clip = 0.4",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut played = Vec::new();
    for (number, (algorithm, changes)) in cases.into_iter().enumerate() {
        for seed in 0..SEEDS {
            let settings = settings(algorithm, changes, seed);
            let own: PathBuf = folder.path().join(format!("{number}-{seed}"));
            std::fs::create_dir(&own).unwrap();
            let states = play(algorithm, &settings, &own);
            played.push((own, states));
        }
    }
    let folders: Vec<&PathBuf> = played.iter().map(|(folder, _)| folder).collect();
    python("ddpg_updates.py", &folders);
    for (case, played) in cases.iter().zip(played.chunks(SEEDS as usize)) {
        let mut num_clear = 0;
        for (folder, [start, end]) in played {
            let theirs = read(&folder.join("after.safetensors"));
            if theirs["clearance"].double_value(&[]) < CLEAR {
                continue;
            }
            num_clear += 1;
            let num_compared = compare_weights([start, end], &theirs, case);
            let num_critics = if case.0 == Algorithm::Td3 { 2 } else { 1 };
            assert_eq!(num_compared, 2 * 6 * (1 + num_critics));
        }
        assert!(num_clear > 0, "{case:?}: kinks are near with all seeds");
    }
}

/// Rounding to 8 bits differs with the order of sums: the first steps go the same way all the same.
#[test]
fn values_in_bf16_are_near_those_in_fp32() {
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces()).unwrap();
    let obs = Tensor::randn([64, WIDTH as i64], (Kind::Float, Device::Cpu));
    let act = |precision: &str| {
        let settings = settings(Algorithm::Td3, precision, 1);
        let ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
        let mut memory = ours.policy().new_memory(64);
        let mut rng = rust_trainer::random::seeded_rng(1);
        match ours.policy().act(&obs, &mut memory, &mut rng, true) {
            ActionBatch::Continuous(actions) => Tensor::from_slice(&actions),
            ActionBatch::Discrete(_) => unreachable!("the space is a box"),
        }
    };
    let difference = largest(&(act("precision = 'bf16'") - act("")));
    assert!(difference > 0.0 && difference < 0.05, "{difference}");
}

#[test]
fn what_ddpg_cannot_learn_with_is_refused_in_a_line() {
    let learn = |obs: ObsSpec, actions: ActionSpace| {
        let spaces = Spaces { obs, actions };
        let env = SyncVecEnv::new(NUM_ENVS, |_| spaces.clone()).unwrap();
        let refused = algorithms::new(&settings(Algorithm::Ddpg, "", 1), &env, Device::Cpu);
        refused.err().unwrap().to_string()
    };
    let Spaces { obs, actions } = spaces();
    let discrete = learn(obs.clone(), ActionSpace::Discrete { n: 3 });
    assert!(discrete.contains("Discrete(3) is none"), "{discrete}");
    let unbounded = ActionSpace::Box {
        shape: vec![1],
        low: vec![0.0],
        high: vec![f32::INFINITY],
    };
    let unbounded = learn(obs, unbounded);
    assert!(unbounded.contains("has infinite ones"), "{unbounded}");
    let images = ObsSpec {
        shape: vec![4, 84, 84],
        dtype: Dtype::Uint8,
    };
    let images = learn(images, actions);
    assert!(images.contains("these are images"), "{images}");
}

/// Compares all networks of a state and their targets with PyTorch's: equal, and each has moved since the start. How
/// many tensors these are.
pub fn compare_weights(
    [start, end]: [&State; 2],
    theirs: &HashMap<String, Tensor>,
    case: &dyn Debug,
) -> usize {
    let mut num_compared = 0;
    for (name, ours) in &end.tensors {
        let is_target = name.strip_prefix("target.").is_some_and(is_weight);
        if !is_weight(name) && !is_target {
            continue;
        }
        num_compared += 1;
        let difference = largest(&(ours - &theirs[name]));
        assert!(
            difference < 1e-5,
            "{case:?}: `{name}` differs by {difference:e}"
        );
        let before = start.tensors.iter().find(|(of, _)| of == name).unwrap();
        let moved = largest(&(ours - &before.1));
        assert!(moved > 2e-5, "{case:?}: `{name}` moved by {moved:e}");
    }
    num_compared
}
