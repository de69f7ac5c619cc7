//! A policy of a server's says what it says there, and remembers each client.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::Command,
    time::Duration,
};

use support::{Proxy, Served, TOKEN};
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec};
use vec_env_remote::{Choice, Decision, RemoteError, RemotePolicy, Server};

const GREEDY: Choice<'_> = Choice {
    greedy: true,
    episode_start: &[],
};

/// An observation, and what the policy says of it after those before.
struct Said {
    obs: [f32; 4],
    decision: Decision,
}

/// A server, and what it said before.
fn serve() -> (Served, Vec<Said>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (script, helpers) = (
        root.join("vec_env/remote/tests/policy.py"),
        root.join("tests/support"),
    );
    let arguments = [script.to_str().unwrap(), helpers.to_str().unwrap()];
    let mut running = Served::run(&arguments);
    let lines = BufReader::new(running.process.stdout.take().unwrap()).lines();
    let lines = lines
        .map(Result::unwrap)
        .take_while(|line| !line.is_empty());
    let said = lines.map(|line| {
        let numbers: Vec<f32> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        Said {
            obs: numbers[..4].try_into().unwrap(),
            decision: Decision {
                actions: ActionBatch::Discrete(vec![numbers[4] as i64]),
                value: Some(vec![numbers[5]]),
                probabilities: Some(numbers[6..].to_vec()),
                mean: None,
                deviation: None,
                action_values: None,
            },
        }
    });
    let said = said.collect();
    (running, said)
}

#[test]
fn a_policy_says_what_it_says_there_and_remembers_each_client() {
    let (running, said) = serve();
    assert_eq!(said.len(), 6);
    let mut policy = RemotePolicy::connect(&running.client()).unwrap();
    let spec = ObsSpec {
        shape: vec![4],
        dtype: Dtype::Float32,
    };
    assert_eq!(policy.obs_spec(), &spec);
    assert_eq!(policy.action_space(), &ActionSpace::Discrete { n: 2 });
    assert_eq!(
        (policy.env_name(), policy.algorithm()),
        ("CartPole-v1", "ppo")
    );
    assert!(policy.is_recurrent());

    // Another client, whose connection is lost again and again.
    let proxy = Proxy::new(&running.address);
    let server = Server::at(&proxy.address)
        .token(TOKEN)
        .reconnect(Duration::from_secs(20));
    let mut shaken = RemotePolicy::connect(&server).unwrap();
    for Said { obs, decision } in &said {
        assert_eq!(&policy.decide(obs, GREEDY).unwrap(), decision);
        assert_eq!(&shaken.decide(obs, GREEDY).unwrap(), decision);
        proxy.drop_all();
    }

    // What it remembers is forgotten where an episode starts, and changes what it says otherwise.
    let again = |policy: &mut RemotePolicy, episode_start: &[bool]| {
        let choice = Choice {
            greedy: true,
            episode_start,
        };
        policy.decide(&said[0].obs, choice).unwrap()
    };
    assert_eq!(again(&mut policy, &[true]), said[0].decision);
    assert_ne!(again(&mut policy, &[]), said[0].decision);

    // Several observations, also as the bytes that a batch writes.
    let two = [said[0].obs, said[0].obs].concat();
    let bytes: Vec<u8> = two.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let more = policy.act(&two[..], GREEDY).unwrap_err();
    assert!(
        more.to_string()
            .starts_with("2 observations, and the policy remembers 1"),
        "{more}"
    );
    let start = Choice {
        episode_start: &[true],
        ..GREEDY
    };
    let both = policy.decide(&bytes[..], start).unwrap();
    let one = said[0].decision.value.clone().unwrap()[0];
    let value = both.value.unwrap();
    assert!(value.len() == 2 && value.iter().all(|value| (value - one).abs() < 1e-6));
    assert_eq!(both.probabilities.unwrap().len(), 4);

    let odd = policy.act(&[0.0; 3], GREEDY).unwrap_err();
    assert_eq!(
        odd.to_string(),
        "an observation has 16 bytes ([4] of <f4), got 12"
    );
    control_loop(&running.address);
    policy.close();
    assert_eq!(policy.act(&[0.0; 4], GREEDY), Err(RemoteError::Closed));
}

/// The example, which `cargo test` builds, too, unless it is asked for tests alone.
fn control_loop(address: &str) {
    let folder = env::current_exe().unwrap();
    let program = folder
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/control_loop");
    let mut command = Command::new(program);
    let done = command
        .args([address, "60"])
        .env("ATARI_WRAPPERS_TOKEN", TOKEN)
        .output()
        .unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    let steps = said
        .strip_prefix("CartPole-v1 balanced for ")
        .and_then(|rest| rest.strip_suffix(" steps\n"));
    assert!(steps.is_some(), "{said}{:?}", done.stderr);
    let steps: usize = steps.unwrap().parse().unwrap();
    assert!((5..=500).contains(&steps));
}
