//! Python exceptions on their way to Rust: nothing of them is lost, and mistakes can be told apart.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{GAME, Rollout, make, scripted, start};
use python_shim::{
    EnvError, MakeOptions, VecEnv, VecGymEnv,
    pyo3::{
        exceptions::{PyRuntimeError, PyTypeError, PyValueError},
        prelude::*,
    },
};

fn python_error(error: &EnvError) -> &PyErr {
    match error {
        EnvError::Python(error) => error,
        other => unreachable!("not a Python exception: {other}"),
    }
}

#[test]
fn an_exception_in_step_keeps_type_message_cause_and_traceback() {
    let mut rollout = Rollout::new(scripted("Raising", 2).unwrap());
    rollout.reset(0).unwrap();
    rollout.step(&[0, 0]).unwrap();
    let error = rollout.step(&[3, 4]).unwrap_err();
    let EnvError::Worker {
        env_indices, doing, ..
    } = &error
    else {
        unreachable!("another error: {error}")
    };
    assert_eq!(*env_indices, [0]);
    assert!(doing.contains("action 3"), "{doing}");
    assert!(
        error
            .summary()
            .contains("ZeroDivisionError: the second step divides by zero"),
        "{}",
        error.summary()
    );
    assert!(!error.summary().contains("Traceback"));
    let text = error.to_string();
    assert!(text.starts_with(&error.summary()), "{text}");
    assert!(text.contains("Traceback (most recent call last)"), "{text}");
    assert!(
        text.contains("scripted_envs.py\", line"),
        "the place: {text}"
    );
    assert!(
        text.contains("KeyError: 'cartridge'") && text.contains("direct cause"),
        "the cause: {text}"
    );
    assert!(!error.is_usage_error(), "a bug is shown whole");
    assert!(
        matches!(rollout.env.send(&[0, 0]), Err(EnvError::Order(_))),
        "a failed batch takes no step"
    );
    Python::attach(|py| {
        let error = PyErr::from(error);
        assert!(
            error.is_instance_of::<PyRuntimeError>(py),
            "it stays a WorkerError"
        );
    });
}

/// Exceptions cross from a worker process as well.
#[test]
fn an_exception_in_a_worker_arrives() {
    let options = MakeOptions::new().with("backend", "async");
    let mut rollout = Rollout::new(make("scripted_envs:Raising-v0", 2, &options).unwrap());
    rollout.reset(0).unwrap();
    rollout.step(&[0, 0]).unwrap();
    let error = rollout.step(&[0, 0]).unwrap_err();
    assert!(matches!(error, EnvError::Worker { .. }), "{error}");
    assert!(
        error.summary().contains("the second step divides by zero"),
        "{}",
        error.summary()
    );
    assert!(!error.summary().contains('\n'), "{}", error.summary());
    let text = error.to_string();
    assert!(
        text.contains("scripted_envs.py\", line") && text.contains("KeyError: 'cartridge'"),
        "the place in the worker: {text}"
    );
}

#[test]
fn an_unknown_id_is_a_usage_error_that_names_it() {
    for id in [
        "SpaceInvadrsNoFrameskip-v4",
        "NoSuchEnv-v0",
        "no_such_module:Env-v0",
    ] {
        let error = make(id, 1, &MakeOptions::new()).unwrap_err();
        assert!(error.summary().contains(id), "{}", error.summary());
        assert!(
            !error.summary().contains("Traceback"),
            "{}",
            error.summary()
        );
        assert!(error.is_usage_error(), "{}", error.summary());
    }
}

#[test]
fn an_unknown_or_mistyped_setting_is_a_usage_error_that_names_it() {
    let error = make(GAME, 1, &MakeOptions::new().with("frame_skp", 4)).unwrap_err();
    Python::attach(|py| assert!(python_error(&error).is_instance_of::<PyTypeError>(py)));
    assert!(
        error.summary().contains("frame_skp") && error.is_usage_error(),
        "{}",
        error.summary()
    );
    let error = make(GAME, 0, &MakeOptions::new()).unwrap_err();
    Python::attach(|py| assert!(python_error(&error).is_instance_of::<PyValueError>(py)));
    assert!(error.is_usage_error());
}

#[test]
fn errors_of_this_crate_become_builtin_exceptions() {
    start();
    let count = PyErr::from(EnvError::ActionCount {
        expected: 2,
        got: 1,
        num_values: 1,
    });
    let closed = PyErr::from(EnvError::Closed);
    assert_eq!(
        count.to_string(),
        "ValueError: expected 2 actions, one for each environment, got 1"
    );
    assert_eq!(
        closed.to_string(),
        "RuntimeError: the environment is closed"
    );
    let original = VecGymEnv::new("NoSuchEnv-v0", None, 1)
        .unwrap_err()
        .to_string();
    let and_back =
        PyErr::from(make("NoSuchEnv-v0", 1, &MakeOptions::new()).unwrap_err()).to_string();
    assert_eq!(original, and_back, "a Python exception stays itself");
}
