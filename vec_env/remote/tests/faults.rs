//! Servers that are absent, strange, stopped or silent: an error in one line, and no hang.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use support::{Served, TOKEN};
use vec_env::{Actions, EnvError, ObsBuffer, StepBatch, VecEnv};
use vec_env_remote::{RemoteError, RemotePolicy, RemoteVecEnv, Server, Setting};

fn refused(server: &Server, num_envs: usize, settings: &[(&str, Setting)]) -> RemoteError {
    let server = server.clone().connect_timeout(Duration::ZERO);
    let error = RemoteVecEnv::connect(&server, num_envs, settings).unwrap_err();
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

/// What a server says once it has heard that those before have left.
fn settled(
    server: &Server,
    num_envs: usize,
    settings: &[(&str, Setting)],
) -> Result<RemoteVecEnv, RemoteError> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match RemoteVecEnv::connect(server, num_envs, settings) {
            Err(RemoteError::Refused { .. }) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

#[test]
fn what_cannot_be_is_told_before_anything_is_sent() {
    let told = |address: &str| refused(&Server::at(address), 0, &[]).to_string();
    assert!(told("nowhere").contains("is no address"));
    assert!(told("10.0.0.1:1").starts_with("10.0.0.1:1 may be another machine"));
    assert!(told("127.0.0.1:1").starts_with("no server at 127.0.0.1:1: "));
    assert!(told("unix:/nowhere/socket").starts_with("no server at unix:/nowhere/socket: "));
    let spaced = Server::at("127.0.0.1:1").token("a b");
    assert_eq!(refused(&spaced, 0, &[]), RemoteError::Token);
    let encrypted = Server::at("127.0.0.1:1").ca_file("/nowhere.pem");
    assert!(matches!(
        refused(&encrypted, 0, &[]),
        RemoteError::Tls { .. }
    ));
}

#[test]
fn a_server_says_whom_it_does_not_serve() {
    let running = Served::start(&["CartPole-v1", "--num-envs", "2", "--max-clients", "1"]);
    let server = running.client();
    let stranger = Server::at(&running.address).token("another");
    let told = |error: RemoteError| match error {
        RemoteError::Refused { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(
        told(refused(&stranger, 0, &[])),
        "the token is missing or another"
    );
    let policy = RemotePolicy::connect(&server).unwrap_err();
    assert!(told(policy).starts_with("what answers there does not serve policies"));
    for (num_envs, settings, text) in [
        (
            5,
            vec![],
            "num_envs must be at most 2 on this server, not 5",
        ),
        (
            2,
            vec![("img_dir", "x".into())],
            "img_dir: no setting that a server takes",
        ),
        (2, vec![("autoreset", "never".into())], "autoreset"),
    ] {
        let error = settled(&server, num_envs, &settings).unwrap_err();
        let RemoteError::Failed(failure) = &error else {
            panic!("{error}");
        };
        assert!(failure.message.contains(text), "{error}");
    }
    let mut first = settled(&server, 1, &[]).unwrap();
    assert!(told(refused(&server, 1, &[])).contains("as many as it serves"));
    first.close().unwrap();
    first.close().unwrap();
    let mut obs = [0; 16];
    assert_eq!(first.reset(None, &mut obs), Err(EnvError::Closed));
    settled(&server, 1, &[]).unwrap();
}

/// A step of Pendulum, whose torques the server checks.
fn push(remote: &mut RemoteVecEnv, torques: &[f32], step: &mut StepBatch) -> Result<(), EnvError> {
    let slot = ObsBuffer::new(12 * remote.batch_size()).slot();
    remote.send(Actions::Continuous(torques), slot)?;
    remote.recv(step)
}

fn is_order<T>(called: &Result<T, EnvError>) -> bool {
    matches!(called, Err(EnvError::Order(_)))
}

fn assert_refused(pushed: Result<(), EnvError>) {
    let told = pushed.unwrap_err().to_string();
    assert!(told.contains("action [5.]"), "{told}");
}

#[test]
fn a_step_that_the_server_refuses_leaves_nothing_in_flight() {
    let running = Served::start(&["Pendulum-v1", "--num-envs", "2", "--set", "backend=sync"]);
    let (mut obs, mut step) = ([0; 24], StepBatch::default());
    let mut whole = RemoteVecEnv::connect(&running.client(), 2, &[]).unwrap();
    whole.reset(Some(0), &mut obs).unwrap();
    assert_refused(push(&mut whole, &[0.0, 5.0], &mut step));
    assert!(is_order(&whole.recv(&mut step)));
    let saved = whole.save_state(); // which a server refuses of Pendulum, for another reason
    assert!(saved.is_err() && !is_order(&saved));
    push(&mut whole, &[0.0, 2.0], &mut step).unwrap();
    assert_eq!(step.episode_length, [1, 1]);

    let settings = [("batch_size", 1.into())];
    let mut parts = RemoteVecEnv::connect(&running.client(), 2, &settings).unwrap();
    parts.reset(Some(0), &mut obs).unwrap();
    push(&mut parts, &[0.0, 0.0], &mut step).unwrap();
    assert_refused(push(&mut parts, &[5.0], &mut step)); // while the other one works
    assert!(is_order(&parts.recv(&mut step)));
    // What the other one brought is gone, so that all begin anew.
    assert!(is_order(&push(&mut parts, &[0.0, 0.0], &mut step)));
    assert!(!is_order(&parts.save_state()));
    parts.reset(Some(0), &mut obs).unwrap();
    assert_refused(push(&mut parts, &[5.0, 0.0], &mut step));
    parts.reset(Some(0), &mut obs).unwrap();
    let (mut lengths, mut count) = ([0; 2], 2);
    for _ in 0..6 {
        push(&mut parts, &[0.0, 0.0][..count], &mut step).unwrap();
        let [env] = step.env_ids[..] else {
            panic!("{:?}", step.env_ids);
        };
        lengths[env] += 1;
        assert_eq!(step.episode_length, [lengths[env]], "one result is lost");
        count = 1;
    }
}

#[test]
fn a_server_that_is_killed_is_told_in_a_line() {
    let mut running = Served::start(&["CartPole-v1", "--num-envs", "2"]);
    let mut remote = RemoteVecEnv::connect(&running.client(), 2, &[]).unwrap();
    let (mut obs, mut step) = ([0; 32], StepBatch::default());
    let actions = Actions::Discrete(&[0, 1]);
    let early = remote.step(actions, &mut obs, &mut step);
    assert!(matches!(early, Err(EnvError::Order(_))), "{early:?}");
    remote.reset(Some(0), &mut obs).unwrap();
    let buffer = ObsBuffer::new(32);
    let wrong = remote.send(Actions::Discrete(&[0, 2]), buffer.slot());
    assert!(
        matches!(wrong, Err(EnvError::ActionRange { env: 1, .. })),
        "{wrong:?}"
    );
    remote.send(actions, buffer.slot()).unwrap();
    remote.recv(&mut step).unwrap();
    running.kill();
    let killed = remote.step(actions, &mut obs, &mut step).unwrap_err();
    let start = format!("the server at {}: it is gone (", running.address);
    let told = killed.to_string();
    assert!(told.starts_with(&start) && !told.contains('\n'), "{told}");
    assert!(killed.is_usage_error());
    assert_eq!(remote.reset(None, &mut obs), Err(EnvError::Closed));
}

#[test]
fn a_server_that_stops_says_so() {
    let mut running = Served::start(&["CartPole-v1", "--num-envs", "1"]);
    let mut remote = RemoteVecEnv::connect(&running.client(), 1, &[]).unwrap();
    let (mut obs, mut step) = ([0; 16], StepBatch::default());
    remote.reset(Some(0), &mut obs).unwrap();
    #[expect(unsafe_code, reason = "SIGTERM, as a service's end sends it")]
    // SAFETY: the process is this test's own, and was not waited for.
    unsafe {
        libc::kill(running.process.id() as i32, libc::SIGTERM);
    }
    running.process.wait().unwrap();
    let told = remote
        .step(Actions::Discrete(&[0]), &mut obs, &mut step)
        .unwrap_err()
        .to_string();
    assert!(
        told.starts_with(&format!("the server at {}: it ", running.address)),
        "{told}"
    );
}

#[test]
fn what_is_no_server_is_told() {
    let strange = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, Server::at(&address).token(TOKEN))
    };
    // The system connects to it, and nobody answers.
    let (_listener, server) = strange();
    let error = refused(&server.timeout(Duration::from_millis(300)), 1, &[]);
    assert!(matches!(error, RemoteError::Silent { .. }), "{error}");

    let (listener, server) = strange();
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).unwrap();
        let _ = stream.read(&mut [0; 1000]);
        stream // silent from now on
    });
    let error = refused(&server, 1, &[]);
    assert!(!matches!(error, RemoteError::Silent { .. }), "{error}");
    answering.join().unwrap();
}

