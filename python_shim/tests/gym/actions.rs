//! Actions that are more than one choice: real numbers, two players, random ones.

use crate::common::{GAME, make, twin::Twin};
use python_shim::{MakeOptions, ResetRequest, pyo3::prelude::*};
use vec_env::{ActionBatch, ActionSpace, Actions, EnvError, VecEnv};

/// Steps by actions that the batch draws, which must be those that Python draws.
fn compare_sampled(twin: &mut Twin, num_steps: usize) {
    twin.reset(&ResetRequest::seeded(5, twin.rust.env.num_envs()));
    twin.rust.env.seed_actions(11).unwrap();
    let space = Python::attach(|py| {
        let space = twin.python.getattr(py, "action_space").unwrap();
        space.call_method1(py, "seed", (11,)).unwrap();
        space
    });
    for _ in 0..num_steps {
        let drawn = twin.rust.env.sample_actions().unwrap();
        let expected = Python::attach(|py| {
            let drawn = space.call_method0(py, "sample").unwrap();
            let drawn = drawn.call_method1(py, "astype", ("float64",)).unwrap();
            crate::common::items::<f64>(drawn.bind(py))
        });
        let ours: Vec<f64> = match &drawn {
            ActionBatch::Discrete(values) => values.iter().map(|&value| value as f64).collect(),
            ActionBatch::Continuous(values) => values.iter().copied().map(f64::from).collect(),
        };
        assert_eq!(ours, expected);
        twin.step(&drawn, None);
    }
}

#[test]
fn discrete_actions_are_drawn_as_python_draws_them() {
    let mut twin = Twin::new("CartPole-v1", 3, &MakeOptions::new());
    let space = ActionSpace::Discrete { n: 2 };
    assert_eq!(*VecEnv::action_space(&twin.rust.env), space);
    compare_sampled(&mut twin, 20);
}

#[test]
fn polar_actions_of_a_game() {
    for backend in ["ale", "sync"] {
        let options = MakeOptions::new()
            .with("continuous", true)
            .with("backend", backend);
        let mut twin = Twin::new(GAME, 2, &options);
        let env = &twin.rust.env;
        let ActionSpace::Box { shape, low, high } = VecEnv::action_space(env) else {
            unreachable!("{:?}", VecEnv::action_space(env))
        };
        assert_eq!(
            (shape.as_slice(), low[0], high[0]),
            ([3].as_slice(), 0.0, 1.0)
        );
        assert_eq!(env.action_space(), 0);
        compare_sampled(&mut twin, 60);
        let error = twin.rust.send(&[0, 0]).unwrap_err();
        assert!(matches!(error, EnvError::ActionKind { .. }), "{error}");
        let send = |values: &[f32]| {
            let mut twin = Twin::new("MountainCarContinuous-v0", 1, &MakeOptions::new());
            twin.reset(&ResetRequest::seeded(0, 1));
            twin.rust.env.send_to(Actions::Continuous(values), None)
        };
        let error = send(&[0.0, 0.0]).unwrap_err();
        assert!(
            matches!(
                error,
                EnvError::ActionCount {
                    expected: 1,
                    got: 2,
                    ..
                }
            ),
            "{error}"
        );
        let error = send(&[7.0]).unwrap_err();
        assert!(error.to_string().contains('7'), "out of bounds: {error}");
        send(&[0.5]).unwrap();
    }
}

#[test]
fn two_players_of_a_game() {
    let options = MakeOptions::new().with("num_players", 2);
    let mut twin = Twin::new("PongNoFrameskip-v4", 2, &options);
    let env = &mut twin.rust.env;
    assert_eq!(env.num_players(), 2);
    assert_eq!(env.obs_spec().shape, [2, 4, 84, 84]);
    let ActionSpace::MultiDiscrete { nvec } = VecEnv::action_space(env).clone() else {
        unreachable!("{:?}", VecEnv::action_space(env))
    };
    assert_eq!(nvec.len(), 2);
    compare_sampled(&mut twin, 120);
    assert_eq!(twin.rust.batch.reward.len(), 4);
    let returns: Vec<i64> = twin
        .rust
        .batch
        .episode_return
        .iter()
        .map(|&sum| sum as i64)
        .collect();
    assert!(
        returns[0] != 0,
        "no point was made, so nothing was shown about rewards"
    );
    assert_eq!(returns[0], -returns[1], "what one wins the other loses");
    let error = twin.rust.send(&[0, 0]).unwrap_err();
    assert!(
        matches!(
            error,
            EnvError::ActionCount {
                expected: 4,
                got: 2,
                ..
            }
        ),
        "{error}"
    );
    let error = twin.rust.send(&[0, 0, 0, nvec[1]]).unwrap_err();
    assert!(
        matches!(error, EnvError::ActionRange { env: 1, .. }),
        "{error}"
    );
}

#[test]
fn real_numbers_are_refused_where_there_are_choices() {
    let mut env = make("CartPole-v1", 1, &MakeOptions::new()).unwrap();
    let error = env.send_to(Actions::Continuous(&[0.0]), None).unwrap_err();
    assert!(matches!(error, EnvError::ActionKind { .. }), "{error}");
    assert!(error.to_string().contains("Discrete"), "{error}");
}
