//! `SyncVecEnv`: a batch of single environments keeps the promises of `VecEnv`.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{
    ActionBatch, ActionSpace, Actions, AutoresetMode, Dtype, Env, EnvError, Episode, ObsBuffer,
    ObsSpec, StepBatch, SyncVecEnv, ThreadedVecEnv, Transition, VecEnv,
    env::Random,
    envs::{CartPole, GridWorld, Recall},
};

/// Counts its steps and ends after `length` of them; the reward is the action.
struct Counter {
    steps: u8,
    length: u8,
}

impl Env for Counter {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![2],
            dtype: Dtype::Uint8,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 5 }
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        self.steps = 0;
        obs.copy_from_slice(&[0, seed.map_or(99, |seed| seed as u8)]);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        self.steps += 1;
        obs.copy_from_slice(&[self.steps, action.first() as u8]);
        Transition {
            reward: action.first() as f32,
            terminated: self.steps == self.length && self.length % 2 == 1,
            truncated: self.steps == self.length && self.length.is_multiple_of(2),
        }
    }
}

/// Two environments: one ends after 2 steps by a limit, one after 3 by itself.
fn counters() -> SyncVecEnv<Counter> {
    let make = |index| Counter {
        steps: 0,
        length: index as u8 + 2,
    };
    SyncVecEnv::new(2, make).unwrap()
}

#[test]
fn an_episode_ends_with_its_record_and_restarts_in_the_same_step() {
    let (mut env, mut obs, mut step) = (counters(), [0; 4], StepBatch::default());
    env.reset(Some(7), &mut obs).unwrap();
    assert_eq!(obs, [0, 7, 0, 8], "seeds count on");
    env.step(Actions::Discrete(&[1, 4]), &mut obs, &mut step)
        .unwrap();
    assert_eq!((obs, step.episodes.len()), ([1, 1, 1, 4], 0));
    env.step(Actions::Discrete(&[2, 3]), &mut obs, &mut step)
        .unwrap();
    assert_eq!(obs, [0, 99, 2, 3], "the next episode's first observation");
    assert_eq!(
        (&*step.truncated, &*step.terminated),
        (&[true, false][..], &[false; 2][..])
    );
    let episode = |env, raw_return, length| Episode {
        env,
        raw_return,
        length,
        frames: length,
    };
    assert_eq!(step.episodes, [episode(0, 3.0, 2)]);
    assert_eq!(step.final_obs, [(0, vec![2, 2])]);
    assert_eq!(
        (step.episode_return[0], &*step.final_lives),
        (3.0, &[0][..])
    );
    assert_eq!(
        (step.episode_length.as_slice(), &*step.reward),
        (&[2, 2][..], &[2.0, 3.0][..])
    );
    env.step(Actions::Discrete(&[0, 0]), &mut obs, &mut step)
        .unwrap();
    assert_eq!(step.episodes, [episode(1, 7.0, 3)]);
    assert_eq!(step.terminated, [false, true]);
    assert_eq!(step.episode_length, [1, 3], "the record starts again");
}

#[test]
fn what_cannot_be_is_refused_before_anything_happens() {
    let (mut env, mut obs, mut step) = (counters(), [0; 4], StepBatch::default());
    let slot = || ObsBuffer::new(4).slot();
    let order = |result| matches!(result, Err(EnvError::Order(_)));
    assert!(
        order(env.send(Actions::Discrete(&[0, 0]), slot())),
        "no reset"
    );
    assert!(matches!(
        env.reset(None, &mut obs[1..]),
        Err(EnvError::BufferSize { .. })
    ));
    env.reset(None, &mut obs).unwrap();
    assert!(order(env.recv(&mut step)), "nothing sent");
    for (actions, message) in [
        (
            Actions::Discrete(&[0]),
            "expected 2 actions, one for each environment, got 1",
        ),
        (
            Actions::Discrete(&[0, 5]),
            "action 5 of environment 1 is out of range: valid actions are 0 to 4",
        ),
        (
            Actions::Continuous(&[0.0, 0.0]),
            "these actions are not of the action space Discrete(5)",
        ),
    ] {
        assert_eq!(env.send(actions, slot()).unwrap_err().to_string(), message);
    }
    let short = ObsBuffer::new(3);
    let error = env
        .send(Actions::Discrete(&[0, 0]), short.slot())
        .unwrap_err();
    assert_eq!(
        error,
        EnvError::BufferSize {
            expected: 4,
            got: 3
        }
    );
    assert_eq!(short.take().len(), 3, "given back");
    env.send(Actions::Discrete(&[1, 1]), slot()).unwrap();
    assert!(
        order(env.send(Actions::Discrete(&[1, 1]), slot())),
        "in flight"
    );
    env.reset(None, &mut obs).unwrap();
    assert!(order(env.recv(&mut step)), "a reset drops the step");
    env.close().unwrap();
    env.close().unwrap();
    assert_eq!(env.reset(None, &mut obs), Err(EnvError::Closed));
    assert_eq!(env.recv(&mut step), Err(EnvError::Closed));
    assert!(SyncVecEnv::new(0, |_| CartPole::new(0)).is_err());
}

