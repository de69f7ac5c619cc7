//! Looking into the environments of a batch: pictures, attributes, states.

use crate::common::{GAME, Rollout, actions, bytes, make, scripted, twin::Twin};
use python_shim::{
    Array, ArrayData, MakeOptions, ResetRequest, Value, VecGymEnv, pyo3::prelude::*,
};
use vec_env::{ActionBatch, EnvError, VecEnv};

fn game_twin() -> Twin {
    let mut twin = Twin::new(GAME, 3, &MakeOptions::new().with("backend", "sync"));
    twin.reset(&ResetRequest::seeded(2, 3));
    for step in 0..30 {
        twin.step(&ActionBatch::Discrete(actions(step, 3, 6)), None);
    }
    twin
}

#[test]
fn pictures_are_those_of_python() {
    let mut twin = game_twin();
    let images = twin.rust.env.render().unwrap();
    let tiles = twin.rust.env.render_tiles().unwrap();
    assert_eq!(twin.rust.env.render_at(1).unwrap(), images[1]);
    assert_eq!(
        (images[0].width, images[0].height, images.len()),
        (160, 210, 3)
    );
    Python::attach(|py| {
        let python = twin.python.bind(py);
        let pictures = python.call_method0("render").unwrap();
        for (index, image) in images.iter().enumerate() {
            let picture = pictures.get_item(index).unwrap();
            assert!(image.rgb == bytes(&picture), "environment {index}");
        }
        let picture = python.call_method0("render_tiles").unwrap();
        let shape: [usize; 3] = picture.getattr("shape").unwrap().extract().unwrap();
        assert_eq!([tiles.height, tiles.width, 3], shape);
        assert!(tiles.rgb == bytes(&picture));
    });
    twin.rust.send(&[0, 0, 0]).unwrap();
    let error = twin.rust.env.render().unwrap_err();
    assert!(matches!(error, EnvError::Order(_)), "in flight: {error}");
}

#[test]
fn a_state_brought_back_replays_identically() {
    let mut twin = game_twin();
    let states = twin.rust.env.save_state(None).unwrap();
    let first = twin.rust.env.save_state(Some(&[2])).unwrap();
    assert_eq!((states.len(), first.len()), (3, 1));
    let play = |rollout: &mut Rollout| -> Vec<Vec<u8>> {
        (0..40)
            .map(|step| {
                rollout.step(&actions(step, 3, 6)).unwrap();
                rollout.obs.clone()
            })
            .collect()
    };
    let seen = twin.rust.obs.clone();
    let played = play(&mut twin.rust);
    assert!(played[39] != seen);
    let restore = |rollout: &mut Rollout| {
        let Rollout {
            env, obs, batch, ..
        } = rollout;
        env.restore_state(&states, None, obs, batch).unwrap();
    };
    restore(&mut twin.rust);
    assert!(twin.rust.obs == seen);
    assert_eq!(twin.rust.batch.episode_length, [30; 3]);
    assert!(play(&mut twin.rust) == played);

    let options = MakeOptions::new().with("backend", "sync");
    let mut other = Rollout::new(make(GAME, 3, &options).unwrap());
    other.reset(9).unwrap();
    restore(&mut other);
    assert!(play(&mut other) == played, "in another batch");

    let row = twin.rust.env.obs_spec().num_bytes();
    let Rollout {
        env, obs, batch, ..
    } = &mut other;
    env.restore_state(&first, Some(&[0]), obs, batch).unwrap();
    assert!(obs[..row] == seen[2 * row..], "state 2 in environment 0");
    assert!(obs[row..] == played[39][row..], "the others stay");
}

