//! `VecGymEnv` behind the trait `VecEnv`: the same data as Python gets, and clear refusals.

use crate::common::{GAME, Rollout, actions, make, scripted, twin::Twin};
use python_shim::{MakeOptions, ResetRequest, VecGymEnv};
use vec_env::{ActionBatch, Actions, Dtype, EnvError, Episode, ObsBuffer, StepBatch, VecEnv};

/// Steps an environment from Rust and from Python with one seed and the same actions.
fn compare_with_python(id: &str, num_envs: usize, num_steps: i64) -> usize {
    let mut twin = Twin::new(id, num_envs, &MakeOptions::new());
    twin.reset(&ResetRequest::seeded(7, num_envs));
    let mut ends = 0;
    for step in 0..num_steps {
        let actions = actions(step, num_envs, twin.rust.env.action_space());
        twin.step(&ActionBatch::Discrete(actions), None);
        ends += twin.rust.batch.episodes.len();
    }
    ends
}

#[test]
fn atari_is_what_python_receives() {
    let ends = compare_with_python(GAME, 3, 800);
    assert!(
        ends > 0,
        "no game ended, so nothing was shown about episodes"
    );
}

#[test]
fn float_observations_are_what_python_receives() {
    assert!(compare_with_python("CartPole-v1", 3, 200) > 0);
}

#[test]
fn specs_of_atari_and_of_flat_observations() {
    let env = make(GAME, 2, &MakeOptions::new().with("backend", "ale")).unwrap();
    assert_eq!((env.num_envs(), env.action_space()), (2, 6));
    assert_eq!(env.backend(), "ale");
    assert_eq!(
        (env.obs_spec().shape.as_slice(), env.obs_spec().dtype),
        ([4, 84, 84].as_slice(), Dtype::Uint8)
    );
    assert_eq!(env.obs_spec().num_bytes(), 4 * 84 * 84);
    let env = make("CartPole-v1", 2, &MakeOptions::new()).unwrap();
    assert_eq!(env.backend(), "sync");
    assert_eq!(
        (env.obs_spec().shape.as_slice(), env.obs_spec().dtype),
        ([4].as_slice(), Dtype::Float32)
    );
    assert_eq!(env.obs_spec().num_bytes(), 16);
}

#[test]
fn a_truncated_episode_gives_its_last_observation_and_its_record() {
    let mut rollout = Rollout::new(scripted("Counter", 2).unwrap());
    rollout.reset(0).unwrap();
    rollout.step(&[1, 4]).unwrap();
    rollout.step(&[1, 4]).unwrap();
    assert_eq!(rollout.obs, [2, 2, 2, 8], "steps and sum of actions");
    assert!(rollout.batch.episodes.is_empty() && rollout.batch.final_obs.is_empty());
    rollout.step(&[1, 4]).unwrap();
    assert_eq!(
        rollout.obs,
        [0, 0, 0, 0],
        "the next episode's first observation"
    );
    assert_eq!(rollout.batch.truncated, [true, true]);
    assert_eq!(rollout.batch.terminated, [false, false]);
    assert_eq!(rollout.batch.final_obs, [(0, vec![3, 3]), (1, vec![3, 12])]);
    let episode = |env, raw_return| Episode {
        env,
        raw_return,
        length: 3,
        frames: 3,
    };
    assert_eq!(rollout.batch.episodes, [episode(0, 3.0), episode(1, 12.0)]);
    rollout.step(&[0, 0]).unwrap();
    assert!(
        rollout.batch.episodes.is_empty() && rollout.batch.final_obs.is_empty(),
        "records of the step before"
    );
}

#[test]
fn a_terminated_episode_gives_its_last_observation_too() {
    let mut rollout = Rollout::new(scripted("Terminating", 1).unwrap());
    rollout.reset(0).unwrap();
    for _ in 0..3 {
        rollout.step(&[2]).unwrap();
    }
    assert!(rollout.batch.is_done(0) && rollout.batch.terminated[0]);
    assert_eq!(rollout.batch.final_obs, [(0, vec![3, 6])]);
    assert_eq!(rollout.batch.episode_return, [6.0]);
    assert_eq!(rollout.batch.final_lives, [0]);
    assert_eq!(rollout.batch.episodes.len(), 1);
}

