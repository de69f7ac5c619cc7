//! Gradient steps of DQN against `updates.py`, which has them again in PyTorch: what is replayed, n-step
//! returns, actions by epsilon and by noise, truncated episodes, priorities and importance weights, double Q-learning, streams, noise,
//! distributions, clipping, optimizer, target network.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rust_trainer::{
    algorithms::{self, State},
    device,
    settings::{Algorithm, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{
    ActionBatch, ActionSpace, Actions, Dtype, Env, ObsSpec, StepBatch, SyncVecEnv, Transition,
    env::Random,
};

const NUM_ENVS: usize = 3;
const OBS_SHAPE: [usize; 3] = [2, 36, 36];
const OBS_BYTES: usize = OBS_SHAPE[0] * OBS_SHAPE[1] * OBS_SHAPE[2];
const NUM_ACTIONS: i64 = 4;
const BATCH: usize = 6;

/// All there is.
const RAINBOW: &str = "double_q = true\ndueling = true\nn_step = 3\nprioritized = true\nnoisy = true\n\
                       distributional = 'c51'\nv_min = -4\nv_max = 4\nnum_atoms = 11";

/// Says what observations and actions are like; the test plays the environment's part itself.
struct Spaces;

impl Env for Spaces {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: OBS_SHAPE.to_vec(),
            dtype: Dtype::Uint8,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: NUM_ACTIONS }
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) {}

    fn step(&mut self, _action: Actions<'_>, _obs: &mut [u8]) -> Transition {
        Transition::default()
    }
}

/// Images of all environments, of squares with a brightness each.
fn images(random: &mut Random) -> Vec<u8> {
    const SQUARE: usize = 6;
    let [channels, height, width] = OBS_SHAPE;
    let mut bytes = Vec::new();
    for _ in 0..NUM_ENVS * channels * height / SQUARE {
        let squares = (0..width / SQUARE).map(|_| random.below(256) as u8);
        let row: Vec<u8> = squares.flat_map(|square| [square; SQUARE]).collect();
        bytes.extend(row.repeat(SQUARE));
    }
    bytes
}

/// Everything that happened, step by step, and what was drawn for each gradient step.
#[derive(Default)]
struct Record {
    obs: Vec<u8>,
    actions: Vec<i64>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    last_obs: Vec<u8>,
    drawn: Vec<f64>,
    noise: Vec<f32>,
    /// The random action of each environment, or -1 for the best.
    random_actions: Vec<i64>,
    act_noise: Vec<f32>,
}

impl Record {
    /// What the choice of actions draws: noise for the network, then an action where epsilon says so.
    fn foretell_actions(&mut self, noise_numbers: usize, epsilon: f64, rng: &mut Pcg64) {
        let noise = StandardNormal.sample_iter(&mut *rng).take(noise_numbers);
        self.act_noise.extend::<Vec<f32>>(noise.collect());
        for _ in 0..NUM_ENVS {
            let is_random = epsilon > 0.0 && rng.random::<f64>() < epsilon;
            let random = is_random.then(|| rng.random_range(0..NUM_ACTIONS as usize) as i64);
            self.random_actions.push(random.unwrap_or(-1));
        }
    }

    fn save(&self, start: &State, path: &Path) {
        let envs = NUM_ENVS as i64;
        let steps = self.actions.len() as i64 / envs;
        let [channels, height, width] = OBS_SHAPE.map(|length| length as i64);
        let pictures =
            |bytes: &[u8]| Tensor::from_slice(bytes).view([-1, envs, channels, height, width]);
        let rows = |tensor: Tensor| tensor.view([-1, envs]);
        let drawn = Tensor::from_slice(&self.drawn).view([-1, BATCH as i64]);
        let noise = Tensor::from_slice(&self.noise);
        let noise = noise.reshape([
            drawn.size()[0],
            2,
            self.noise.len() as i64 / drawn.size()[0] / 2,
        ]);
        let mut tensors = vec![
            ("obs".to_owned(), pictures(&self.obs)),
            (
                "actions".to_owned(),
                rows(Tensor::from_slice(&self.actions)),
            ),
            (
                "rewards".to_owned(),
                rows(Tensor::from_slice(&self.rewards)),
            ),
            (
                "terminated".to_owned(),
                rows(Tensor::from_slice(&self.terminated)),
            ),
            (
                "truncated".to_owned(),
                rows(Tensor::from_slice(&self.truncated)),
            ),
            ("last_obs".to_owned(), pictures(&self.last_obs)),
            (
                "random_actions".to_owned(),
                rows(Tensor::from_slice(&self.random_actions)),
            ),
            (
                "act_noise".to_owned(),
                Tensor::from_slice(&self.act_noise)
                    .reshape([steps, self.act_noise.len() as i64 / steps]),
            ),
            ("drawn".to_owned(), drawn),
            ("noise".to_owned(), noise),
        ];
        for (name, tensor) in start.tensors.iter().filter(|(name, _)| is_weight(name)) {
            tensors.push((format!("start.{name}"), tensor.shallow_clone()));
        }
        Tensor::write_safetensors(&tensors, path).unwrap();
    }
}

