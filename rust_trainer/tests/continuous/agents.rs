//! Several agents in an environment: what they learn, and what of those that are absent is left out. Their updates are
//! among those of `gaussian.rs`.

use rust_trainer::{
    algorithms::{self, Learning},
    settings::{Algorithm, AlgorithmSettings, Settings},
};
use tch::Device;
use vec_env::{
    ActionSpace, Actions, Agent, AgentRows, Dtype, MultiAgentEnv, ObsSpec, RowLayout, StepBatch,
    SyncVecEnv, Transition, VecEnv, env::Random, envs::CartPoles,
};

use super::support::{Spaces, to_bytes, weights_of};

const NUM_AGENTS: usize = 3;

/// Says what agents observe and do; the test plays the environment's part itself.
pub struct SpacesOfAgents(Vec<Agent>);

impl MultiAgentEnv for SpacesOfAgents {
    fn agents(&self) -> &[Agent] {
        &self.0
    }

    fn takes_part(&self) -> &[bool] {
        &[true; NUM_AGENTS]
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [Vec<u8>]) {}

    fn step(
        &mut self,
        _actions: &[Option<Actions<'_>>],
        _obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>> {
        Vec::new()
    }
}

/// An environment of three agents with these spaces each, and rows as `settings` ask for them.
pub fn rows(settings: &Settings, spaces: &Spaces) -> AgentRows<SpacesOfAgents> {
    let layout = match &settings.algorithm {
        AlgorithmSettings::Ppo(ppo) => RowLayout {
            others: ppo.central_critic,
            agent: !ppo.share_weights,
        },
        _ => RowLayout::default(),
    };
    let agent = |index| Agent {
        name: format!("agent_{index}"),
        obs_spec: spaces.obs.clone(),
        action_space: spaces.actions.clone(),
    };
    let agents = || SpacesOfAgents((0..NUM_AGENTS).map(agent).collect());
    AgentRows::new(1, layout, |_| agents()).unwrap()
}

fn spaces() -> Spaces {
    Spaces {
        obs: ObsSpec {
            shape: vec![4],
            dtype: Dtype::Float32,
        },
        actions: ActionSpace::Discrete { n: 3 },
    }
}

fn settings(changes: &str) -> Settings {
    let changes = format!(
        "num_envs = 1\nnum_agents = 3\nnum_steps = 8\ntotal_steps = 240\n\
         learning_rate = 1e-2\ntorch_threads = 1\n{changes}"
    );
    let settings = Settings::defaults(Algorithm::Ppo);
    settings.with(&toml::from_str(&changes).unwrap()).unwrap()
}

/// What is learned in three updates where the last agent is absent in every other step, and observes `ghost` then.
fn learned_beside(ghost: f32, num_minibatches: usize) -> tch::Tensor {
    let settings = settings(&format!("num_minibatches = {num_minibatches}"));
    let env = rows(&settings, &spaces());
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let (mut random, mut updates) = (Random::new(3), 0);
    let mut observe = |is_absent: bool| {
        let mut obs: Vec<f32> = (0..12).map(|_| random.uniform(-1.0, 1.0) as f32).collect();
        if is_absent {
            obs[8..].fill(ghost);
        }
        to_bytes(&obs)
    };
    let first = observe(false);
    ours.next_obs().copy_from_slice(&first);
    for step_number in 0..24 {
        ours.act().unwrap();
        // What is observed before a step in which nobody is there.
        let next = observe(step_number % 2 == 0);
        ours.next_obs().copy_from_slice(&next);
        let mut step = StepBatch::default();
        step.clear(NUM_AGENTS, 1);
        step.reward.copy_from_slice(&[1.0, -0.5, 0.25]);
        let is_absent = step_number % 2 == 1;
        step.terminated[2] = true;
        if is_absent {
            step.absent = vec![false, false, true];
        }
        ours.observe(&step).unwrap();
        let learned = ours.learn(&mut || false).unwrap();
        updates += usize::from(matches!(learned, Learning::Done(_)));
    }
    assert_eq!(updates, 3);
    weights_of(&ours.state().unwrap())
}

#[test]
fn what_an_absent_agent_observes_changes_nothing() {
    let [one, other] = [0.0, 5.0].map(|ghost| learned_beside(ghost, 3));
    assert_eq!(one, other);
}

/// Of 24 samples 20 are there: 12 minibatches of them would be too small to normalize advantages in.
#[test]
fn minibatches_are_fewer_where_samples_are() {
    let learned = learned_beside(0.0, 12);
    assert!(f64::try_from(learned.isfinite().all()).unwrap() > 0.0);
    assert_eq!(learned, learned_beside(0.0, 10));
}

#[test]
fn a_network_that_reads_normalized_observations_starts_no_run_without_them() {
    let new = |norm_obs: bool| {
        let settings = settings(&format!("norm_obs = {norm_obs}"));
        let env = rows(&settings, &spaces());
        algorithms::new(&settings, &env, Device::Cpu).unwrap()
    };
    for theirs in [false, true] {
        let state = new(theirs).network_state();
        assert!(new(theirs).start_from(&state).is_ok());
        let refused = new(!theirs).start_from(&state).unwrap_err().to_string();
        assert!(refused.contains("`norm_obs`"), "{refused}");
    }
}

/// Of rows of numbers, mean and variance beside a ten-thousandth of a row with mean 0 and variance 1.
fn moments(rows: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let weight = rows.len() as f64 + 1e-4;
    let of_place = |place: usize| {
        let column = || rows.iter().map(move |row| row[place]);
        let mean = column().sum::<f64>() / weight;
        let squares: f64 = column().map(|x| (x - mean).powi(2)).sum();
        (mean, (squares + 1e-4 * (1.0 + mean.powi(2))) / weight)
    };
    (0..rows[0].len()).map(of_place).unzip()
}

fn close(ours: &serde_json::Value, theirs: &[f64]) {
    let ours = ours.as_array().unwrap();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        let off = (ours.as_f64().unwrap() - theirs).abs();
        assert!(
            off < 1e-6 * theirs.abs().max(1.0),
            "{ours} and not {theirs}"
        );
    }
}

/// The last agent's episode takes two steps of four; then it shows `GHOST`, which no statistic has a word of.
#[test]
fn statistics_are_of_agents_who_are_there() {
    const GHOST: f32 = 700.0;
    let settings = settings("num_minibatches = 1\nnorm_obs = true\nnorm_reward = true");
    let gamma = 0.99;
    let env = rows(&settings, &spaces());
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let mut random = Random::new(5);
    let (mut seen, mut returns) = (Vec::new(), Vec::new());
    let mut observe = |is_there: bool, seen: &mut Vec<Vec<f64>>| {
        let mut obs: Vec<f32> = (0..12).map(|_| random.uniform(1.0, 3.0) as f32).collect();
        if !is_there {
            obs[8..].fill(GHOST);
        }
        let rows = obs.chunks(4).take(if is_there { 3 } else { 2 });
        seen.extend(rows.map(|row| row.iter().map(|x| f64::from(*x)).collect()));
        to_bytes(&obs)
    };
    let first = observe(true, &mut seen);
    ours.next_obs().copy_from_slice(&first);
    let mut sums = [0.0; NUM_AGENTS];
    for number in 0..8 {
        ours.act().unwrap();
        // Steps 2 and 3 of four go without the last agent, step 3 ends the episode.
        let place = number % 4;
        let next = observe(place == 0 || place == 3, &mut seen);
        ours.next_obs().copy_from_slice(&next);
        let mut step = StepBatch::default();
        step.clear(NUM_AGENTS, 1);
        step.reward.copy_from_slice(&[1.0, -0.5, 2.5]);
        step.terminated = vec![place == 3, place == 3, place > 0];
        if place > 1 {
            step.absent = vec![false, false, true];
            step.reward[2] = 0.0;
        }
        for (agent, sum) in sums.iter_mut().enumerate() {
            let goes_on = f64::from(u8::from(!step.terminated[agent]));
            *sum = *sum * goes_on * gamma + f64::from(step.reward[agent]);
            if !step.is_absent(agent) {
                returns.push(vec![*sum]);
            }
            *sum *= goes_on;
        }
        ours.observe(&step).unwrap();
    }
    let state = ours.state().unwrap();
    for (name, rows) in [("norm_obs", &seen), ("norm_reward", &returns)] {
        let (mean, variance) = moments(rows);
        let kept = &state.values[name];
        let kept = kept.get("moments").unwrap_or(kept);
        close(&kept["mean"], &mean);
        close(&kept["variance"], &variance);
        assert!((kept["count"].as_f64().unwrap() - rows.len() as f64).abs() < 1.0);
    }
}

#[test]
fn what_cannot_learn_from_agents_that_end_apart_is_refused_at_once() {
    let refused = |settings: &Settings| {
        let poles = |index| CartPoles::new(2, index as u64);
        let env = AgentRows::new(1, RowLayout::default(), poles).unwrap();
        let refused = algorithms::new(settings, &env, Device::Cpu);
        refused.err().map(|error| error.to_string())
    };
    assert_eq!(refused(&settings("num_minibatches = 1")), None);
    let message = refused(&settings("num_minibatches = 1\nlstm_size = 8")).unwrap();
    assert!(message.contains("without an LSTM"), "{message}");
    let message = refused(&Settings::defaults(Algorithm::Dqn)).unwrap();
    assert!(
        message.contains("end apart are learned from by ppo"),
        "{message}"
    );
}

#[test]
fn what_cannot_be_learned_is_refused_in_a_line() {
    let refused = |settings: &Settings, env: &dyn VecEnv| {
        let refused = algorithms::new(settings, env, Device::Cpu);
        refused.err().unwrap().to_string()
    };
    let alone = SyncVecEnv::new(1, |_| spaces()).unwrap();
    for change in ["central_critic = true", "share_weights = false"] {
        let message = refused(&settings(change), &alone);
        assert!(message.contains("several agents act at once"), "{message}");
    }
    let normalized = settings("share_weights = false\nnorm_obs = true");
    let message = refused(&normalized, &rows(&normalized, &spaces()));
    assert!(message.contains("normalize which agent"), "{message}");
    let recurrent = settings("share_weights = false\nlstm_size = 8\nnum_minibatches = 1");
    let message = refused(&recurrent, &rows(&recurrent, &spaces()));
    assert!(message.contains("network of its own"), "{message}");
}