#[test]
fn wrong_actions_are_refused_before_anything_is_sent() {
    let mut rollout = Rollout::new(make(GAME, 2, &MakeOptions::new()).unwrap());
    rollout.reset(0).unwrap();
    let error = rollout.send(&[0]).unwrap_err();
    assert!(
        matches!(
            error,
            EnvError::ActionCount {
                expected: 2,
                got: 1,
                ..
            }
        ),
        "{error}"
    );
    for action in [-1, 6, i64::MAX, i64::MIN] {
        let error = rollout.send(&[0, action]).unwrap_err();
        assert!(
            matches!(
                error,
                EnvError::ActionRange {
                    env: 1,
                    num_actions: 6,
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("action {action} of environment 1")),
            "{error}"
        );
    }
    rollout.step(&[5, 0]).unwrap();
}

#[test]
fn calls_out_of_order_are_refused_and_harmless() {
    let mut rollout = Rollout::new(make(GAME, 1, &MakeOptions::new()).unwrap());
    assert!(
        matches!(rollout.send(&[0]), Err(EnvError::Order(_))),
        "send before reset"
    );
    rollout.reset(0).unwrap();
    assert!(
        matches!(rollout.recv(), Err(EnvError::Order(_))),
        "recv first"
    );
    rollout.send(&[0]).unwrap();
    assert!(
        matches!(rollout.send(&[0]), Err(EnvError::Order(_))),
        "two sends"
    );
    rollout.recv().unwrap();
    rollout.step(&[0]).unwrap();
}

#[test]
fn a_wrong_buffer_leaves_the_step_in_flight() {
    let mut rollout = Rollout::new(make(GAME, 2, &MakeOptions::new()).unwrap());
    let size = rollout.obs.len();
    let error = VecEnv::reset(&mut rollout.env, None, &mut rollout.obs[1..]).unwrap_err();
    assert!(
        matches!(error, EnvError::BufferSize { expected, got } if (expected, got) == (size, size - 1)),
        "{error}"
    );
    rollout.reset(0).unwrap();
    let actions = Actions::Discrete(&[0, 0]);
    let too_long = ObsBuffer::new(size + 1);
    let error = rollout.env.send(actions, too_long.slot()).unwrap_err();
    assert!(matches!(error, EnvError::BufferSize { .. }), "{error}");
    assert_eq!(too_long.take().len(), size + 1, "given back");
    rollout.env.send_to(actions, None).unwrap();
    let Rollout {
        env, obs, batch, ..
    } = &mut rollout;
    let error = env
        .recv_into(&mut too_long.take(), batch, None)
        .unwrap_err();
    assert!(matches!(error, EnvError::BufferSize { .. }), "{error}");
    env.recv_into(obs, batch, None).unwrap();
}

#[test]
fn a_reset_drops_the_step_in_flight() {
    let mut rollout = Rollout::new(make(GAME, 2, &MakeOptions::new()).unwrap());
    rollout.reset(3).unwrap();
    let first = rollout.obs.clone();
    rollout.send(&[1, 1]).unwrap();
    rollout.reset(3).unwrap();
    assert!(rollout.obs == first, "another start with the same seed");
    rollout.send(&[1, 1]).unwrap();
    let _ = VecGymEnv::reset(&rollout.env).unwrap();
    assert_eq!(rollout.next_obs.take().len(), first.len(), "given back");
    rollout.step(&[1, 1]).unwrap();
}

#[test]
fn after_close_everything_is_refused() {
    let mut rollout = Rollout::new(make(GAME, 1, &MakeOptions::new()).unwrap());
    rollout.reset(0).unwrap();
    rollout.send(&[0]).unwrap();
    rollout.env.close().unwrap();
    assert_eq!(
        rollout.next_obs.take().len(),
        rollout.obs.len(),
        "given back"
    );
    rollout.env.close().unwrap();
    assert!(matches!(rollout.reset(0), Err(EnvError::Closed)));
    assert!(matches!(rollout.send(&[0]), Err(EnvError::Closed)));
    assert!(matches!(rollout.recv(), Err(EnvError::Closed)));
    assert!(
        VecGymEnv::reset(&rollout.env)
            .unwrap_err()
            .to_string()
            .contains("closed")
    );
}

/// As `MuJoCo`'s are.
#[test]
fn float64_observations_cross_as_float32() {
    let mut rollout = Rollout::new(scripted("Float64", 2).unwrap());
    let spec = rollout.env.obs_spec();
    assert_eq!(
        (spec.shape.as_slice(), spec.dtype),
        ([2].as_slice(), Dtype::Float32)
    );
    let row = |steps: f64, total: f64| [steps, total / 3.0].map(|number| number as f32);
    let bytes = |rows: [[f32; 2]; 2]| -> Vec<u8> {
        let numbers = rows.as_flattened().iter();
        numbers.flat_map(|number| number.to_ne_bytes()).collect()
    };
    rollout.reset(0).unwrap();
    for steps in [1.0, 2.0] {
        rollout.step(&[1, 4]).unwrap();
        let expected = bytes([row(steps, steps), row(steps, 4.0 * steps)]);
        assert_eq!(rollout.obs, expected);
    }
    rollout.step(&[1, 4]).unwrap();
    assert!(
        rollout.obs.iter().all(|&byte| byte == 0),
        "the next episode"
    );
    let last = rollout.batch.final_obs.iter();
    let last: Vec<u8> = last.flat_map(|(_, row)| row.clone()).collect();
    assert_eq!(last, bytes([row(3.0, 3.0), row(3.0, 12.0)]));
}

#[test]
fn spaces_that_are_not_carried_are_named() {
    let said = [
        ("Int64", "int64"),
        ("NotABox", "Box"),
        ("Buttons", "MultiBinary(3)"),
        ("FromOne", "start"),
    ];
    for (name, what) in said {
        let error = scripted(name, 1).unwrap_err();
        assert!(
            matches!(&error, EnvError::Unsupported(_)),
            "{name}: {error}"
        );
        assert!(
            error.to_string().contains(name) && error.to_string().contains(what),
            "{name}: {error}"
        );
    }
}

#[test]
fn options_reach_python() {
    let options = MakeOptions::new()
        .with("frame_stack", 2)
        .with("screen_size", vec![42, 56])
        .with("full_action_space", true);
    let env = make(GAME, 1, &options).unwrap();
    assert_eq!(env.obs_spec().shape, [2, 42, 56]);
    assert_eq!(env.action_space(), 18);
    let error = make(GAME, 1, &MakeOptions::new().with("sticky_actions", 1.5)).unwrap_err();
    assert!(
        error.to_string().contains("sticky_actions") && error.is_usage_error(),
        "{error}"
    );
}

#[test]
fn several_batches_are_in_flight_at_once_and_move_between_threads() {
    let mut envs: Vec<Box<dyn VecEnv>> = (0..3)
        .map(|_| Box::new(make(GAME, 2, &MakeOptions::new()).unwrap()) as Box<dyn VecEnv>)
        .collect();
    let mut obs = vec![0; 2 * envs[0].obs_spec().num_bytes()];
    let mut received = Vec::new();
    for env in &mut envs {
        env.reset(Some(1), &mut obs).unwrap();
        let obs = ObsBuffer::new(obs.len());
        env.send(Actions::Discrete(&[2, 3]), obs.slot()).unwrap();
        received.push(obs);
    }
    let results: Vec<Vec<u8>> = envs
        .into_iter()
        .zip(received)
        .map(|(mut env, obs)| {
            let receive = move || {
                env.recv(&mut StepBatch::default()).unwrap();
                obs.take()
            };
            std::thread::spawn(receive).join().unwrap()
        })
        .collect();
    assert!(results.iter().all(|result| *result == results[0]));
    assert!(results[0].iter().any(|&byte| byte != 0));
}
