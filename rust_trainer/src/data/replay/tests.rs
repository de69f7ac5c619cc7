//! The replay memory against a plain one that holds every observation whole, in every recipe.

use std::collections::VecDeque;

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Kind, Tensor};
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec, StepBatch};

use super::{Replay, ReplayState};
use crate::{random::seeded_rng, tensors::to_vec};

const GAMMA: f64 = 0.9;
const FIVE: ActionSpace = ActionSpace::Discrete { n: 5 };
const TWO: ActionSpace = ActionSpace::Discrete { n: 2 };

/// What a recipe shows where an episode begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    Zeros,
    FirstFrameRepeated,
    /// The stack goes on as if nothing had ended: a lost life.
    GoesOn,
    /// Frames that were never the newest of an observation, such as those of no-ops.
    Unseen,
}

/// An environment that shows random frames, and what it has shown.
struct Scripted {
    start: Start,
    stack: VecDeque<Vec<u8>>,
    frame_bytes: usize,
    /// Few values, so that frames are often equal.
    num_values: u8,
    /// (observation, action, reward, terminated, truncated, last observation) of each step.
    steps: Vec<Step>,
    obs: Vec<u8>,
}

#[derive(Clone)]
struct Step {
    obs: Vec<u8>,
    action: i64,
    reward: f32,
    terminated: bool,
    truncated: bool,
    last: Vec<u8>,
}

impl Scripted {
    fn frame(&self, rng: &mut Pcg64) -> Vec<u8> {
        let pixels = (0..self.frame_bytes).map(|_| rng.random_range(0..self.num_values));
        pixels.collect()
    }

    fn show(&mut self, frame: Vec<u8>) {
        self.stack.pop_front();
        self.stack.push_back(frame);
        self.obs = self.stack.iter().flatten().copied().collect();
    }

    fn begin(&mut self, rng: &mut Pcg64) {
        let frame = self.frame(rng);
        let unseen: Vec<Vec<u8>> = self.stack.iter().map(|_| self.frame(rng)).collect();
        for (old, unseen) in self.stack.iter_mut().zip(unseen) {
            match self.start {
                Start::Zeros => old.fill(0),
                Start::FirstFrameRepeated => old.clone_from(&frame),
                Start::GoesOn => {}
                Start::Unseen => *old = unseen,
            }
        }
        self.show(frame);
    }
}

/// n-step transition number `step` of an environment by the definition: (obs, action, return, discount,
/// next obs), the last one only where it counts.
fn expected(env: &Scripted, first: usize, n_step: usize) -> (Vec<u8>, i64, f64, f64, Vec<u8>) {
    let (mut sum, mut discount) = (0.0, 1.0);
    let begin = &env.steps[first];
    for (count, step) in env.steps[first..].iter().take(n_step).enumerate() {
        sum += GAMMA.powi(count as i32) * f64::from(step.reward);
        discount = GAMMA.powi(count as i32 + 1);
        if step.terminated {
            return (begin.obs.clone(), begin.action, sum, 0.0, Vec::new());
        }
        if step.truncated {
            return (
                begin.obs.clone(),
                begin.action,
                sum,
                discount,
                step.last.clone(),
            );
        }
    }
    let after = env.steps.get(first + n_step);
    let next = after.map_or(&env.obs, |step| &step.obs).clone();
    (begin.obs.clone(), begin.action, sum, discount, next)
}

/// Bytes of each observation.
fn rows(tensor: &Tensor) -> Vec<Vec<u8>> {
    let count = tensor.size()[0] as usize;
    let length = tensor.numel() / count * tensor.kind().elt_size_in_bytes();
    let mut bytes = vec![0; count * length];
    tensor.copy_data_u8(&mut bytes, tensor.numel());
    bytes.chunks(length).map(<[u8]>::to_vec).collect()
}

fn check(replay: &Replay, envs: &[Scripted], n_step: usize) {
    let held = replay.held();
    let num_envs = envs.len() as u64;
    let steps = envs[0].steps.len() as u64;
    let end = (steps + 1).saturating_sub(n_step as u64);
    let capacity = replay.capacity() as u64 / num_envs;
    assert_eq!(
        held,
        end.saturating_sub(capacity) * num_envs..end * num_envs
    );
    if held.is_empty() {
        return;
    }
    let numbers: Vec<u64> = held.collect();
    let batch = replay.get(&numbers).unwrap();
    let (obs, next_obs) = (rows(&batch.obs), rows(&batch.next_obs));
    let actions = to_vec::<i64>(&batch.actions);
    let returns = to_vec::<f32>(&batch.returns);
    let discounts = to_vec::<f32>(&batch.discounts);
    for (index, number) in numbers.iter().enumerate() {
        let (step, env) = ((number / num_envs) as usize, (number % num_envs) as usize);
        let naive = expected(&envs[env], step, n_step);
        assert_eq!(obs[index], naive.0, "observation of step {step}");
        assert_eq!(actions[index], naive.1);
        assert!((f64::from(returns[index]) - naive.2).abs() < 1e-6);
        assert!((f64::from(discounts[index]) - naive.3).abs() < 1e-6);
        if naive.3 > 0.0 {
            assert_eq!(next_obs[index], naive.4, "observation after step {step}");
        }
    }
}

