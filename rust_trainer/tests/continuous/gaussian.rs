//! Updates with continuous actions and with normalization against PyTorch (`continuous.py`).

use std::{fmt::Write, path::Path};

use rand::seq::SliceRandom;
use rust_trainer::{
    algorithms::{self, Learning, State},
    policy::Policy,
    random::seeded_rng,
    settings::{Algorithm, AlgorithmSettings, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{
    ActionBatch, ActionSpace, Dtype, ObsSpec, StepBatch, SyncVecEnv, VecEnv, env::Random,
};

use super::{
    agents,
    support::{
        Spaces, generator, is_weight, largest, made_up_step, python, read, to_bytes, weights,
        weights_of,
    },
};

const NUM_ENVS: usize = 3;
const NUM_STEPS: usize = 7;
const NUM_SAMPLES: usize = NUM_ENVS * NUM_STEPS;
const NUM_UPDATES: usize = 4;
const WIDTH: usize = 5;
const DIMS: usize = 2;

/// Actions within `bound`.
fn spaces(bound: f32) -> Spaces {
    Spaces {
        obs: ObsSpec {
            shape: vec![WIDTH],
            dtype: Dtype::Float32,
        },
        actions: ActionSpace::Box {
            shape: vec![DIMS],
            low: vec![-bound; DIMS],
            high: vec![bound; DIMS],
        },
    }
}

/// Whether each agent has a network of its own, and rows show which agent they are of.
fn is_of_each(settings: &Settings) -> bool {
    matches!(&settings.algorithm, AlgorithmSettings::Ppo(ppo) if !ppo.share_weights)
}

fn settings(algorithm: Algorithm, changes: &str) -> Settings {
    let settings = Settings::defaults(algorithm);
    settings.with(&toml::from_str(changes).unwrap()).unwrap()
}

/// Everything that happened, step by step, and what was drawn.
#[derive(Default)]
struct Record {
    obs: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    last_obs: Vec<f32>,
    orders: Vec<i64>,
}

impl Record {
    fn save(&self, start: &State, path: &Path) {
        let (steps, envs) = (NUM_STEPS as i64, NUM_ENVS as i64);
        let width = (self.last_obs.len() / self.rewards.len()) as i64;
        let flags = |flags: &[bool]| Tensor::from_slice(flags).view([-1, steps, envs]);
        let rows = |numbers: &[f32]| Tensor::from_slice(numbers).view([-1, envs, width]);
        let updates = (self.rewards.len() / NUM_SAMPLES) as i64;
        let actions = Tensor::from_slice(&self.actions).view([updates, steps, envs, DIMS as i64]);
        let orders = Tensor::from_slice(&self.orders).view([updates, -1, NUM_SAMPLES as i64]);
        let rewards = Tensor::from_slice(&self.rewards).view([updates, steps, envs]);
        let mut tensors = vec![
            ("obs", rows(&self.obs)),
            ("actions", actions),
            ("rewards", rewards),
            ("terminated", flags(&self.terminated)),
            ("truncated", flags(&self.truncated)),
            ("last_obs", rows(&self.last_obs)),
            ("orders", orders),
        ];
        let weights = start.tensors.iter().filter(|(name, _)| is_weight(name));
        tensors.extend(weights.map(|(name, tensor)| (name.as_str(), tensor.shallow_clone())));
        Tensor::write_safetensors(&tensors, path).unwrap();
    }
}

/// Several updates on made-up steps of environments with actions within `bound`; the states before and
/// after, and what happened.
fn learn(settings: &Settings, bound: f32, num_updates: usize) -> ([State; 2], Record) {
    let shuffles = if let AlgorithmSettings::Ppo(ppo) = &settings.algorithm {
        ppo.update_epochs
    } else {
        0
    };
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces(bound)).unwrap();
    learn_in(settings, &env, shuffles, num_updates)
}

/// Has all rows end as the first one does: agents who end before the others are absent then.
fn end_together(step: &mut StepBatch, last_obs: &[u8]) {
    let (terminated, truncated) = (step.terminated[0], step.truncated[0]);
    step.terminated.fill(terminated);
    step.truncated.fill(truncated);
    let rows = last_obs.chunks_exact(last_obs.len() / NUM_ENVS).enumerate();
    let ended = rows.filter(|_| terminated || truncated);
    step.final_obs = ended.map(|(row, obs)| (row, obs.to_vec())).collect();
}

/// The same with what `env` shows and takes.
fn learn_in(
    settings: &Settings,
    env: &dyn VecEnv,
    shuffles: usize,
    num_updates: usize,
) -> ([State; 2], Record) {
    let width = env.obs_spec().shape[0];
    let ActionSpace::Box { high, .. } = env.action_space() else {
        unreachable!("the space is a box")
    };
    let bound = high[0];
    let shows_agent = is_of_each(settings);
    let mut ours = algorithms::new(settings, env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let mut random = Random::new(5);
    let mut observations = || -> Vec<f32> {
        let numbers = (0..NUM_ENVS * width).map(|place| {
            let (row, column) = (place / width, place % width);
            let size = [1.0, 0.1, 3.0, 1.0, 0.5][column % 5];
            let number = (size * random.uniform(-1.0, 3.0)) as f32;
            match column.checked_sub(width - NUM_ENVS) {
                Some(agent) if shows_agent => f32::from(u8::from(agent == row)),
                _ => number,
            }
        });
        numbers.collect()
    };
    let mut dice = Random::new(6);
    let mut record = Record::default();
    record.obs.extend(observations());
    ours.next_obs().copy_from_slice(&to_bytes(&record.obs));
    for _ in 0..num_updates {
        for _ in 0..NUM_STEPS {
            let ActionBatch::Continuous(actions) = ours.act().unwrap() else {
                unreachable!("the space is a box")
            };
            assert!(actions.iter().all(|value| value.abs() <= bound));
            let next = observations();
            ours.next_obs().copy_from_slice(&to_bytes(&next));
            let last_obs = observations();
            let bytes = to_bytes(&last_obs);
            let mut step = made_up_step(&mut dice, NUM_ENVS, (30, -10.0), [5, 4], &bytes);
            if env.spec().num_agents > 1 {
                end_together(&mut step, &bytes);
            }
            ours.observe(&step).unwrap();
            record.actions.extend(actions);
            record.obs.extend(next);
            record.rewards.extend(&step.reward);
            record.terminated.extend(&step.terminated);
            record.truncated.extend(&step.truncated);
            record.last_obs.extend(last_obs);
        }
        let mut rng = generator(&ours.state().unwrap());
        let mut order: Vec<i64> = (0..NUM_SAMPLES as i64).collect();
        for _ in 0..shuffles {
            order.shuffle(&mut rng);
            record.orders.extend(&order);
        }
        let learned = ours.learn(&mut || false).unwrap();
        assert!(matches!(learned, Learning::Done(_)), "it is time");
    }
    assert!(record.truncated.contains(&true) && record.terminated.contains(&true));
    ([start, ours.state().unwrap()], record)
}

fn changes() -> String {
    format!(
        "num_envs = {NUM_ENVS}\nnum_steps = {NUM_STEPS}\ntotal_steps = {}\ntorch_threads = 1\n",
        NUM_SAMPLES * (NUM_UPDATES + 1)
    )
}

/// Lets both do so many updates in each case; for each our states before and after, and their weights.
fn compare(cases: &[(Algorithm, String)], num_updates: usize) -> Vec<([State; 2], Tensor)> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: String| folder.path().join(name + ".safetensors");
    let (mut arguments, mut states) = (vec![folder.path().as_os_str().to_owned()], Vec::new());
    for (number, (algorithm, own)) in cases.iter().enumerate() {
        let settings = settings(*algorithm, &(changes() + own));
        // Without bounds, what is sent is what was drawn.
        let (ours, record) = if own.contains("num_agents") {
            let env = agents::rows(&settings, &spaces(f32::INFINITY));
            learn_in(&settings, &env, 3, num_updates)
        } else {
            learn(&settings, f32::INFINITY, num_updates)
        };
        record.save(&ours[0], &file(number.to_string()));
        let table = serde_json::to_string(&settings.table()).unwrap();
        arguments.extend([number.to_string().into(), table.into()]);
        states.push(ours);
    }
    python("continuous.py", &arguments);
    let theirs = |number| weights(&read(&file(format!("{number}-after"))));
    let compared = states.into_iter().enumerate();
    compared
        .map(|(number, ours)| (ours, theirs(number)))
        .collect()
}

#[test]
fn whole_updates() {
    let ppo = "num_minibatches = 4\nupdate_epochs = 3\nlearning_rate = 3e-3\n";
    let a2c = "gae_lambda = 0.9\nlearning_rate = 0.1\n";
    let normalized = "norm_obs = true\nnorm_reward = true\n";
    let agents = "num_agents = 3\n";
    let cases = [
        (Algorithm::Ppo, ppo.to_owned()),
        (Algorithm::Ppo, ppo.to_owned() + normalized),
        (Algorithm::A2c, a2c.to_owned() + normalized),
        (Algorithm::Ppo, ppo.to_owned() + agents),
        (
            Algorithm::Ppo,
            ppo.to_owned() + agents + "central_critic = true\n" + normalized,
        ),
        (
            Algorithm::Ppo,
            ppo.to_owned() + agents + "central_critic = true\n" + "share_weights = false\n",
        ),
    ];
    let mut report = String::new();
    for (name, ([start, end], theirs)) in compare(&cases, NUM_UPDATES).iter().enumerate() {
        let (ours, before) = (weights_of(end), weights_of(start));
        let (difference, moved) = (largest(&(&ours - theirs)), largest(&(&ours - before)));
        writeln!(
            report,
            "{name}: differs by {difference:e}, moved by {moved:e}"
        )
        .unwrap();
        assert!(difference < 1e-5 && moved > 1e-2, "{report}");
        let log_std = |state: &State| {
            let found = state
                .tensors
                .iter()
                .find(|(name, _)| name.ends_with("policy.log_std"));
            found.unwrap().1.copy()
        };
        assert!(largest(&(log_std(end) - log_std(start))) > 1e-3, "{name}");
    }
}

/// One pass of PPO, as in `updates.rs`: rounding to 8 bits differs with the order of sums.
#[test]
fn a_whole_update_in_bf16() {
    let ppo = "precision = 'bf16'\nnum_minibatches = 4\nupdate_epochs = 1\nlearning_rate = 3e-3\n";
    let cases = [(Algorithm::Ppo, ppo.to_owned())];
    for ([start, end], theirs) in compare(&cases, 1) {
        let (ours, before) = (weights_of(&end), weights_of(&start));
        let length = |tensor: Tensor| tensor.square().sum(Kind::Double).sqrt().double_value(&[]);
        let share = length(&ours - theirs) / length(&ours - before);
        assert!(share < 0.1, "the move differs by {share} of its length");
    }
}

/// The environment's bounds change what is sent to it and nothing that is learned from what it gives.
#[test]
fn actions_are_sent_within_their_bounds_and_learned_from_as_they_were_drawn() {
    let settings = settings(Algorithm::Ppo, &changes());
    let [(free, drawn), (bound, sent)] = [f32::INFINITY, 0.5].map(|bound| {
        let ([_, end], record) = learn(&settings, bound, NUM_UPDATES);
        (weights_of(&end), record.actions)
    });
    assert_eq!(free, bound);
    let clipped: Vec<f32> = drawn.iter().map(|value| value.clamp(-0.5, 0.5)).collect();
    assert_eq!(sent, clipped);
    assert!(drawn.iter().any(|value| value.abs() > 0.5));
}

#[test]
fn whoever_plays_takes_the_statistics_as_they_are() {
    let settings = settings(Algorithm::Ppo, &(changes() + "norm_obs = true"));
    let bound = 1.0;
    let ([_, mut state], record) = learn(&settings, bound, NUM_UPDATES);
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces(bound)).unwrap();
    let obs = Tensor::from_slice(&record.obs).view([-1, WIDTH as i64]);
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    ours.load_state(&state).unwrap();
    let load = |state: &State| {
        let (spec, actions) = (env.obs_spec(), env.action_space());
        algorithms::load_policy(&settings, spec, actions, Device::Cpu, state)
    };
    let act = |policy: &dyn Policy| {
        let mut memory = policy.new_memory(NUM_ENVS);
        policy.act(&obs, &mut memory, &mut seeded_rng(1), false)
    };
    let learned = act(ours.policy());
    assert_eq!(act(ours.policy()), learned, "nothing changes by playing");
    assert_eq!(ours.state().unwrap().values, state.values);
    assert_eq!(act(&*load(&state).unwrap()), learned);

    let statistics = state.values.remove("norm_obs").unwrap();
    assert_ne!(act(&*load(&state).unwrap()), learned);
    let message = ours.load_state(&state).unwrap_err().to_string();
    assert!(message.contains("`norm_obs`"), "{message}");
    let mut foreign = statistics;
    foreign["mean"] = vec![0.0; WIDTH + 1].into();
    state.values.insert("norm_obs".to_owned(), foreign);
    for message in [ours.load_state(&state).err(), load(&state).err()] {
        let message = message.unwrap().to_string();
        assert!(message.contains("`norm_obs`: is of other"), "{message}");
    }
}
