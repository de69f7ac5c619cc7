//! `ThreadedVecEnv`: what threads step is what one thread steps; autoreset modes, resets of some, panics; and what all
//! batches refuse.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{
    ActionSpace, Actions, AgentRows, AutoresetMode, Dtype, Env, EnvError, ObsBuffer, ObsSpec,
    RowLayout, StepBatch, SyncVecEnv, ThreadedVecEnv, Transition, VecEnv,
    envs::{CartPole, CartPoles, GridWorld, Pendulum},
};

const NUM_ENVS: usize = 5;

fn poles(mode: AutoresetMode, num_threads: usize) -> ThreadedVecEnv<CartPole> {
    let poles = (0..NUM_ENVS as u64).map(CartPole::new).collect();
    ThreadedVecEnv::new(poles, mode, num_threads).unwrap()
}

#[test]
fn threads_step_as_one_does() {
    for num_threads in [1, 3, 0] {
        let mut alone = SyncVecEnv::new(NUM_ENVS, |index| CartPole::new(index as u64)).unwrap();
        let mut envs = poles(AutoresetMode::SameStep, num_threads);
        let (mut obs, mut expected) = (vec![0; NUM_ENVS * 16], vec![1; NUM_ENVS * 16]);
        let (mut step, mut expected_step) = (StepBatch::default(), StepBatch::default());
        envs.reset(Some(3), &mut obs).unwrap();
        alone.reset(Some(3), &mut expected).unwrap();
        let mut states = Vec::new();
        let mut num_ended = 0;
        for round in 0..120 {
            assert_eq!(obs, expected);
            let actions: Vec<i64> = (0..5).map(|index| (round * 7 + index) / 3 % 2).collect();
            let actions = Actions::Discrete(&actions);
            envs.step(actions, &mut obs, &mut step).unwrap();
            alone
                .step(actions, &mut expected, &mut expected_step)
                .unwrap();
            assert_eq!(step, expected_step);
            num_ended += step.final_obs.len();
            if round == 60 {
                states = envs.save_state().unwrap();
                assert_eq!(states, alone.save_state().unwrap());
            }
        }
        assert!(num_ended > 5);
        let mut damaged = states.clone();
        damaged[4].pop();
        let before = envs.save_state().unwrap();
        assert!(matches!(
            envs.restore_state(&damaged, &mut obs),
            Err(EnvError::State(_))
        ));
        assert_eq!(envs.save_state().unwrap(), before, "all or none");
        // Another batch goes on from there, before any reset.
        let mut other = poles(AutoresetMode::SameStep, num_threads);
        other.restore_state(&states, &mut obs).unwrap();
        alone.restore_state(&states, &mut expected).unwrap();
        assert_eq!(obs, expected);
    }
}

/// Ends after as many steps as its seed says, shows its steps, and panics where it is told to.
#[derive(Default)]
struct Counter {
    length: u8,
    steps: u8,
}

impl Env for Counter {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![1],
            dtype: Dtype::Uint8,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 2 }
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        self.length = seed.map_or(self.length, |seed| seed as u8);
        self.steps = 0;
        obs[0] = 0;
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        assert_eq!(action.first(), 0, "as it was told");
        self.steps += 1;
        obs[0] = self.steps;
        Transition {
            reward: 1.0,
            terminated: self.steps == self.length,
            truncated: false,
        }
    }
}

/// Observes nothing.
#[derive(Debug)]
struct Blind;

impl Env for Blind {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![2, 0],
            dtype: Dtype::Uint8,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 2 }
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) {}

    fn step(&mut self, _action: Actions<'_>, _obs: &mut [u8]) -> Transition {
        unreachable!("no batch takes it")
    }
}

fn counters(mode: AutoresetMode) -> (ThreadedVecEnv<Counter>, [u8; 2], StepBatch) {
    let envs = (0..2).map(|_| Counter::default()).collect();
    let mut envs = ThreadedVecEnv::new(envs, mode, 2).unwrap();
    let mut obs = [9; 2];
    let order = envs.reset_envs(&[1], &[None], &mut obs).unwrap_err();
    assert!(matches!(order, EnvError::Order(_)), "not of all: {order}");
    envs.reset_envs(&[0, 1], &[Some(2), Some(9)], &mut obs)
        .unwrap();
    assert_eq!(obs, [0, 0]);
    (envs, obs, StepBatch::default())
}

const WAIT: Actions<'_> = Actions::Discrete(&[0, 0]);

#[test]
fn the_step_after_an_end_only_restarts() {
    let (mut envs, mut obs, mut step) = counters(AutoresetMode::NextStep);
    let mut seen = Vec::new();
    for _ in 0..4 {
        envs.step(WAIT, &mut obs, &mut step).unwrap();
        assert!(step.final_obs.is_empty());
        seen.push((obs, step.terminated[0], step.reward[0], step.episodes.len()));
    }
    assert_eq!(
        seen,
        [
            ([1, 1], false, 1.0, 0),
            ([2, 2], true, 1.0, 1),
            ([0, 3], false, 0.0, 0),
            ([1, 4], false, 1.0, 0)
        ]
    );
}

