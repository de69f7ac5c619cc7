//! The methods of tch-rs' reinforcement-learning example, and the tensors that they give.

use crate::common::{GAME, actions, bytes, python_reset, python_twin, start};
// The trait is in scope on purpose: the inherent methods must win over its own.
use python_shim::{
    MakeOptions, PyResult, Step, VecGymEnv,
    pyo3::{exceptions::PyRuntimeError, prelude::*},
};
use tch::{Kind, Tensor};
use vec_env::VecEnv;

/// Compiles only as long as the signatures are those of the example.
const _: fn(&str, Option<&str>, i64) -> PyResult<VecGymEnv> = VecGymEnv::new;
const _: fn(&VecGymEnv) -> PyResult<Tensor> = VecGymEnv::reset;
const _: fn(&VecGymEnv, Vec<i64>) -> PyResult<Step> = VecGymEnv::step;
const _: fn(&VecGymEnv) -> i64 = VecGymEnv::action_space;
const _: for<'a> fn(&'a VecGymEnv) -> &'a [i64] = VecGymEnv::observation_space;

fn make(name: &str, nprocesses: i64) -> PyResult<VecGymEnv> {
    start();
    VecGymEnv::new(name, None, nprocesses)
}

#[test]
fn shapes_and_kinds() {
    let env = make(GAME, 3).unwrap();
    assert_eq!(env.action_space(), 6);
    assert_eq!(env.observation_space(), [3, 4, 84, 84]);
    assert_eq!(env.num_envs(), 3);
    let obs = env.reset().unwrap();
    assert_eq!(
        (obs.size().as_slice(), obs.kind()),
        ([3, 4, 84, 84].as_slice(), Kind::Float)
    );
    let Step {
        obs,
        reward,
        is_done,
    } = env.step(vec![0, 1, 2]).unwrap();
    assert_eq!(
        (obs.size().as_slice(), obs.kind()),
        ([3, 4, 84, 84].as_slice(), Kind::Float)
    );
    assert!(obs.max().double_value(&[]) > 1.0, "pixels are 0 to 255");
    for tensor in [reward, is_done] {
        assert_eq!(
            (tensor.size().as_slice(), tensor.kind()),
            ([3].as_slice(), Kind::Float)
        );
    }
}

#[test]
fn a_step_has_as_many_rows_as_are_received() {
    start();
    for (name, options, actions, rewards, ends) in [
        (
            "batch_size",
            MakeOptions::new().with("batch_size", 2),
            4,
            2,
            2,
        ),
        (
            "num_players",
            MakeOptions::new().with("num_players", 2),
            8,
            8,
            4,
        ),
    ] {
        let env = VecGymEnv::make_vec("PongNoFrameskip-v4", 4, &options).unwrap();
        let _first = env.reset().unwrap();
        let step = env.step(vec![0; actions]).unwrap();
        assert_eq!(step.obs.size()[0], ends, "{name}");
        assert_eq!(step.reward.size(), [rewards], "{name}");
        assert_eq!(step.is_done.size(), [ends], "{name}");
    }
}

#[test]
fn a_step_is_the_one_that_python_makes() {
    let mut env = make(GAME, 2).unwrap();
    let mut first = vec![0; 2 * env.obs_spec().num_bytes()];
    VecEnv::reset(&mut env, Some(5), &mut first).unwrap();
    let mut dones = 0.0;
    Python::attach(|py| {
        let twin = python_twin(py, GAME, 2);
        python_reset(&twin, 5);
        for step in 0..400 {
            let actions = actions(step, 2, 6);
            let ours = env.step(actions.clone()).unwrap();
            let result = twin.call_method1("step", (actions,)).unwrap();
            let field = |index: usize| result.get_item(index).unwrap();
            let expected = Tensor::from_data_size(&bytes(&field(0)), &[2, 4, 84, 84], Kind::Uint8);
            assert_eq!(ours.obs, expected.to_kind(Kind::Float));
            assert_eq!(
                Vec::<f32>::try_from(&ours.reward).unwrap(),
                crate::common::items::<f32>(&field(1))
            );
            let done = field(2)
                .call_method1("__or__", (field(3),))
                .unwrap()
                .call_method1("astype", ("float32",))
                .unwrap();
            assert_eq!(
                Vec::<f32>::try_from(&ours.is_done).unwrap(),
                crate::common::items::<f32>(&done)
            );
            dones += ours.is_done.sum(Kind::Float).double_value(&[]);
        }
    });
    assert!(
        dones > 0.0,
        "no episode ended, so nothing was shown about is_done"
    );
}