/// As training asks for it: plain data only.
#[test]
fn states_of_games_pass_through_the_trait_and_pickles_do_not() {
    let mut game = game_twin().rust;
    let mut env: &mut dyn VecEnv = &mut game.env;
    let (states, seen) = (env.save_state().unwrap(), game.obs.clone());
    game.step(&actions(0, 3, 6)).unwrap();
    let played = game.obs.clone();
    env = &mut game.env;
    let mut damaged = states.clone();
    damaged[2][200] ^= 1;
    for bad in [&states[..2], &damaged] {
        let error = env.restore_state(bad, &mut game.obs).unwrap_err();
        assert!(matches!(error, EnvError::State(_)), "{error}");
    }
    env.restore_state(&states, &mut game.obs).unwrap();
    assert!(game.obs == seen);
    game.step(&actions(0, 3, 6)).unwrap();
    assert!(game.obs == played);

    let mut pole = Rollout::new(make("CartPole-v1", 2, &MakeOptions::new()).unwrap());
    pole.reset(0).unwrap();
    let states = pole.env.save_state(None).unwrap();
    let env: &mut dyn VecEnv = &mut pole.env;
    for error in [
        env.save_state().unwrap_err(),
        env.restore_state(&states, &mut pole.obs).unwrap_err(),
    ] {
        assert!(matches!(error, EnvError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("pickle"), "{error}");
    }
}

fn call(env: &mut VecGymEnv, name: &str, args: &[Value]) -> Value {
    env.call(name, args, &[], Some(&[0])).unwrap().remove(0)
}

#[test]
fn values_go_to_python_and_back() {
    let mut rollout = Rollout::new(scripted("Talking", 2).unwrap());
    rollout.reset(0).unwrap();
    let array = |data| {
        let shape = vec![1, 2];
        Value::Array(Array { shape, data })
    };
    let values = vec![
        Value::None,
        true.into(),
        i64::MIN.into(),
        0.1.into(),
        "Zeichen: ü".into(),
        Value::Bytes(vec![0, 255]),
        vec![1, 2].into(),
        Value::Map(vec![
            ("b".to_owned(), 1.into()),
            ("a".to_owned(), Value::None),
        ]),
        array(ArrayData::Bool(vec![true, false])),
        array(ArrayData::U8(vec![0, 255])),
        array(ArrayData::I64(vec![i64::MIN, 1])),
        array(ArrayData::F32(vec![0.5, f32::INFINITY])),
        array(ArrayData::F64(vec![0.1, -2.0])),
    ];
    let types = [
        "NoneType",
        "bool",
        "int",
        "float",
        "str",
        "bytes",
        "list",
        "dict",
        "ndarray bool",
        "ndarray uint8",
        "ndarray int64",
        "ndarray float32",
        "ndarray float64",
    ];
    assert_eq!(
        call(&mut rollout.env, "types", &values),
        Value::from(types.to_vec())
    );
    let named = ("key", Value::from("word"));
    let answers = rollout
        .env
        .call("echo", &values, std::slice::from_ref(&named), None)
        .unwrap();
    let echo = Value::List(vec![
        Value::List(values),
        Value::Map(vec![("key".to_owned(), named.1)]),
    ]);
    assert_eq!(answers, [echo.clone(), echo]);
}

#[test]
fn what_only_python_has_becomes_the_next_of_ours() {
    let mut rollout = Rollout::new(scripted("Talking", 1).unwrap());
    rollout.reset(0).unwrap();
    let array = |shape: [usize; 2], data| {
        let shape = shape.to_vec();
        Value::Array(Array { shape, data })
    };
    let scalars = Value::List(vec![(-3).into(), 0.5.into(), true.into(), "four".into()]);
    let expected = [
        ("scalars", scalars),
        (
            "small",
            array([2, 3], ArrayData::I64(vec![0, 1, 2, 3, 4, 5])),
        ),
        (
            "strided",
            array([3, 2], ArrayData::F64(vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])),
        ),
        ("words", vec!["a", "bc"].into()),
        ("memory", Value::Bytes(b"ab".to_vec())),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(
        call(&mut rollout.env, "numbers", &[]),
        Value::Map(expected.to_vec())
    );
    for (name, type_name) in [
        ("itself", "scripted_envs.Talking"),
        ("picture", "complex64"),
    ] {
        let error = rollout.env.call(name, &[], &[], None).unwrap_err();
        assert!(matches!(error, EnvError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains(type_name), "{error}");
    }
}

#[test]
fn infos_of_ones_own_arrive() {
    let mut rollout = Rollout::new(scripted("Talking", 2).unwrap());
    rollout.reset(0).unwrap();
    rollout.step(&[1, 3]).unwrap();
    let extras = rollout.env.extras();
    let twice = extras.iter().find(|(name, _)| name == "twice");
    let Some((_, Value::Array(array))) = twice else {
        unreachable!("{:?}", extras)
    };
    assert_eq!(array.data, ArrayData::I64(vec![2, 6]));
    assert!(!extras.iter().any(|(name, _)| name == "self"));
}

#[test]
fn attributes_are_read_and_set() {
    let mut rollout = Rollout::new(scripted("Talking", 3).unwrap());
    rollout.reset(0).unwrap();
    let env = &mut rollout.env;
    let labels = |env: &mut VecGymEnv| env.get_attr("label", None).unwrap();
    env.set_attr("label", &["all".into()], None).unwrap();
    assert_eq!(labels(env), vec![Value::from("all"); 3]);
    env.set_attr("label", &["a".into(), "c".into()], Some(&[0, 2]))
        .unwrap();
    assert_eq!(labels(env), ["a", "all", "c"].map(Value::from));
    let some = env.get_attr("label", Some(&[2, 0])).unwrap();
    assert_eq!(some, ["c", "a"].map(Value::from));
    let error = env
        .set_attr("label", &["a".into(), "b".into()], None)
        .unwrap_err();
    assert!(error.to_string().contains("2 values"), "{error}");
    let error = env.get_attr("no_such_thing", None).unwrap_err();
    assert!(error.to_string().contains("no_such_thing"), "{error}");
    rollout.step(&[0, 0, 0]).unwrap();
}

#[test]
fn what_a_backend_cannot_do_names_one_that_can() {
    let options = MakeOptions::new().with("backend", "ale");
    let mut rollout = Rollout::new(make(GAME, 1, &options).unwrap());
    rollout.reset(0).unwrap();
    for error in [
        rollout.env.save_state(None).unwrap_err(),
        rollout.env.get_attr("lives", None).unwrap_err(),
    ] {
        assert!(matches!(error, EnvError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("sync"), "{error}");
    }
    rollout.step(&[0]).unwrap();
}
