//! Batches smaller than all environments, waiting no longer than asked, and environments that fail.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{GAME, Rollout, actions, make, twin::Twin};
use python_shim::{MakeOptions, ResetRequest, Value};
use vec_env::{ActionBatch, Actions, EnvError, ObsBuffer, StepBatch, VecEnv};

const COUNTER: &str = "scripted_envs:Counter-v0";

fn of_two() -> MakeOptions {
    MakeOptions::new()
        .with("backend", "sync")
        .with("batch_size", 2)
}

/// The first two that are ready, again and again: the same ones that Python gets.
fn compare_batches(id: &str, num_steps: i64) -> Twin {
    let mut twin = Twin::new(id, 5, &of_two());
    assert_eq!(twin.rust.env.batch_size(), 2);
    twin.reset(&ResetRequest::seeded(3, 5));
    let num_actions = twin.rust.env.action_space();
    let mut seen = [0; 5];
    twin.step(&ActionBatch::Discrete(actions(0, 5, num_actions)), None);
    for step in 1..num_steps {
        for &env in &twin.rust.batch.env_ids {
            seen[env] += 1;
        }
        twin.step(&ActionBatch::Discrete(actions(step, 2, num_actions)), None);
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    twin
}

#[test]
fn a_batch_holds_those_that_are_ready() {
    let mut twin = compare_batches("CartPole-v1", 100);
    let error = twin.rust.send(&[0, 0, 0, 0, 0]).unwrap_err();
    assert!(
        matches!(
            error,
            EnvError::ActionCount {
                expected: 2,
                got: 5,
                ..
            }
        ),
        "{error}"
    );
    let error = twin.rust.send(&[0, 2]).unwrap_err();
    let second = twin.rust.batch.env_ids[1];
    assert!(
        matches!(error, EnvError::ActionRange { env, .. } if env == second),
        "{error} is of environment {second}"
    );
    let error = twin
        .rust
        .env
        .recv_into(&mut [0; 5 * 16], &mut StepBatch::default(), None)
        .unwrap_err();
    assert!(
        matches!(
            error,
            EnvError::BufferSize {
                expected: 32,
                got: 80
            }
        ),
        "{error}"
    );
    twin.recv();
}

#[test]
fn batches_of_a_game_are_those_of_python() {
    compare_batches(GAME, 150);
}

#[test]
fn actions_can_be_for_some_environments() {
    let mut twin = Twin::new(COUNTER, 3, &MakeOptions::new());
    twin.reset(&ResetRequest::seeded(0, 3));
    twin.step(&ActionBatch::Discrete(vec![4, 1]), Some(&[2, 0]));
    assert_eq!(twin.rust.batch.env_ids, [2, 0]);
    assert_eq!(twin.rust.obs[..4], [1, 4, 1, 1]);
    twin.step(&ActionBatch::Discrete(vec![3]), Some(&[1]));
    assert_eq!(twin.rust.obs[..2], [1, 3]);
    let env = &mut twin.rust.env;
    env.send_to(Actions::Discrete(&[1]), Some(&[1])).unwrap();
    let error = env
        .send_to(Actions::Discrete(&[1]), Some(&[1]))
        .unwrap_err();
    assert!(matches!(error, EnvError::Order(_)), "in flight: {error}");
    env.send_to(Actions::Discrete(&[1]), Some(&[0])).unwrap();
    let Rollout {
        env, obs, batch, ..
    } = &mut twin.rust;
    env.recv_into(&mut obs[..4], batch, None).unwrap();
    assert_eq!(batch.env_ids, [1, 0]);
    assert_eq!(obs[..4], [2, 4, 2, 2]);
}

#[test]
fn a_reset_of_all_can_be_taken_by_parts() {
    let mut rollout = Rollout::new(make(COUNTER, 4, &of_two()).unwrap());
    let Rollout {
        env, obs, batch, ..
    } = &mut rollout;
    env.reset_async(&ResetRequest::default()).unwrap();
    for expected in [[0, 1], [2, 3]] {
        env.recv_into(&mut obs[..4], batch, None).unwrap();
        assert_eq!(batch.env_ids, expected);
    }
    env.send_to(Actions::Discrete(&[1, 1]), None).unwrap();
    env.recv_into(&mut obs[..4], batch, None).unwrap();
    assert_eq!(batch.env_ids, [2, 3]);
    env.send_to(Actions::Discrete(&[1, 1]), None).unwrap();
    VecEnv::reset(env, None, obs).unwrap();
    env.send_to(Actions::Discrete(&[1, 1, 1, 1]), None).unwrap();
}

#[test]
fn waiting_ends_in_time_and_the_step_goes_on() {
    let options = MakeOptions::new().with("backend", "async");
    let env = make("scripted_envs:Sleeping-v0", 1, &options).unwrap();
    let mut rollout = Rollout::new(env);
    rollout.reset(0).unwrap();
    let Rollout { env, batch, .. } = &mut rollout;
    let obs = ObsBuffer::new(2);
    env.send(Actions::Discrete(&[3]), obs.slot()).unwrap();
    let within = |millis| Some(Duration::from_millis(millis));
    let error = env.recv_timeout(batch, within(1)).unwrap_err();
    assert!(matches!(error, EnvError::Timeout), "{error}");
    env.recv_timeout(batch, within(60_000)).unwrap();
    assert_eq!(obs.take(), [1, 3]);
}

#[expect(unsafe_code, reason = "libc::kill")]
fn kill(pid: u32) {
    // SAFETY: a system call on numbers; the process is a worker of this test's own.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) }, 0);
}

#[test]
fn a_killed_worker_is_named_and_made_anew() {
    let options = MakeOptions::new()
        .with("backend", "async")
        .with("num_workers", 2);
    let env = make("scripted_envs:Talking-v0", 4, &options).unwrap();
    let mut rollout: Rollout = Rollout::new(env);
    rollout.reset(0).unwrap();
    rollout.step(&[1, 2, 3, 4]).unwrap();
    let pids = rollout.env.call("pid", &[], &[], None).unwrap();
    let workers = rollout.env.worker_pids().unwrap();
    assert_eq!(workers.len(), 2);
    assert_eq!(Value::Int(workers[0].into()), pids[0]);
    let of_lost: Vec<usize> = (0..4).filter(|&env| pids[env] == pids[0]).collect();
    assert_eq!(of_lost.len(), 2, "two workers: {pids:?}");
    kill(workers[0]);
    let error = rollout.step(&[1, 1, 1, 1]).unwrap_err();
    let EnvError::Worker { env_indices, .. } = &error else {
        unreachable!("another error: {error}")
    };
    assert_eq!(*env_indices, of_lost);
    assert!(!error.is_usage_error());
    assert_eq!(rollout.env.restart_workers().unwrap(), of_lost);
    rollout.recv().unwrap();
    let Rollout { obs, batch, .. } = &rollout;
    for index in 0..4 {
        let is_lost = of_lost.contains(&index);
        assert_eq!(batch.worker_restarted[index], is_lost);
        assert_eq!(batch.truncated[index], is_lost);
        let row = if is_lost {
            [0, 0]
        } else {
            [2, index as u8 + 2]
        };
        assert_eq!(obs[index * 2..][..2], row);
    }
    rollout.step(&[1, 1, 1, 1]).unwrap();
    assert_eq!(rollout.batch.worker_restarted, [false; 4]);
}

#[test]
fn a_reset_that_failed_can_be_done_again() {
    let options = MakeOptions::new().with("backend", "async");
    let env = make("scripted_envs:Talking-v0", 2, &options).unwrap();
    let mut rollout = Rollout::new(env);
    for _ in 0..2 {
        rollout.reset(0).unwrap();
        kill(rollout.env.worker_pids().unwrap()[1]);
        let error = rollout.reset(0).unwrap_err();
        assert!(matches!(error, EnvError::Worker { .. }), "{error}");
        assert_eq!(rollout.env.restart_workers().unwrap(), [1]);
        rollout.reset(0).unwrap();
        rollout.step(&[1, 2]).unwrap();
        assert_eq!(rollout.obs, [1, 1, 1, 2]);
        // Killed before it is asked: a worker that was asked may be done before it dies.
        kill(rollout.env.worker_pids().unwrap()[1]);
        rollout.send(&[1, 1]).unwrap();
        assert!(rollout.recv().is_err());
        rollout.env.restart_workers().unwrap();
    }
}