/// Plays `num_steps` steps of `num_envs` environments and compares everything after each.
fn play(spec: &ObsSpec, start: Start, num_envs: usize, n_step: usize, seed: u64) {
    let num_frames = if spec.is_image() { spec.shape[0] } else { 1 };
    let mut rng = seeded_rng(seed);
    let frame_bytes = spec.num_bytes() / num_frames;
    let mut envs: Vec<Scripted> = (0..num_envs)
        .map(|_| Scripted {
            start,
            stack: vec![vec![0; frame_bytes]; num_frames].into(),
            frame_bytes,
            num_values: if seed.is_multiple_of(2) { 2 } else { 64 },
            steps: Vec::new(),
            obs: Vec::new(),
        })
        .collect();
    let capacity = 7 * num_envs - num_envs / 2;
    let new = || Replay::new((spec, &FIVE), num_envs, capacity, n_step, GAMMA).unwrap();
    let mut replay = new();
    assert_eq!(replay.capacity(), 7 * num_envs);
    let all = |envs: &[Scripted]| {
        envs.iter()
            .flat_map(|env| env.obs.clone())
            .collect::<Vec<u8>>()
    };
    for number in 0..60 {
        if number == 0 || rng.random_range(0..20) == 0 {
            for env in &mut envs {
                if let Some(before) = env.steps.last_mut()
                    && !before.terminated
                    && !before.truncated
                {
                    before.truncated = true;
                    before.last.clone_from(&env.obs);
                }
                env.begin(&mut rng);
            }
            replay.restart(all(&envs)).unwrap();
            check(&replay, &envs, n_step);
        }
        let mut step = StepBatch::default();
        step.clear(num_envs, 1);
        let mut actions = Vec::new();
        for (row, env) in envs.iter_mut().enumerate() {
            let before = env.obs.clone();
            let frame = env.frame(&mut rng);
            env.show(frame);
            let end = rng.random_range(0..8);
            let (terminated, truncated) = (end == 0 || end == 2, end == 1 || end == 2);
            let taken = Step {
                obs: before,
                action: rng.random_range(0..5),
                reward: f32::from(rng.random_range(-2..3_i8)),
                terminated,
                truncated,
                last: env.obs.clone(),
            };
            actions.push(taken.action);
            step.reward[row] = taken.reward;
            (step.terminated[row], step.truncated[row]) = (terminated, truncated);
            if terminated || truncated {
                step.final_obs.push((row, taken.last.clone()));
                env.begin(&mut rng);
            }
            env.steps.push(taken);
        }
        replay
            .push(&ActionBatch::Discrete(actions), &step, all(&envs))
            .unwrap();
        check(&replay, &envs, n_step);
        if number % 7 == 3 {
            let mut other = new();
            let state = replay.state().unwrap();
            other.load(&state, replay.in_hand().to_vec()).unwrap();
            replay = other;
            check(&replay, &envs, n_step);
        }
    }
}

fn spec(shape: &[usize], dtype: Dtype) -> ObsSpec {
    ObsSpec {
        shape: shape.to_vec(),
        dtype,
    }
}

#[test]
fn every_transition_is_that_of_a_memory_of_whole_observations() {
    use Start::{FirstFrameRepeated, GoesOn, Unseen, Zeros};
    let mut seed = 0;
    for start in [Zeros, FirstFrameRepeated, GoesOn, Unseen] {
        for shape in [[4, 2, 2], [2, 1, 3], [3, 1, 3], [1, 2, 2]] {
            for (num_envs, n_step) in [(1, 1), (3, 1), (2, 3), (1, 5), (4, 9)] {
                seed += 1;
                play(&spec(&shape, Dtype::Uint8), start, num_envs, n_step, seed);
            }
        }
    }
    for spec in [spec(&[6], Dtype::Uint8), spec(&[3], Dtype::Float32)] {
        play(&spec, Unseen, 2, 3, 1);
    }
}