#[test]
fn a_wait_may_be_cut_short_and_taken_up_again() {
    let running = Served::start(&["CartPole-v1", "--num-envs", "1"]);
    let mut remote = RemoteVecEnv::connect(&running.client(), 1, &[]).unwrap();
    let (mut obs, mut step) = ([0; 16], StepBatch::default());
    remote.reset(Some(0), &mut obs).unwrap();
    let buffer = ObsBuffer::new(16);
    remote.send(Actions::Discrete(&[0]), buffer.slot()).unwrap();
    let early = remote.recv_timeout(&mut step, Some(Duration::ZERO));
    if early.is_err() {
        assert_eq!(early, Err(EnvError::Timeout));
        let again = remote.send(Actions::Discrete(&[0]), ObsBuffer::new(16).slot());
        assert!(matches!(again, Err(EnvError::Order(_))));
        remote.recv(&mut step).unwrap();
    }
    assert_eq!(step.episode_length, [1]);
    assert_eq!(buffer.take().len(), 16);
}

/// Serves an environment that cannot be reset with seed 13 at first, and takes its time to step.
const TROUBLE: &str = "
import sys, time, gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
from atari_wrappers.__main__ import main

class Trouble(CartPoleEnv):
    unlucky = 13

    def reset(self, **kwargs):
        if kwargs['seed'] == Trouble.unlucky:
            Trouble.unlucky = None
            raise OSError('unlucky')
        return super().reset(**kwargs)

    def step(self, action):
        time.sleep(0.3)
        return super().step(action)