#[test]
fn without_autoreset_the_ended_wait_for_a_reset_of_theirs() {
    let (mut envs, mut obs, mut step) = counters(AutoresetMode::Disabled);
    for _ in 0..2 {
        envs.step(WAIT, &mut obs, &mut step).unwrap();
    }
    assert_eq!(envs.ended().unwrap(), [true, false]);
    let refused = envs.step(WAIT, &mut obs, &mut step).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "send: environment 0 needs a reset, as its episode has ended"
    );
    envs.reset_envs(&[0], &[None], &mut obs).unwrap();
    assert_eq!(obs, [0, 2], "the other stands where it stood");
    envs.step(WAIT, &mut obs, &mut step).unwrap();
    assert_eq!(obs, [1, 3]);
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(ThreadedVecEnv::new(Vec::<Counter>::new(), AutoresetMode::SameStep, 1).is_err());
    let blind = ThreadedVecEnv::new(vec![Blind], AutoresetMode::SameStep, 1).unwrap_err();
    let alone = SyncVecEnv::new(1, |_| Blind).unwrap_err();
    assert_eq!(blind, alone);
    assert_eq!(
        blind.to_string(),
        "observations of shape [2, 0] have no numbers"
    );
    let (mut envs, mut obs, mut step) = counters(AutoresetMode::SameStep);
    let order = |result| matches!(result, Err(EnvError::Order(_)));
    assert!(order(envs.recv(&mut step)));
    assert!(envs.send(WAIT, ObsBuffer::new(3).slot()).is_err());
    assert!(envs.save_state().is_err(), "it has none");
    assert!(envs.look(2, |_| ()).is_err());
    assert!(envs.reset_envs(&[2], &[None], &mut obs).is_err());
    assert!(envs.reset_envs(&[0], &[], &mut obs).is_err());
    envs.send(WAIT, ObsBuffer::new(2).slot()).unwrap();
    assert!(order(envs.send(WAIT, ObsBuffer::new(2).slot())));
    assert!(order(envs.look(0, |_| ())));
    assert!(order(envs.reset_envs(&[0], &[None], &mut obs)));
    envs.reset(None, &mut obs).unwrap();
    assert_eq!(obs, [0, 0], "the step in flight was dropped");
    envs.close().unwrap();
    assert_eq!(envs.reset(None, &mut obs), Err(EnvError::Closed));
    assert_eq!(envs.look(0, |_| ()), Err(EnvError::Closed));
}

#[test]
fn a_panic_is_an_error_that_names_the_environment() {
    let (mut envs, mut obs, mut step) = counters(AutoresetMode::SameStep);
    let actions = Actions::Discrete(&[0, 1]);
    let error = envs.step(actions, &mut obs, &mut step).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("environment 1") && message.contains("as it was told"));
    assert_eq!(envs.save_state(), Err(error), "nobody sees what it left");
    envs.close().unwrap();
}

#[test]
fn environments_of_one_batch_have_the_same_spaces() {
    let other = |index| GridWorld::new(2 + index, 0);
    let poles = vec![CartPoles::new(2, 0), CartPoles::new(3, 1)];
    for error in [
        SyncVecEnv::new(2, other).err(),
        ThreadedVecEnv::new((0..2).map(other).collect(), AutoresetMode::SameStep, 1).err(),
        AgentRows::of(poles, RowLayout::default()).err(),
    ] {
        let text = error.unwrap().to_string();
        assert!(
            text.contains("environments 0 and 1 have different spaces"),
            "{text}"
        );
    }
}

#[test]
fn numbers_beyond_a_boxs_bounds_are_refused_before_they_arrive() {
    let pendulums = (0..2).map(Pendulum::new).collect();
    let threaded = ThreadedVecEnv::new(pendulums, AutoresetMode::SameStep, 1).unwrap();
    let envs: [Box<dyn VecEnv>; 2] = [
        Box::new(SyncVecEnv::new(2, |seed| Pendulum::new(seed as u64)).unwrap()),
        Box::new(threaded),
    ];
    for mut env in envs {
        let (mut obs, mut step) = ([0; 24], StepBatch::default());
        env.reset(Some(1), &mut obs).unwrap();
        for number in [2.5, f32::NAN] {
            let sent = env.step(Actions::Continuous(&[0.0, number]), &mut obs, &mut step);
            assert!(
                matches!(sent, Err(EnvError::ActionBounds { env: 1, .. })),
                "{sent:?}"
            );
        }
        env.step(Actions::Continuous(&[0.0, 2.0]), &mut obs, &mut step)
            .unwrap();
    }
}