/// Two environments that show `[4, 2, 2]`, after `steps` steps without an end.
fn filled(steps: usize) -> Replay {
    let spec = spec(&[4, 2, 2], Dtype::Uint8);
    let mut replay = Replay::new((&spec, &TWO), 2, 10, 2, GAMMA).unwrap();
    let mut step = StepBatch::default();
    step.clear(2, 1);
    replay.restart(vec![1; 32]).unwrap();
    for _ in 0..steps {
        replay
            .push(&ActionBatch::Discrete(vec![0, 1]), &step, vec![1; 32])
            .unwrap();
    }
    replay
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let named = |replay: &Replay| replay.state().unwrap().named();
    let load = |replay: &mut Replay, named: &[(String, Tensor)], in_hand| {
        let state = ReplayState::of_named(named, Kind::Uint8, &TWO)?;
        replay.load(&state, in_hand)
    };
    let good = named(&filled(4));
    let changed = |name: &str, tensor: Tensor| {
        let mut state: Vec<(String, Tensor)> = good
            .iter()
            .map(|(name, tensor)| (name.clone(), tensor.shallow_clone()))
            .collect();
        let name = format!("replay.{name}");
        state.iter_mut().find(|(of, _)| *of == name).unwrap().1 = tensor;
        state
    };
    let ten = |value: i64| Tensor::from_slice(&[value; 10]);
    let bad = [
        Vec::new(),
        changed("steps", Tensor::from_slice(&[-1_i64])),
        changed("steps", Tensor::from_slice(&[5_i64])),
        changed("steps", Tensor::from_slice(&[4_f32])),
        changed("actions", ten(2)),
        changed("actions", ten(-1)),
        changed("rewards", Tensor::from_slice(&[f32::NAN; 10])),
        changed("ends", Tensor::from_slice(&[3_u8; 10])),
        changed("ends", Tensor::from_slice(&[2_u8; 10])),
        changed("older_places", Tensor::from_slice(&[0_i64, 10])),
        changed("older_places", Tensor::from_slice(&[0_i64, 3])),
        changed("frames", Tensor::from_slice(&[0_u8; 40])),
    ];
    let mut replay = filled(3);
    let before = named(&replay);
    for state in bad {
        let error = load(&mut replay, &state, vec![1; 32]).unwrap_err();
        assert!(error.to_string().contains("does not fit"), "{error}");
        assert_eq!(named(&replay), before);
    }
    assert!(load(&mut replay, &good, vec![1; 31]).is_err());
    load(&mut replay, &good, vec![1; 32]).unwrap();
    assert_eq!(named(&replay), good);
}

/// A box of two numbers.
fn plane() -> ActionSpace {
    ActionSpace::Box {
        shape: vec![2],
        low: vec![-1.0, 0.0],
        high: vec![1.0, 3.0],
    }
}

#[test]
fn a_memory_takes_what_was_foretold() {
    let whole = [(&[4, 12, 10][..], Dtype::Uint8), (&[6], Dtype::Float32)];
    for ((shape, dtype), actions) in whole.into_iter().zip([FIVE, plane()]) {
        let spec = spec(shape, dtype);
        let replay = Replay::new((&spec, &actions), 3, 50, 2, 0.9).unwrap();
        let bytes = |tensor: &Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        let beside = bytes(&replay.actions.first(replay.ends.len()))
            + size_of_val(&*replay.rewards)
            + size_of_val(&*replay.ends);
        assert_eq!(
            Replay::num_bytes((&spec, &actions), 3, 50, 2),
            bytes(&replay.frames) + beside
        );
    }
}

#[test]
fn continuous_actions_come_back_as_they_were_and_within_their_bounds() {
    let (spec, plane) = (spec(&[1], Dtype::Float32), plane());
    let new = || Replay::new((&spec, &plane), 2, 6, 1, GAMMA).unwrap();
    let mut replay = new();
    let mut step = StepBatch::default();
    step.clear(2, 1);
    replay.restart(vec![0; 8]).unwrap();
    // Of environment `env` in step `step`: more steps than there is room for.
    let action = |step: u64, env: u64| [0.1 * step as f32, env as f32];
    for number in 0..7 {
        let actions = [action(number, 0), action(number, 1)].concat();
        let actions = ActionBatch::Continuous(actions);
        replay.push(&actions, &step, vec![0; 8]).unwrap();
    }
    let state = replay.state().unwrap();
    let named = ReplayState::of_named(&state.named(), Kind::Float, &plane).unwrap();
    let mut other = new();
    other.load(&named, replay.in_hand().to_vec()).unwrap();
    for replay in [&replay, &other] {
        let actions = replay.get(&[8, 13, 11]).unwrap().actions;
        assert_eq!(actions.size(), [3, 2]);
        let expected = [action(4, 0), action(6, 1), action(5, 1)].concat();
        assert_eq!(to_vec::<f32>(&actions.reshape(-1)), expected);
    }
    let beyond = ReplayState {
        actions: &named.actions + 2.5,
        ..named
    };
    let error = other.load(&beyond, replay.in_hand().to_vec()).unwrap_err();
    assert!(
        error.to_string().contains("`actions` does not fit"),
        "{error}"
    );
}

/// As the help of `replay_capacity` says.
#[test]
fn a_million_transitions_of_atari_take_7_gigabytes() {
    let spec = spec(&[4, 84, 84], Dtype::Uint8);
    let bytes = Replay::num_bytes((&spec, &TWO), 8, 1_000_000, 3);
    assert!((7_056_000_000..7_080_000_000).contains(&bytes), "{bytes}");
}

/// Of a picture in three colours nothing was seen before.
#[test]
fn colours_take_three_times_as_much_as_frames() {
    let bytes = |shape: &[usize]| {
        let spec = spec(shape, Dtype::Uint8);
        Replay::num_bytes((&spec, &TWO), 8, 1_000_000, 3) / 1_000_000_000
    };
    assert_eq!((bytes(&[1, 84, 84]), bytes(&[3, 84, 84])), (7, 21));
}