/// Whether a tensor of a state is the network's and not the optimizer's or the target network's.
fn is_weight(name: &str) -> bool {
    let parts = ["weight", "bias", "weight_sigma", "bias_sigma"];
    let is_part = |part| parts.contains(&part);
    !name.starts_with("target.") && name.rsplit_once('.').is_some_and(|(_, part)| is_part(part))
}

/// How much noise one use of the network takes.
fn noise_numbers(start: &State) -> usize {
    let sigmas = start.tensors.iter();
    let sigmas =
        sigmas.filter(|(name, _)| !name.starts_with("target.") && name.ends_with("weight_sigma"));
    sigmas
        .map(|(_, sigma)| sigma.size().iter().sum::<i64>() as usize)
        .sum()
}

/// What differs at the end.
struct Compared {
    /// Of all weights, and how far ours moved.
    weights: Tensor,
    moved: Tensor,
    target: Tensor,
    priorities: Tensor,
}

/// A run of ours: its state at the start and at the end.
struct Played {
    start: State,
    after: State,
}

/// Does `steps` steps with a gradient step each once there are enough, with `changes` to the settings, and
/// records in `folder` what happened.
fn play(steps: usize, changes: &str, folder: &Path) -> Played {
    let _ = device::set_torch_threads(1);
    let is_noisy = changes.contains("noisy = true");
    let settings = format!(
        "num_envs = {NUM_ENVS}\ntotal_steps = {}\nreplay_capacity = 23\nlearning_starts = 12\n\
         train_frequency = {NUM_ENVS}\nbatch_size = {BATCH}\ntarget_update = 5\nmax_grad_norm = 0.5\n\
         learning_rate = 1e-3\nadam_eps = 1.5e-4\ngamma = 0.9\n{changes}\n",
        NUM_ENVS * steps * 2
    );
    let settings = if is_noisy {
        settings
    } else {
        settings + "end_e = 0.25\nexploration_fraction = 0.5"
    };
    let defaults = Settings::defaults(Algorithm::Dqn);
    let settings = defaults.with(&toml::from_str(&settings).unwrap()).unwrap();
    let table = settings.table();
    let is_prioritized = table["prioritized"].as_bool().unwrap();
    let n_step = table["n_step"].as_integer().unwrap() as u64;
    let env = SyncVecEnv::new(NUM_ENVS, |_| Spaces).unwrap();
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let generator = |state: &State| -> Pcg64 {
        serde_json::from_str(state.values["rng"].as_str().unwrap()).unwrap()
    };

    let mut random = Random::new(5);
    let mut record = Record::default();
    let mut next_obs = |record: &mut Record, ours: &mut dyn algorithms::Algorithm| {
        let obs = images(&mut random);
        ours.next_obs().copy_from_slice(&obs);
        record.obs.extend(obs);
    };
    let mut dice = Random::new(6);
    next_obs(&mut record, &mut *ours);
    for steps_over in 1..=steps as u64 {
        // The generator is part of the state, so what is drawn is known beforehand.
        let mut rng = generator(&ours.state().unwrap());
        let done = (steps_over - 1) as f64 / steps as f64;
        let epsilon = if is_noisy { 0.0 } else { 1.0 - 0.75 * done };
        record.foretell_actions(noise_numbers(&start), epsilon, &mut rng);
        let actions = ours.act().unwrap();
        assert_eq!(
            generator(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
        next_obs(&mut record, &mut *ours);
        let mut step = StepBatch::default();
        step.clear(NUM_ENVS, 1);
        let last_obs = images(&mut dice);
        for env in 0..NUM_ENVS {
            step.reward[env] = dice.below(3) as f32 - 1.0;
            step.terminated[env] = dice.below(6) == 0;
            step.truncated[env] = dice.below(5) == 0;
            if step.is_done(env) {
                let last = last_obs[env * OBS_BYTES..][..OBS_BYTES].to_vec();
                step.final_obs.push((env, last));
            }
        }
        ours.observe(&step).unwrap();
        let ActionBatch::Discrete(actions) = actions else {
            unreachable!("the actions are discrete")
        };
        record.actions.extend(actions);
        record.rewards.extend(&step.reward);
        record.terminated.extend(&step.terminated);
        record.truncated.extend(&step.truncated);
        record.last_obs.extend(last_obs);

        let mut rng = generator(&ours.state().unwrap());
        let end = (steps_over + 1).saturating_sub(n_step) * NUM_ENVS as u64;
        let held = end.saturating_sub(24)..end;
        if held.end - held.start >= 12 {
            for _ in 0..BATCH {
                record.drawn.push(if is_prioritized {
                    rng.random()
                } else {
                    rng.random_range(held.clone()) as f64
                });
            }
            let noise = StandardNormal.sample_iter(&mut rng);
            record
                .noise
                .extend::<Vec<f32>>(noise.take(2 * noise_numbers(&start)).collect());
        }
        ours.learn(&mut || false).unwrap();
        assert_eq!(
            generator(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
    }
    assert!(record.truncated.contains(&true) && record.terminated.contains(&true));

    record.save(&start, &folder.join("record.safetensors"));
    std::fs::write(
        folder.join("settings.json"),
        serde_json::to_string(&table).unwrap(),
    )
    .unwrap();
    let after = ours.state().unwrap();
    Played { start, after }
}

/// Lets both do so many steps with these changes to the settings, one after another.
fn compare(runs: &[(usize, &str)]) -> Vec<Compared> {
    let folder = tempfile::tempdir().unwrap();
    let folders: Vec<PathBuf> = (0..runs.len())
        .map(|index| folder.path().join(index.to_string()))
        .collect();
    let played = runs.iter().zip(&folders).map(|((steps, changes), folder)| {
        std::fs::create_dir(folder).unwrap();
        play(*steps, changes, folder)
    });
    let played: Vec<Played> = played.collect();
    let python = std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test");
    let status = Command::new(python + "/bin/python")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dqn/updates.py"))
        .args(&folders)
        .status()
        .unwrap();
    assert!(status.success());
    let compared = played.iter().zip(&folders);
    compared
        .map(|(played, folder)| difference(played, folder))
        .collect()
}

fn difference(Played { start, after }: &Played, folder: &Path) -> Compared {
    let theirs = Tensor::read_safetensors(folder.join("after.safetensors")).unwrap();
    let find = |of: &[(String, Tensor)], name: &str| {
        let found = of.iter().find(|(found, _)| found == name);
        found.map(|(_, tensor)| tensor.reshape(-1))
    };
    let flat = |of: &[(String, Tensor)], prefix: &str| {
        let names = start.tensors.iter().map(|(name, _)| name);
        let names = names.filter(|name| is_weight(name));
        let parts = names.map(|name| find(of, &format!("{prefix}{name}")).unwrap());
        Tensor::cat(&parts.collect::<Vec<Tensor>>(), 0)
    };
    let weights = flat(&after.tensors, "");
    let priorities = find(&after.replay, "replay.priorities");
    let none = || Tensor::zeros([1], (Kind::Double, Device::Cpu));
    Compared {
        moved: &weights - flat(&start.tensors, ""),
        weights: weights - flat(&theirs, ""),
        target: flat(&after.tensors, "target.") - flat(&theirs, "target."),
        priorities: priorities
            .map_or_else(none, |ours| ours - find(&theirs, "priorities").unwrap()),
    }
}

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

#[test]
fn gradient_steps_in_fp32() {
    let options = [
        "",
        "double_q = true",
        "dueling = true",
        "n_step = 3",
        "prioritized = true",
        "noisy = true",
        "distributional = 'c51'\nv_min = -3\nv_max = 2\nnum_atoms = 9",
        "distributional = 'quantile'\nnum_quantiles = 7",
        RAINBOW,
    ];
    // Never as many gradient steps as make the target network a copy of the other.
    let runs = options.map(|changes| (19, changes));
    for (changes, compared) in options.iter().zip(compare(&runs)) {
        let (difference, moved) = (largest(&compared.weights), largest(&compared.moved));
        assert!(
            difference < 1e-5,
            "{changes}: a weight differs by {difference:e}"
        );
        assert!(moved > 1e-3, "{changes}: weights moved by {moved:e}");
        let difference = largest(&compared.target);
        assert!(
            difference < 1e-5,
            "{changes}: a target weight differs by {difference:e}"
        );
        let difference = largest(&compared.priorities);
        assert!(
            difference < 1e-4,
            "{changes}: a priority differs by {difference:e}"
        );
    }
}

/// Rounding to 8 bits differs with the order of sums: the first step goes the same way all the same.
#[test]
fn a_gradient_step_in_bf16() {
    let rainbow = format!("precision = 'bf16'\n{RAINBOW}");
    let runs = [(4, "precision = 'bf16'"), (6, rainbow.as_str())];
    for ((_, changes), compared) in runs.iter().zip(compare(&runs)) {
        let length = |tensor: &Tensor| tensor.square().sum(Kind::Double).sqrt().double_value(&[]);
        let share = length(&compared.weights) / length(&compared.moved);
        assert!(
            share < 0.1,
            "{changes}: the move differs by {share} of its length"
        );
    }
}
