//! Python exceptions on their way to Rust: nothing of them is lost, and mistakes can be told apart.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{GAME, Rollout, make, scripted, start};
use python_shim::{
    MakeOptions, VecGymEnv,
    pyo3::{exceptions::PyRuntimeError, prelude::*},
};
use vec_env::EnvError;

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
            .to_string()
            .contains("ZeroDivisionError: the second step divides by zero"),
        "{}",
        error.to_string()
    );
    let advice = "restart_workers()";
    assert!(!error.to_string().contains("Traceback") && !error.to_string().contains(advice));
    let text = error.details().unwrap();
    assert!(text.contains("Traceback (most recent call last)"), "{text}");
    assert!(
        text.contains("scripted_envs.py\", line"),
        "the place: {text}"
    );
    assert!(
        text.contains("KeyError: 'cartridge'") && text.contains("direct cause"),
        "the cause: {text}"
    );
    assert!(!text.contains(advice), "Python's advice: {text}");
    assert!(!error.is_usage_error(), "a bug is shown whole");
    assert!(
        matches!(rollout.send(&[0, 0]), Err(EnvError::Order(_))),
        "a failed batch takes no step"
    );
    Python::attach(|py| {
        let error = python_shim::py_err(&error);
        assert!(
            error.is_instance_of::<PyRuntimeError>(py),
            "as WorkerError is"
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
        error
            .to_string()
            .contains("the second step divides by zero"),
        "{}",
        error.to_string()
    );
    assert!(!error.to_string().contains('\n'), "{}", error.to_string());
    let text = error.details().unwrap();
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
        assert!(error.to_string().contains(id), "{}", error.to_string());
        assert!(
            !error.to_string().contains("Traceback"),
            "{}",
            error.to_string()
        );
        assert!(error.is_usage_error(), "{}", error.to_string());
    }
}

#[test]
fn an_unknown_or_mistyped_setting_is_a_usage_error_that_names_it() {
    let error = make(GAME, 1, &MakeOptions::new().with("frame_skp", 4)).unwrap_err();
    assert!(error.to_string().starts_with("TypeError"), "{error}");
    assert!(
        error.to_string().contains("frame_skp") && error.is_usage_error(),
        "{}",
        error.to_string()
    );
    let error = make(GAME, 0, &MakeOptions::new()).unwrap_err();
    assert!(error.to_string().starts_with("ValueError"), "{error}");
    assert!(error.is_usage_error());
}

/// A batch raises the same whether Python runs this program or this program runs Python.
#[test]
fn errors_become_the_exceptions_of_modules_in_rust() {
    start();
    let backend = |is_usage| EnvError::Backend {
        message: "no".to_owned(),
        details: None,
        is_usage,
    };
    let action_bounds = EnvError::ActionBounds {
        env: 0,
        action: vec![2.0],
        low: vec![-1.0],
        high: vec![1.0],
    };
    let no_such_env = EnvError::NoSuchEnv {
        index: 2,
        num_envs: 2,
    };
    for (error, kind) in [
        (action_bounds, "ValueError"),
        (no_such_env, "ValueError"),
        (EnvError::State("no".to_owned()), "ValueError"),
        (EnvError::Unsupported("no".to_owned()), "ValueError"),
        (backend(true), "ValueError"),
        (backend(false), "RuntimeError"),
        (EnvError::Order("no".to_owned()), "RuntimeError"),
        (EnvError::Closed, "RuntimeError"),
    ] {
        let raised = python_shim::py_err(&error).to_string();
        assert_eq!(raised, format!("{kind}: {error}"));
        assert_eq!(raised, vec_env_python::exception(&error).to_string());
    }
}

#[test]
fn errors_of_this_crate_become_builtin_exceptions() {
    start();
    let count = python_shim::py_err(&EnvError::ActionCount {
        expected: 2,
        got: 1,
        num_values: 1,
    });
    let closed = python_shim::py_err(&EnvError::Closed);
    assert_eq!(
        count.to_string(),
        "ValueError: expected 2 actions, one for each environment, got 1"
    );
    assert_eq!(
        closed.to_string(),
        "RuntimeError: the environment is closed"
    );
    let original = VecGymEnv::new("NoSuchEnv-v0", None, 1).unwrap_err();
    let error = make("NoSuchEnv-v0", 1, &MakeOptions::new()).unwrap_err();
    assert_eq!(
        original.to_string().split_once(": ").unwrap().1,
        error.to_string(),
        "the message without the type"
    );
    assert_eq!(
        python_shim::env_error(&original).to_string(),
        error.to_string()
    );
}
