//! A batch of a server's is the batch that it would be here.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::{
    path::Path,
    sync::{Mutex, mpsc::channel},
    time::Duration,
};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use support::{Proxy, Served, rom};
use vec_env::{
    ActionSpace, Actions, AutoresetMode, Dtype, EnvError, ObsBuffer, StepBatch, VecEnv, env::Random,
};
use vec_env_remote::{RemoteVecEnv, Server, Setting};

const GAME: &str = "SpaceInvadersNoFrameskip-v4";
const NUM_ENVS: usize = 3;

fn settings() -> Vec<(&'static str, Setting)> {
    vec![
        ("preset", "default".into()),
        ("max_episode_frames", 120.into()),
        ("sticky_actions", 0.25.into()),
        ("screen_size", vec![40, 36].into()),
    ]
}

fn twin(autoreset: AutoresetMode, batch_size: usize) -> AtariVecEnv {
    let recipe = Recipe {
        max_episode_frames: 120,
        sticky_actions: 0.25,
        screen_size: (40, 36),
        ..Recipe::preset(Preset::Default)
    };
    let options = BatchOptions {
        autoreset,
        batch_size,
        num_threads: 1,
        ..BatchOptions::new(recipe)
    };
    let cartridge = Cartridge::load(&rom("space_invaders")).unwrap();
    AtariVecEnv::new(&[cartridge], NUM_ENVS, &options).unwrap()
}

fn serve() -> Served {
    Served::start(&[GAME, "--num-envs", "3", "--set", "backend=native"])
}

/// Steps both, and says how many episodes ended.
fn compare(remote: &mut RemoteVecEnv, twin: &mut AtariVecEnv, steps: usize) -> usize {
    assert_eq!(remote.spec(), twin.spec());
    let [mut obs, mut expected_obs] = [
        vec![0; twin.spec().obs_bytes()],
        vec![0; twin.spec().obs_bytes()],
    ];
    let (mut step, mut expected) = (StepBatch::default(), StepBatch::default());
    let mut random = Random::new(5);
    let (mut ended, mut is_over) = (0, true);
    for round in 0..steps as u64 {
        if is_over {
            remote.reset(Some(round), &mut obs).unwrap();
            twin.reset(Some(round), &mut expected_obs).unwrap();
            assert_eq!(obs, expected_obs, "reset {round}");
        }
        let actions: Vec<i64> = (0..NUM_ENVS)
            .map(|_| random.next_u64() as i64 & 3)
            .collect();
        let actions = Actions::Discrete(&actions);
        remote.step(actions, &mut obs, &mut step).unwrap();
        twin.step(actions, &mut expected_obs, &mut expected)
            .unwrap();
        assert_eq!(step, expected, "step {round}");
        assert_eq!(obs, expected_obs, "step {round}");
        ended += step.episodes.len();
        is_over = twin.autoreset_mode() == AutoresetMode::Disabled
            && (0..NUM_ENVS).any(|row| step.is_done(row));
    }
    ended
}

#[test]
fn whole_episodes_are_those_of_a_batch_here() {
    let running = serve();
    for (name, mode) in [
        ("same-step", AutoresetMode::SameStep),
        ("next-step", AutoresetMode::NextStep),
        ("disabled", AutoresetMode::Disabled),
    ] {
        let mut settings = settings();
        settings.push(("autoreset", name.into()));
        let mut remote = RemoteVecEnv::connect(&running.client(), NUM_ENVS, &settings).unwrap();
        assert_eq!(remote.env_name(), GAME);
        assert!(compare(&mut remote, &mut twin(mode, 0), 80) >= 6, "{name}");
    }
}

