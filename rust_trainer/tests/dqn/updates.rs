//! Gradient steps of DQN against `dqn_updates.py`, which has them again in PyTorch: what is replayed, n-step
//! returns, actions by epsilon and by noise, truncated episodes, priorities and importance weights, double Q-learning, streams, noise,
//! distributions, clipping, optimizer, target network.

use std::path::{Path, PathBuf};

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rust_trainer::{
    algorithms::{self, State},
    settings::{Algorithm, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec, SyncVecEnv, env::Random};

use super::record::{Drawn, Record};
use super::support::{Spaces, generator, images, is_weight, largest, made_up_step, python};

pub const NUM_ENVS: usize = 3;
pub const NUM_ACTIONS: i64 = 4;
pub const BATCH: usize = 6;

/// Implicit quantiles, as many as suffice.
const IQN: &str = "distributional = 'iqn'\nnum_tau_samples = 5\nnum_tau_prime_samples = 7\n\
                   num_quantile_samples = 4\nquantile_embedding_dim = 6";

/// All there is beside implicit quantiles.
const RAINBOW: &str = "double_q = true\ndueling = true\nn_step = 3\nprioritized = true\nnoisy = true\n\
                       distributional = 'c51'\nv_min = -4\nv_max = 4\nnum_atoms = 11";

/// What differs at the end.
struct Compared {
    /// Of all weights, and how far ours moved.
    weights: Tensor,
    moved: Tensor,
    target: Tensor,
    priorities: Tensor,
    /// How near to a kink any gradient of theirs was taken.
    clearance: f64,
}

/// A run of ours: its state at the start and at the end.
struct Played {
    start: State,
    after: State,
}

/// What both do: so many steps, with a gradient step each once there are enough, with changes to the settings.
#[derive(Clone, Debug)]
struct Case {
    steps: usize,
    changes: String,
    seed: u64,
}

impl Case {
    fn is_noisy(&self) -> bool {
        self.changes.contains("noisy = true")
    }

    /// The smallest for the Nature CNN; of IMPALA's many more units fewer are near a kink.
    fn obs_shape(&self) -> [usize; 3] {
        let is_deep = self.changes.contains("impala");
        let side = if is_deep { 12 } else { 36 };
        [2, side, side]
    }

    fn settings(&self) -> Settings {
        let settings = format!(
            "num_envs = {NUM_ENVS}\ntotal_steps = {}\nreplay_capacity = 23\nlearning_starts = 12\n\
             train_frequency = {NUM_ENVS}\nbatch_size = {BATCH}\ntarget_update = 5\nmax_grad_norm = 0.5\n\
             learning_rate = 1e-3\nadam_eps = 1.5e-4\ngamma = 0.9\ninit = 'uniform'\nseed = {}\n{}\n{}",
            NUM_ENVS * self.steps * 2,
            self.seed,
            self.changes,
            if self.is_noisy() {
                ""
            } else {
                "end_e = 0.25\nexploration_fraction = 0.5"
            }
        );
        let defaults = Settings::defaults(Algorithm::Dqn);
        defaults.with(&toml::from_str(&settings).unwrap()).unwrap()
    }
}

/// Does so, and records in `folder` what happened. Weights are drawn uniformly: orthogonal ones are LAPACK's,
/// whose last bits are the processor's.
fn play(case: &Case, folder: &Path) -> Played {
    let (steps, seed, obs_shape) = (case.steps, case.seed, case.obs_shape());
    let settings = case.settings();
    let table = settings.table();
    let is_prioritized = table["prioritized"].as_bool().unwrap();
    let n_step = table["n_step"].as_integer().unwrap() as u64;
    let spaces = Spaces {
        obs: ObsSpec {
            shape: obs_shape.to_vec(),
            dtype: Dtype::Uint8,
        },
        actions: ActionSpace::Discrete { n: NUM_ACTIONS },
    };
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces.clone()).unwrap();
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let of_use = Drawn::of_use(&table, &start);

    let mut random = Random::new(seed);
    let mut record = Record::default();
    let mut next_obs = |record: &mut Record, ours: &mut dyn algorithms::Algorithm| {
        let obs = images(&mut random, NUM_ENVS, obs_shape);
        ours.next_obs().copy_from_slice(&obs);
        record.obs.extend(obs);
    };
    let mut dice = Random::new(seed + 1);
    next_obs(&mut record, &mut *ours);
    for steps_over in 1..=steps as u64 {
        let mut rng = generator(&ours.state().unwrap());
        let done = (steps_over - 1) as f64 / steps as f64;
        let epsilon = if case.is_noisy() {
            0.0
        } else {
            1.0 - 0.75 * done
        };
        record.foretell_actions(&of_use, epsilon, &mut rng);
        let actions = ours.act().unwrap();
        assert_eq!(
            generator(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
        next_obs(&mut record, &mut *ours);
        let last_obs = images(&mut dice, NUM_ENVS, obs_shape);
        let step = made_up_step(&mut dice, NUM_ENVS, (3, -1.0), [6, 5], &last_obs);
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
            let fractions = BATCH * of_use.fractions.iter().sum::<usize>();
            record
                .fractions
                .extend((0..fractions).map(|_| rng.random::<f32>()));
            let noise = StandardNormal.sample_iter(&mut rng);
            record
                .noise
                .extend::<Vec<f32>>(noise.take(2 * of_use.noise).collect());
        }
        ours.learn(&mut || false).unwrap();
        assert_eq!(
            generator(&ours.state().unwrap()),
            rng,
            "nothing else is drawn"
        );
    }
    assert!(record.truncated.contains(&true) && record.terminated.contains(&true));

    record.save(obs_shape, &start, &folder.join("record.safetensors"));
    std::fs::write(
        folder.join("settings.json"),
        serde_json::to_string(&table).unwrap(),
    )
    .unwrap();
    let after = ours.state().unwrap();
    Played { start, after }
}

/// Lets both do these, one after another.
fn compare(cases: &[Case]) -> Vec<Compared> {
    let folder = tempfile::tempdir().unwrap();
    let folders: Vec<PathBuf> = (0..cases.len())
        .map(|index| folder.path().join(index.to_string()))
        .collect();
    let played = cases.iter().zip(&folders).map(|(case, folder)| {
        std::fs::create_dir(folder).unwrap();
        play(case, folder)
    });
    let played: Vec<Played> = played.collect();
    python("dqn_updates.py", &folders);
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
        clearance: find(&theirs, "clearance").unwrap().double_value(&[]),
        moved: &weights - flat(&start.tensors, ""),
        weights: weights - flat(&theirs, ""),
        target: flat(&after.tensors, "target.") - flat(&theirs, "target."),
        priorities: priorities
            .map_or_else(none, |ours| ours - find(&theirs, "priorities").unwrap()),
    }
}