#[test]
fn a_slot_is_filled_once_and_given_back() {
    let (mut env, mut obs) = (counters(), [0; 4]);
    env.reset(None, &mut obs).unwrap();
    let buffer = ObsBuffer::new(4);
    env.send(Actions::Discrete(&[3, 4]), buffer.slot()).unwrap();
    assert!(
        buffer.take().is_empty(),
        "nobody reaches what the batch may write"
    );
    let receive = move || env.recv(&mut StepBatch::default());
    std::thread::spawn(receive).join().unwrap().unwrap();
    assert_eq!(buffer.take(), [1, 3, 1, 4]);
}

/// Every start is as likely, the walls hold, and the goal is worth 1.
#[test]
fn a_grid_world_is_walked_to_its_goal() {
    let mut env = GridWorld::new(3, 0);
    let mut obs = vec![0; env.obs_spec().num_bytes()];
    let place = |obs: &[u8]| obs.iter().position(|&byte| byte == 255).unwrap() as i64;
    for seed in 0..50 {
        env.reset(Some(seed), &mut obs);
        let (mut agent, goal) = (place(&obs[..9]), place(&obs[9..]));
        assert_ne!(agent, goal);
        for _ in 0..3 {
            let up = env.step(Actions::Discrete(&[0]), &mut obs);
            agent = place(&obs[..9]);
            if up.terminated {
                break;
            }
        }
        assert!(agent < 3 || agent == goal, "up to the wall: {agent}");
        let mut steps = 0;
        while agent != goal {
            let action = match goal / 3 - agent / 3 {
                0 if goal > agent => 3,
                0 => 2,
                _ => 1,
            };
            let transition = env.step(Actions::Discrete(&[action]), &mut obs);
            agent = place(&obs[..9]);
            assert_eq!(transition.terminated, agent == goal);
            assert_eq!(transition.reward > 0.0, agent == goal);
            steps += 1;
            assert!(steps <= 4, "at most four cells away");
        }
    }
    env.reset(Some(1), &mut obs);
    let goal = place(&obs[9..]);
    let away = i64::from(goal < 3);
    let cut = (1..=36).find(|_| env.step(Actions::Discrete(&[away]), &mut obs).truncated);
    assert!(cut.is_none_or(|step| step == 36));
}

#[test]
fn a_cue_is_shown_once_and_asked_for_at_the_end() {
    let mut cues = std::collections::HashSet::new();
    for (seed, is_right) in (0..20).flat_map(|seed| [(seed, true), (seed, false)]) {
        let (mut env, mut bytes) = (Recall::new(3, 2, seed), [0; 16]);
        let numbers = |bytes: &[u8; 16]| {
            let number = |bytes: &[u8; 4]| f32::from_ne_bytes(*bytes) as i64;
            bytes.as_chunks().0.iter().map(number).collect::<Vec<_>>()
        };
        env.reset(None, &mut bytes);
        let first = numbers(&bytes);
        let cue = first.iter().position(|number| *number == 1).unwrap();
        assert!(cue < 3 && first.iter().sum::<i64>() == 1, "{first:?}");
        cues.insert(cue);
        // Naming it too early is worth nothing.
        for shown in [[0, 0, 0, 0], [0, 0, 0, 1]] {
            let transition = env.step(Actions::Discrete(&[cue as i64]), &mut bytes);
            assert_eq!(transition, Transition::default());
            assert_eq!(numbers(&bytes), shown);
        }
        let named = if is_right { cue } else { (cue + 1) % 3 };
        let transition = env.step(Actions::Discrete(&[named as i64]), &mut bytes);
        assert!(transition.terminated && !transition.truncated);
        assert_eq!(transition.reward > 0.0, is_right);
    }
    assert_eq!(cues.len(), 3);
}

#[test]
fn seeds_make_batches_equal_and_envs_differ() {
    let run = |seed| {
        let mut env = SyncVecEnv::new(3, |_| CartPole::new(0)).unwrap();
        let mut obs = vec![0; 3 * 16];
        env.reset(Some(seed), &mut obs).unwrap();
        obs
    };
    let first = run(5);
    assert_eq!(first, run(5));
    assert_ne!(first, run(6));
    assert_ne!(first[..16], first[16..32]);
    assert_eq!(first[16..32], run(6)[..16], "seeds count on");
}

#[test]
fn random_numbers_fill_their_range() {
    let mut random = Random::new(3);
    let mut counts = [0; 7];
    for _ in 0..7000 {
        counts[random.below(7)] += 1;
    }
    assert!(
        counts.iter().all(|count| (850..1150).contains(count)),
        "{counts:?}"
    );
    let mean = (0..10_000).map(|_| random.uniform(-1.0, 3.0)).sum::<f64>() / 1e4;
    assert!((mean - 1.0).abs() < 0.05, "{mean}");
}