#[test]
fn cartpole_takes_the_same_way() {
    let env = make("CartPole-v1", 2).unwrap();
    assert_eq!(
        (env.action_space(), env.observation_space()),
        (2, [2, 4].as_slice())
    );
    let obs = env.reset().unwrap();
    assert_eq!(
        (obs.size().as_slice(), obs.kind()),
        ([2, 4].as_slice(), Kind::Float)
    );
    assert!(
        obs.abs().max().double_value(&[]) <= 0.05,
        "Gymnasium starts CartPole within 0.05"
    );
    let dones: f64 = (0..60)
        .map(|_| {
            env.step(vec![1, 1])
                .unwrap()
                .is_done
                .sum(Kind::Float)
                .double_value(&[])
        })
        .sum();
    assert!(
        dones >= 2.0,
        "always pushing right ends an episode within ten or so steps"
    );
}

#[test]
fn mistakes_are_python_exceptions_in_words() {
    let message = |error: PyErr| error.to_string();
    let unknown = message(make("SpaceInvadrsNoFrameskip-v4", 1).unwrap_err());
    assert!(
        unknown.contains("`SpaceInvadrsNoFrameskip-v4`"),
        "{unknown}"
    );
    for count in [0, -1] {
        let error = message(make(GAME, count).unwrap_err());
        assert!(
            error.contains("ValueError") && error.contains(&count.to_string()),
            "{error}"
        );
    }
    let env = make(GAME, 1).unwrap();
    let error = env.step(vec![0]).unwrap_err();
    Python::attach(|py| assert!(error.is_instance_of::<PyRuntimeError>(py), "{error}"));
    assert!(error.to_string().contains("call reset first"), "{error}");
    let _ = env.reset().unwrap();
    let error = message(env.step(vec![]).unwrap_err());
    assert_eq!(
        error,
        "ValueError: expected 1 actions, one for each environment, got 0"
    );
    let error = message(env.step(vec![6]).unwrap_err());
    assert_eq!(
        error,
        "ValueError: action 6 of environment 0 is out of range: valid actions are 0 to 5"
    );
    env.step(vec![5]).unwrap();
}

#[test]
fn img_dir_receives_every_frame() {
    start();
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("new/images");
    let env = VecGymEnv::new(GAME, images.to_str(), 2).unwrap();
    let _ = env.reset().unwrap();
    let frames = |env: usize| {
        let names = std::fs::read_dir(&images)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| name.to_str().unwrap().starts_with(&format!("out{env}-")))
            .count()
    };
    let before = [frames(0), frames(1)];
    env.step(vec![0, 0]).unwrap();
    assert_eq!(
        [frames(0), frames(1)],
        before.map(|count| count + 4),
        "four frames for each step"
    );
    for entry in std::fs::read_dir(&images).unwrap() {
        assert!(
            std::fs::read(entry.unwrap().path())
                .unwrap()
                .starts_with(b"\x89PNG"),
            "a picture"
        );
    }
}

#[test]
fn an_img_dir_that_is_a_file_is_an_error() {
    start();
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = python_shim::env_error(&VecGymEnv::new(GAME, file.path().to_str(), 1).unwrap_err());
    assert!(
        error.to_string().contains(file.path().to_str().unwrap()),
        "{}",
        error.to_string()
    );
    assert!(error.is_usage_error());
}

/// Generic code sees the trait's methods although the inherent ones have the same name.
#[test]
fn generic_code_uses_the_trait() {
    fn first_obs<E: VecEnv>(env: &mut E) -> Vec<u8> {
        let mut obs = vec![0; env.num_envs() * env.obs_spec().num_bytes()];
        env.reset(Some(1), &mut obs).unwrap();
        obs
    }
    let mut env = make("CartPole-v1", 1).unwrap();
    let first = first_obs(&mut env);
    assert_eq!(first, first_obs(&mut env));
    assert!(first.iter().any(|byte| *byte != 0));
}