#[test]
fn gradient_steps_in_fp32() {
    const SEEDS: usize = 4;
    // As in `tests/updates.rs`.
    const CLEAR: f64 = 5e-7;
    let options = [
        "",
        "huber = false",
        "double_q = true",
        "dueling = true",
        "n_step = 3",
        "prioritized = true",
        "noisy = true",
        "distributional = 'c51'\nv_min = -3\nv_max = 2\nnum_atoms = 9",
        "distributional = 'quantile'\nnum_quantiles = 7",
        RAINBOW,
        IQN,
        // Each quantile has its own hidden units: with two of them kinks are seldom near.
        "distributional = 'iqn'\nnum_tau_samples = 2\nnum_tau_prime_samples = 3\nnum_quantile_samples = 2\n\
         quantile_embedding_dim = 4\ndouble_q = true\ndueling = true\nnoisy = true\nprioritized = true\nn_step = 3",
    ];
    let implicit = format!("n_step = 3\n{IQN}");
    let deep = [&implicit, RAINBOW];
    let deep = deep.map(|heads| (7, format!("net = 'impala'\nimpala_width = 24\n{heads}")));
    let options = options.map(|changes| (19, changes.to_owned()));
    let options = options.into_iter().chain(deep);
    // Never as many gradient steps as make the target network a copy of the other.
    let cases = options.flat_map(|(steps, changes)| {
        (0..SEEDS as u64).map(move |seed| Case {
            steps,
            changes: changes.clone(),
            seed,
        })
    });
    let cases: Vec<Case> = cases.collect();
    let compared = compare(&cases);
    for (cases, compared) in cases.chunks(SEEDS).zip(compared.chunks(SEEDS)) {
        let clear: Vec<_> = cases
            .iter()
            .zip(compared)
            .filter(|(_, compared)| compared.clearance > CLEAR)
            .collect();
        assert!(
            !clear.is_empty(),
            "{:?}: kinks are near with all seeds",
            cases[0]
        );
        for (case, compared) in clear {
            let (difference, moved) = (largest(&compared.weights), largest(&compared.moved));
            assert!(
                difference < 1e-5,
                "{case:?}: a weight differs by {difference:e}"
            );
            assert!(moved > 1e-3, "{case:?}: weights moved by {moved:e}");
            let difference = largest(&compared.target);
            assert!(
                difference < 1e-5,
                "{case:?}: a target weight differs by {difference:e}"
            );
            let difference = largest(&compared.priorities);
            assert!(
                difference < 1e-4,
                "{case:?}: a priority differs by {difference:e}"
            );
        }
    }
}

/// Rounding to 8 bits differs with the order of sums: the first step goes the same way all the same.
#[test]
fn a_gradient_step_in_bf16() {
    let quantile = "distributional = 'quantile'\nnum_quantiles = 7";
    let cases = [(4, ""), (4, quantile), (4, IQN), (6, RAINBOW)].map(|(steps, changes)| Case {
        steps,
        changes: format!("precision = 'bf16'\n{changes}"),
        seed: 5,
    });
    for (case, compared) in cases.iter().zip(compare(&cases)) {
        let length = |tensor: &Tensor| tensor.square().sum(Kind::Double).sqrt().double_value(&[]);
        let share = length(&compared.weights) / length(&compared.moved);
        assert!(
            share < 0.1,
            "{case:?}: the move differs by {share} of its length"
        );
    }
}
