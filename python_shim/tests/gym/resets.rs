//! Resets beyond "all of them, now", and what follows the end of an episode.

use std::time::Duration;

use crate::common::{Rollout, make, scripted, twin::Twin};
use python_shim::{MakeOptions, ResetRequest, VecGymEnv};
use vec_env::{ActionBatch, Actions, AutoresetMode, EnvError, StepBatch, VecEnv};

const COUNTER: &str = "scripted_envs:Counter-v0";

fn reset(rollout: &mut Rollout, request: &ResetRequest) -> Result<(), EnvError> {
    let Rollout {
        env, obs, batch, ..
    } = rollout;
    env.reset_with(request, obs, batch)
}

#[test]
fn every_environment_can_have_a_seed_of_its_own() {
    let mut twin = Twin::new("CartPole-v1", 3, &MakeOptions::new());
    twin.reset(&ResetRequest::seeded(7, 3));
    let first = twin.rust.obs.clone();
    let request = ResetRequest {
        seeds: Some(vec![Some(3), None, Some(8)]),
        ..ResetRequest::default()
    };
    twin.reset(&request);
    assert!(
        twin.rust.obs[..16] != first[..16],
        "another seed than before"
    );
    twin.reset(&ResetRequest::seeded(7, 3));
    assert!(twin.rust.obs == first);
    let Rollout { env, obs, .. } = &mut twin.rust;
    VecEnv::reset(env, Some(7), obs).unwrap();
    assert!(twin.rust.obs == first, "one seed counts on");
}

#[test]
fn a_mask_restarts_only_those_that_it_names() {
    let mut twin = Twin::new(COUNTER, 3, &MakeOptions::new());
    twin.reset(&ResetRequest::seeded(0, 3));
    twin.step(&ActionBatch::Discrete(vec![1, 2, 3]), None);
    let request = ResetRequest::default()
        .with_mask(vec![false, true, false])
        .with_option("start", 9);
    twin.reset(&request);
    assert_eq!(twin.rust.obs, [1, 1, 0, 9, 1, 3]);
    assert_eq!(twin.rust.batch.episode_length, [1, 0, 1]);
    twin.step(&ActionBatch::Discrete(vec![1, 1, 1]), None);
    assert_eq!(twin.rust.obs, [2, 2, 1, 10, 2, 4]);
}

#[test]
fn one_environment_restarts_alone() {
    let mut rollout = Rollout::new(make("CartPole-v1", 2, &MakeOptions::new()).unwrap());
    rollout.reset(4).unwrap();
    let first = rollout.obs.clone();
    rollout.step(&[1, 1]).unwrap();
    let moved = rollout.obs.clone();
    reset(&mut rollout, &ResetRequest::only(1, Some(5), 2)).unwrap();
    let (zero, one) = rollout.obs.split_at(16);
    assert!(zero == &moved[..16], "environment 0 stays where it was");
    assert!(one == &first[16..], "environment 1 had seed 4 + 1 before");
    assert_eq!(rollout.batch.episode_length, [1, 0]);
}

#[test]
fn a_reset_can_be_begun_and_awaited() {
    let mut rollout = Rollout::new(scripted("Counter", 2).unwrap());
    let Rollout {
        env, obs, batch, ..
    } = &mut rollout;
    let wait = |env: &mut VecGymEnv, obs: &mut Vec<u8>, batch: &mut StepBatch| {
        env.reset_wait(obs, batch, Some(Duration::from_secs(60)))
    };
    let error = wait(env, obs, batch).unwrap_err();
    assert!(
        matches!(error, EnvError::Order(_)),
        "none was begun: {error}"
    );
    let request = ResetRequest::default().with_option("start", 4);
    env.reset_async(&request).unwrap();
    let error = env.send_to(Actions::Discrete(&[0, 0]), None).unwrap_err();
    assert!(matches!(error, EnvError::Order(_)), "not over yet: {error}");
    wait(env, obs, batch).unwrap();
    assert_eq!(*obs, [0, 4, 0, 4]);
    env.reset_async(&request).unwrap();
    VecEnv::reset(env, None, obs).unwrap();
    assert_eq!(*obs, [0, 0, 0, 0], "a reset drops the reset before it");
    rollout.step(&[1, 2]).unwrap();
}

#[test]
fn requests_that_cannot_be_are_refused_and_harmless() {
    let mut rollout = Rollout::new(scripted("Counter", 2).unwrap());
    let masked = ResetRequest::default().with_mask(vec![true, false]);
    let error = reset(&mut rollout, &masked).unwrap_err();
    assert!(
        matches!(error, EnvError::Order(_)),
        "not the first reset: {error}"
    );
    rollout.reset(0).unwrap();
    for request in [
        ResetRequest::default().with_mask(vec![false, false]),
        ResetRequest::default().with_mask(vec![true]),
        ResetRequest {
            seeds: Some(vec![Some(1)]),
            ..ResetRequest::default()
        },
    ] {
        let error = reset(&mut rollout, &request).unwrap_err();
        assert!(error.to_string().starts_with("ValueError"), "{error}");
    }
    rollout.step(&[1, 1]).unwrap();
    assert_eq!(rollout.obs, [1, 1, 1, 1]);
}

fn in_mode(autoreset: &str) -> Twin {
    let mut twin = Twin::new(COUNTER, 2, &MakeOptions::new().with("autoreset", autoreset));
    twin.reset(&ResetRequest::seeded(0, 2));
    for _ in 0..3 {
        twin.step(&ActionBatch::Discrete(vec![1, 2]), None);
    }
    assert_eq!(twin.rust.batch.truncated, [true, true]);
    assert_eq!(twin.rust.batch.episodes.len(), 2);
    twin
}

#[test]
fn same_step_autoreset_shows_the_next_episode_at_once() {
    let mut twin = in_mode("same-step");
    assert_eq!(twin.rust.env.autoreset_mode(), AutoresetMode::SameStep);
    assert_eq!(twin.rust.obs, [0, 0, 0, 0]);
    assert_eq!(
        twin.rust.batch.final_obs,
        [(0, vec![3, 3]), (1, vec![3, 6])]
    );
    assert_eq!(twin.rust.batch.episode_length, [3, 3]);
    twin.step(&ActionBatch::Discrete(vec![1, 2]), None);
    assert_eq!(twin.rust.obs, [1, 1, 1, 2]);
}

#[test]
fn next_step_autoreset_takes_a_step_for_it() {
    let mut twin = in_mode("next-step");
    assert_eq!(twin.rust.env.autoreset_mode(), AutoresetMode::NextStep);
    assert_eq!(twin.rust.obs, [3, 3, 3, 6]);
    assert!(twin.rust.batch.final_obs.is_empty());
    twin.step(&ActionBatch::Discrete(vec![4, 4]), None);
    assert_eq!(twin.rust.obs, [0, 0, 0, 0]);
    assert_eq!(twin.rust.batch.reward, [0.0, 0.0]);
}

#[test]
fn without_autoreset_a_mask_restarts() {
    let mut twin = in_mode("disabled");
    assert_eq!(twin.rust.env.autoreset_mode(), AutoresetMode::Disabled);
    assert_eq!(twin.rust.obs, [3, 3, 3, 6]);
    let error = twin.rust.send(&[0, 0]).unwrap_err();
    assert!(matches!(error, EnvError::Order(_)), "{error}");
    twin.reset(&ResetRequest::default().with_mask(vec![true, true]));
    twin.step(&ActionBatch::Discrete(vec![1, 2]), None);
    assert_eq!(twin.rust.obs, [1, 1, 1, 2]);
}
