//! What every algorithm keeps to, whatever it is given.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rust_trainer::{
    algorithms::{self, Learning, State},
    error::TrainerError,
    settings::{Algorithm, Settings},
};
use tch::{Device, Tensor};
use vec_env::{
    StepBatch, SyncVecEnv, VecEnv,
    envs::{CartPole, Pendulum},
};

const NUM_ENVS: usize = 2;

/// What an algorithm learns in.
fn env(algorithm: Algorithm) -> Box<dyn VecEnv> {
    match algorithm {
        Algorithm::Ddpg | Algorithm::Td3 | Algorithm::Maddpg => {
            Box::new(SyncVecEnv::new(NUM_ENVS, |index| Pendulum::new(index as u64)).unwrap())
        }
        _ => Box::new(SyncVecEnv::new(NUM_ENVS, |index| CartPole::new(index as u64)).unwrap()),
    }
}

fn new(algorithm: Algorithm, seed: u64) -> Box<dyn algorithms::Algorithm> {
    with(algorithm, seed, "")
}

fn with(algorithm: Algorithm, seed: u64, changes: &str) -> Box<dyn algorithms::Algorithm> {
    let changes = format!("num_envs = {NUM_ENVS}\nseed = {seed}\n{changes}\n");
    let changes = match algorithm {
        Algorithm::Ppo | Algorithm::A2c => changes + "num_steps = 4",
        // A gradient step with the second agent step; the run ends there.
        Algorithm::Dqn | Algorithm::Ddpg | Algorithm::Td3 | Algorithm::Maddpg => {
            changes + "learning_starts = 2\ntrain_frequency = 2\ntotal_steps = 4"
        }
        Algorithm::Pqn => changes + "num_steps = 4\nnum_minibatches = 2",
    };
    let settings = Settings::defaults(algorithm);
    let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
    algorithms::new(&settings, &*env(algorithm), Device::Cpu).unwrap()
}

/// Threads of OpenMP would wait for one another, spinning, beside those of ours.
#[test]
fn libtorch_has_one_thread_for_those_who_use_the_library() {
    tch::set_num_threads(2);
    let _algorithm = new(Algorithm::Ppo, 1);
    assert_eq!(tch::get_num_threads(), 1);
}

/// DQN with priorities, which its replay memory keeps.
fn prioritized(seed: u64) -> Box<dyn algorithms::Algorithm> {
    with(Algorithm::Dqn, seed, "prioritized = true")
}

/// One rollout, whose steps `change` may change, and the update.
fn play(
    kind: Algorithm,
    algorithm: &mut dyn algorithms::Algorithm,
    change: impl Fn(&mut StepBatch),
) -> Result<(), TrainerError> {
    let (mut env, mut step) = (env(kind), StepBatch::default());
    env.reset(Some(1), &mut algorithm.next_obs())?;
    loop {
        env.send(algorithm.act()?.as_actions(), algorithm.next_obs())?;
        env.recv(&mut step)?;
        change(&mut step);
        algorithm.observe(&step)?;
        if matches!(algorithm.learn(&mut || false)?, Learning::Done(_)) {
            return Ok(());
        }
    }
}

fn is_same(left: &State, right: &State) -> bool {
    left.values == right.values && left.tensors == right.tensors && left.replay == right.replay
}

#[test]
fn a_truncation_without_its_last_observation_is_an_error() {
    for &kind in Algorithm::ALL {
        let error = play(kind, &mut *new(kind, 1), |step| step.truncated[1] = true);
        let message = error.unwrap_err().to_string();
        assert!(message.contains("environment 1 truncated"), "{message}");
        play(kind, &mut *new(kind, 1), |step| {
            (step.truncated[1], step.terminated[1]) = (true, true);
        })
        .unwrap();
    }
}