#[test]
fn a_connection_that_is_lost_loses_no_step() {
    let running = serve();
    let proxy = Proxy::new(&running.address);
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let server = Server::at(&proxy.address)
        .token(support::TOKEN)
        .reconnect(Duration::from_secs(20))
        .listener(move |line| tell.lock().unwrap().send(line.to_owned()).unwrap());
    let mut remote = RemoteVecEnv::connect(&server, NUM_ENVS, &settings()).unwrap();
    let mut twin = twin(AutoresetMode::SameStep, 0);
    for seed in 0..3 {
        let [mut obs, mut expected] = [
            vec![0; twin.spec().obs_bytes()],
            vec![0; twin.spec().obs_bytes()],
        ];
        let (mut step, mut expected_step) = (StepBatch::default(), StepBatch::default());
        remote.reset(Some(seed), &mut obs).unwrap();
        twin.reset(Some(seed), &mut expected).unwrap();
        for round in 0..3 {
            let buffer = ObsBuffer::new(obs.len());
            let actions = Actions::Discrete(&[2, 3, 1]);
            if round == 0 {
                proxy.drop_all();
            }
            remote.send(actions, buffer.slot()).unwrap();
            if round == 1 {
                proxy.drop_all(); // the request, the reply or neither is lost
            }
            remote.recv(&mut step).unwrap();
            twin.step(actions, &mut expected, &mut expected_step)
                .unwrap();
            assert_eq!(buffer.take(), expected);
            assert_eq!(step, expected_step);
        }
    }
    let lines: Vec<String> = told.try_iter().collect();
    assert!(lines.len() >= 6, "{lines:?}");
    assert!(
        lines[0].ends_with("is lost; trying again for 20 s"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("is back"), "{lines:?}");
}

#[test]
fn parts_of_a_batch_are_received_as_they_are_ready() {
    let running = serve();
    let mut settings = settings();
    settings.push(("batch_size", 2.into()));
    let mut remote = RemoteVecEnv::connect(&running.client(), NUM_ENVS, &settings).unwrap();
    let mut whole = twin(AutoresetMode::SameStep, 0);
    let size = whole.obs_spec().num_bytes();
    // What each environment shows, step by step, when it always fires.
    let mut expected = vec![Vec::new(); NUM_ENVS];
    let mut obs = vec![0; NUM_ENVS * size];
    let mut step = StepBatch::default();
    whole.reset(Some(1), &mut obs).unwrap();
    for _ in 0..40 {
        whole
            .step(Actions::Discrete(&[1; NUM_ENVS]), &mut obs, &mut step)
            .unwrap();
        for (env, row) in obs.chunks(size).enumerate() {
            expected[env].push((row.to_vec(), step.episode_length[env]));
        }
    }
    remote.reset(Some(1), &mut obs).unwrap();
    let mut taken = [0; NUM_ENVS];
    let mut count = NUM_ENVS;
    for _ in 0..30 {
        let buffer = ObsBuffer::new(2 * size);
        remote
            .send(Actions::Discrete(&vec![1; count]), buffer.slot())
            .unwrap();
        remote.recv(&mut step).unwrap();
        let rows = buffer.take();
        for (row, &env) in step.env_ids.iter().enumerate() {
            let (obs, length) = &expected[env][taken[env]];
            assert_eq!(&rows[row * size..][..size], obs);
            assert_eq!(step.episode_length[row], *length);
            taken[env] += 1;
        }
        count = step.env_ids.len();
        assert_eq!(count, 2);
    }
    assert!(taken.iter().all(|&taken| taken >= 5), "{taken:?}");
    // One still works: a reset drops it, and states need it received.
    assert!(matches!(remote.save_state(), Err(EnvError::Order(_))));
    remote.reset(Some(1), &mut obs).unwrap();
    assert!(remote.save_state().is_ok());
}

#[test]
fn states_are_kept_here_and_brought_back() {
    let running = serve();
    let mut remote = RemoteVecEnv::connect(&running.client(), NUM_ENVS, &settings()).unwrap();
    let mut obs = vec![0; remote.spec().obs_bytes()];
    let mut step = StepBatch::default();
    assert!(matches!(remote.save_state(), Err(EnvError::Order(_))));
    remote.reset(Some(3), &mut obs).unwrap();
    let states = remote.save_state().unwrap();
    let mut go_on = |remote: &mut RemoteVecEnv| {
        let mut all = Vec::new();
        for action in [1, 2, 3, 1, 1] {
            remote
                .step(Actions::Discrete(&[action; NUM_ENVS]), &mut obs, &mut step)
                .unwrap();
            all.push((obs.clone(), step.clone()));
        }
        all
    };
    let first = go_on(&mut remote);
    let mut other = RemoteVecEnv::connect(&running.client(), NUM_ENVS, &settings()).unwrap();
    let mut shown = vec![0; other.spec().obs_bytes()];
    other.reset(None, &mut shown).unwrap();
    other.restore_state(&states, &mut shown).unwrap();
    assert_eq!(go_on(&mut other), first);
    for wrong in [vec![vec![7]; NUM_ENVS], vec![states[0].clone()]] {
        let refused = other.restore_state(&wrong, &mut shown);
        assert!(matches!(refused, Err(EnvError::State(_))), "{refused:?}");
    }
    assert_eq!(go_on(&mut other).len(), 5);
}

#[test]
fn numbers_cross_as_they_are_and_a_socket_of_unix_too() {
    let folder = tempdir();
    let address = format!("unix:{}", folder.join("socket").display());
    let _running = Served::start(&["Pendulum-v1", "--num-envs", "2", "--listen", &address]);
    let server = Server::at(&address).token(support::TOKEN);
    let mut remote = RemoteVecEnv::connect(&server, 0, &[]).unwrap();
    assert_eq!(
        (remote.num_envs(), remote.obs_spec().dtype),
        (2, Dtype::Float32)
    );
    let ActionSpace::Box { shape, low, high } = remote.action_space().clone() else {
        panic!("Pendulum is continuous");
    };
    assert_eq!((shape, low, high), (vec![1], vec![-2.0], vec![2.0]));
    let [mut obs, mut again] = [[0; 24], [0; 24]];
    let mut step = StepBatch::default();
    remote.reset(Some(0), &mut obs).unwrap();
    let pendulum = |obs: &[u8]| -> Vec<f32> {
        obs.as_chunks()
            .0
            .iter()
            .map(|bytes| f32::from_ne_bytes(*bytes))
            .collect()
    };
    for torque in [0.5_f32, -2.0, 1.25] {
        let before = pendulum(&obs);
        remote
            .step(Actions::Continuous(&[torque, -torque]), &mut obs, &mut step)
            .unwrap();
        let after = pendulum(&obs);
        for (row, torque) in [torque, -torque].into_iter().enumerate() {
            // Gymnasium's equation of motion, from what was shown before.
            let [sine, velocity] = [before[3 * row + 1], before[3 * row + 2]];
            let faster = (velocity + (15.0 * sine + 3.0 * torque) * 0.05).clamp(-8.0, 8.0);
            assert!((after[3 * row + 2] - faster).abs() < 1e-4);
            let cosine = before[3 * row];
            let cost =
                sine.atan2(cosine).powi(2) + 0.1 * velocity * velocity + 0.001 * torque * torque;
            assert!((step.reward[row] + cost).abs() < 1e-4);
        }
    }
    remote.reset(Some(0), &mut again).unwrap();
    remote.reset(Some(0), &mut obs).unwrap();
    assert_eq!(obs, again);
    drop(remote);
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempdir() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("vec-env-remote-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    assert!(Path::new(&folder).is_dir());
    folder
}