/// Plays on, choosing by what is seen; everything that the steps brought.
fn play_on(env: &mut impl VecEnv, obs: &mut [u8], steps: usize) -> Vec<(Vec<u8>, StepBatch)> {
    let count = env.action_space().num_actions() as usize;
    let row = obs.len() / env.num_envs();
    (0..steps)
        .map(|step| {
            let sum = |row: &[u8]| row.iter().map(|&byte| usize::from(byte)).sum::<usize>();
            let actions = obs.chunks(row).map(|row| (sum(row) + step) % count);
            let actions: Vec<i64> = actions.map(|action| action as i64).collect();
            let mut batch = StepBatch::default();
            env.step(Actions::Discrete(&actions), obs, &mut batch)
                .unwrap();
            (obs.to_vec(), batch)
        })
        .collect()
}

fn replays<E: Env>(make: fn(usize) -> E) {
    let mut env = SyncVecEnv::new(3, make).unwrap();
    let mut obs = vec![0; 3 * env.obs_spec().num_bytes()];
    let error = env.save_state().unwrap_err();
    assert!(matches!(error, EnvError::Order(_)), "no reset yet: {error}");
    env.reset(Some(5), &mut obs).unwrap();
    play_on(&mut env, &mut obs, 7);
    let (states, seen) = (env.save_state().unwrap(), obs.clone());
    let played = play_on(&mut env, &mut obs, 60);
    assert!(played.iter().any(|(_, batch)| !batch.episodes.is_empty()));

    let mut other = SyncVecEnv::new(3, make).unwrap();
    other.reset(Some(6), &mut obs).unwrap();
    play_on(&mut other, &mut obs, 2);
    let before = other.save_state().unwrap();
    for bad in [
        vec![],
        states[..2].to_vec(),
        vec![states[0].clone(), states[1].clone(), Vec::new()],
        vec![
            states[0].clone(),
            states[1][..20].to_vec(),
            states[2].clone(),
        ],
    ] {
        let error = other.restore_state(&bad, &mut obs).unwrap_err();
        assert!(matches!(error, EnvError::State(_)), "{error}");
        assert_eq!(other.save_state().unwrap(), before, "all or none");
    }
    other.restore_state(&states, &mut obs).unwrap();
    assert_eq!(obs, seen);
    assert_eq!(play_on(&mut other, &mut obs, 60), played);
}

#[test]
fn environments_go_on_from_their_saved_states() {
    replays(|index| CartPole::new(index as u64));
    replays(|index| GridWorld::new(3, index as u64));
    replays(|index| Recall::new(3, 4, index as u64));
}

#[test]
fn the_end_of_an_episode_is_a_state_too() {
    let envs = |seed: u64| {
        let made = (0..2)
            .map(|index| Recall::new(3, 2, seed + index))
            .collect();
        ThreadedVecEnv::new(made, AutoresetMode::Disabled, 1).unwrap()
    };
    let (mut env, mut other, mut obs) = (envs(0), envs(7), [0; 2 * 16]);
    env.reset(Some(1), &mut obs).unwrap();
    let mut step = StepBatch::default();
    for _ in 0..3 {
        env.step(Actions::Discrete(&[0, 1]), &mut obs, &mut step)
            .unwrap();
    }
    assert_eq!(step.terminated, [true, true]);
    let states = env.save_state().unwrap();
    other.restore_state(&states, &mut obs).unwrap();
    assert_eq!(other.save_state().unwrap(), states);
    assert_eq!(other.ended().unwrap(), [true, true]);
}

#[test]
fn environments_without_states_say_so() {
    let (mut env, mut obs) = (counters(), [0; 4]);
    env.reset(None, &mut obs).unwrap();
    for error in [
        env.save_state().unwrap_err(),
        env.restore_state(&[vec![0; 16], vec![0; 16]], &mut obs)
            .unwrap_err(),
    ] {
        assert!(matches!(error, EnvError::Unsupported(_)), "{error}");
    }
}

#[test]
fn what_is_no_number_is_not_clipped_to_a_bound() {
    let (shape, low, high) = (vec![3], vec![-1.0; 3], vec![1.0; 3]);
    let space = ActionSpace::Box { shape, low, high };
    let clipped = |values| space.clipped(&ActionBatch::Continuous(values));
    let expected = ActionBatch::Continuous(vec![1.0, -0.5, 0.0]);
    assert_eq!(clipped(vec![3.0, -0.5, 0.0]), expected);
    let error = space.check_bounds(clipped(vec![3.0, f32::NAN, 0.0]).as_actions(), |row| row);
    assert!(matches!(error, Err(EnvError::ActionBounds { .. })));
}