#[test]
fn a_loss_that_is_no_number_is_an_error_and_spoils_nothing() {
    for &kind in Algorithm::ALL {
        let mut algorithm = new(kind, 1);
        let before = algorithm.state().unwrap();
        let error = play(kind, &mut *algorithm, |step| step.reward[0] = f32::INFINITY).unwrap_err();
        assert!(error.to_string().contains("is not finite"), "{error}");
        let learned = |state: State| {
            let mut tensors = state.tensors;
            tensors.retain(|(name, _)| name != "obs_in_hand");
            tensors
        };
        assert_eq!(learned(before), learned(algorithm.state().unwrap()));
    }
}

#[test]
fn a_state_is_taken_whole() {
    let kinds = Algorithm::ALL.iter();
    let mut pairs: Vec<_> = kinds
        .map(|&kind| (kind, new(kind, 1), new(kind, 2)))
        .collect();
    pairs.push((Algorithm::Dqn, prioritized(1), prioritized(2)));
    for (kind, mut old, mut new) in pairs {
        play(kind, &mut *old, |_| ()).unwrap();
        // A step of the policy that goes: what comes does not learn from it.
        drop(new.next_obs());
        new.act().unwrap();
        let state = old.state().unwrap();
        let has_replay = old.is_whole_between_steps();
        assert_eq!(state.replay.is_empty(), !has_replay);
        new.load_state(&state).unwrap();
        assert!(is_same(&state, &new.state().unwrap()));
        for algorithm in [&mut old, &mut new] {
            play(kind, &mut **algorithm, |_| ()).unwrap();
        }
        assert!(
            is_same(&old.state().unwrap(), &new.state().unwrap()),
            "they go on alike"
        );
    }
}

#[test]
fn a_state_that_does_not_fit_changes_nothing() {
    let mut ppo = new(Algorithm::Ppo, 1);
    let before = ppo.state().unwrap();
    let with_bias = |numbers: &[f32]| {
        let mut state = new(Algorithm::Ppo, 2).state().unwrap();
        let is_bias = |(name, _): &&mut (String, Tensor)| name == "value.bias";
        state.tensors.iter_mut().find(is_bias).unwrap().1 = Tensor::from_slice(numbers);
        state
    };
    let mut without_rng = new(Algorithm::Ppo, 2).state().unwrap();
    without_rng.values.remove("rng");
    let foreign = new(Algorithm::A2c, 2).state().unwrap();
    for (state, problem) in [
        (
            with_bias(&[f32::NAN]),
            "`value.bias` has numbers that are not finite",
        ),
        (with_bias(&[f32::INFINITY]), "not finite"),
        (with_bias(&[1.0, 2.0]), "`value.bias` has shape [2]"),
        (without_rng, "`rng`"),
        (foreign, "`adam.mean` is missing"),
    ] {
        let message = ppo.load_state(&state).unwrap_err().to_string();
        assert!(message.contains(problem), "{message}");
        assert!(is_same(&before, &ppo.state().unwrap()));
    }
}

#[test]
fn minibatches_without_samples_to_compare_are_refused() {
    let settings = Settings::defaults(Algorithm::Ppo);
    let with = |changes: &str| settings.with(&toml::from_str(changes).unwrap());
    let rollout = "num_envs = 2\nnum_steps = 5\n";
    for (changes, problem) in [
        (
            "num_minibatches = 11\nnorm_adv = false",
            "more than the 10 samples",
        ),
        ("num_minibatches = 11", "more than the 10 samples"),
        ("num_minibatches = 6", "under 2 samples out of 10"),
        (
            "num_minibatches = 3\nlstm_size = 8",
            "more than the 2 environments",
        ),
    ] {
        let message = with(&format!("{rollout}{changes}"))
            .unwrap_err()
            .to_string();
        assert!(message.contains("num_minibatches"), "{message}");
        assert!(message.contains(problem), "{message}");
    }
    for changes in [
        "num_minibatches = 4",
        "num_minibatches = 10\nnorm_adv = false",
        "num_minibatches = 2\nlstm_size = 8",
    ] {
        with(&format!("{rollout}{changes}")).unwrap();
    }
}
