//! What is sent can be encrypted, with the feature `tls`: `cargo test -p vec_env_remote --features tls --test tls`.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::{path::Path, process::Command, time::Duration};

use support::{Served, TOKEN};
use vec_env::{Actions, StepBatch, VecEnv};
use vec_env_remote::{RemoteVecEnv, Server};

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    let done = command.args(arguments.split(' ')).current_dir(folder);
    let done = done.output().unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_server_is_trusted_by_its_own_certificate_or_its_authoritys_and_by_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for authority in ["ours", "another"] {
        let subject = format!("-subj /CN={authority} -keyout {authority}.key -out {authority}.pem");
        openssl(folder.path(), &format!("req -x509 -days 2 {KEY} {subject}"));
    }
    let names = "-subj /CN=localhost -addext subjectAltName=DNS:localhost";
    openssl(
        folder.path(),
        &format!("req {KEY} {names} -keyout server.key -out server.csr"),
    );
    let signed = "-CA ours.pem -CAkey ours.key -CAcreateserial -copy_extensions copy -days 2";
    openssl(
        folder.path(),
        &format!("x509 -req -in server.csr {signed} -out server.pem"),
    );

    openssl(
        folder.path(),
        &format!(
            "req -x509 -days 2 {KEY} {names} -addext basicConstraints=critical,CA:FALSE -keyout own.key -out own.pem"
        ),
    );

    for (name, authority) in [("server", "ours"), ("own", "own")] {
        let [certificate, key] = ["pem", "key"].map(|kind| path(&format!("{name}.{kind}")));
        let tls = ["--tls-cert", &certificate, "--tls-key", &key];
        let running = Served::start(&[&["CartPole-v1", "--num-envs", "2"][..], &tls].concat());
        let port = running.address.rsplit_once(':').unwrap().1;
        let server = Server::at(&format!("localhost:{port}")).token(TOKEN);

        let trusting = server.clone().ca_file(path(&format!("{authority}.pem")));
        let mut envs = RemoteVecEnv::connect(&trusting, 2, &[]).unwrap();
        let mut obs = vec![0; envs.spec().obs_bytes()];
        envs.reset(Some(0), &mut obs).unwrap();
        let mut step = StepBatch::default();
        let actions = Actions::Discrete(&[0, 1]);
        envs.step(actions, &mut obs, &mut step).unwrap();
        assert_eq!(step.reward, [1.0, 1.0]);

        let strangers = [
            server.clone().ca_file(path("another.pem")),
            server.clone().tls(),
            server,
        ];
        for stranger in strangers {
            let stranger = stranger.connect_timeout(Duration::from_secs(1));
            let refused = RemoteVecEnv::connect(&stranger, 2, &[]).unwrap_err();
            assert_eq!(refused.to_string().lines().count(), 1);
        }
    }
}