gymnasium.register('Trouble-v0', Trouble)
main(['serve', 'Trouble-v0', '--num-envs', '1', '--set', 'backend=sync', '--listen', '127.0.0.1:0'])
";

#[test]
fn a_reset_that_fails_may_be_followed_by_another() {
    let running = Served::run(&["-c", TROUBLE]);
    let mut remote = RemoteVecEnv::connect(&running.client(), 1, &[]).unwrap();
    let (mut obs, mut step) = ([0; 16], StepBatch::default());
    remote.reset(Some(0), &mut obs).unwrap();
    let failed = remote.reset(Some(13), &mut obs).unwrap_err();
    assert!(failed.to_string().contains("unlucky"), "{failed}");
    let slot = ObsBuffer::new(16).slot();
    for told in [
        remote.send(Actions::Discrete(&[0]), slot).unwrap_err(),
        remote.save_state().unwrap_err(),
    ] {
        let EnvError::Order(told) = told else {
            panic!("{told}");
        };
        assert!(told.ends_with(": call reset first"), "{told}");
    }
    remote.reset(Some(1), &mut obs).unwrap();
    let action = Actions::Discrete(&[0]);
    remote.step(action, &mut obs, &mut step).unwrap();
    assert_eq!(step.episode_length, [1]);
}

#[test]
fn a_step_that_is_waited_for_outlives_a_restart_of_workers() {
    let running = Served::run(&["-c", TROUBLE]);
    let mut remote = RemoteVecEnv::connect(&running.client(), 1, &[]).unwrap();
    let (mut obs, mut step) = ([0; 16], StepBatch::default());
    remote.reset(Some(0), &mut obs).unwrap();
    let slot = ObsBuffer::new(16).slot();
    remote.send(Actions::Discrete(&[0]), slot).unwrap();
    let early = remote.recv_timeout(&mut step, Some(Duration::ZERO));
    assert_eq!(early, Err(EnvError::Timeout));
    assert_eq!(remote.restart_workers(), Ok(vec![]));
    let forever = Some(Duration::MAX);
    remote.recv_timeout(&mut step, forever).unwrap();
    assert_eq!(step.episode_length, [1]);
    remote
        .step(Actions::Discrete(&[0]), &mut obs, &mut step)
        .unwrap();
    assert_eq!(step.episode_length, [2]);
}
