//! Work that is recorded, as on a device, is what is done as it comes.

use tch::Device;
use vec_env::{StepBatch, SyncVecEnv, VecEnv, envs::GridWorld};

use crate::{
    algorithms::{Algorithm, Learning, Metrics, OnPolicy, OnPolicyAlgorithm},
    cuda::{Recording, places},
    ranks::Ranks,
    settings::{self, AlgorithmSettings, Settings},
};

/// The algorithm on the CPU, or with its work recorded as on a device.
fn new<S: OnPolicy>(
    of: S,
    settings: &Settings,
    env: &dyn VecEnv,
    recording: Option<fn() -> Recording>,
) -> Box<dyn Algorithm> {
    let alone = Ranks::alone();
    let mut new = OnPolicyAlgorithm::of_rank(of, settings, env, Device::Cpu, &alone).unwrap();
    if let Some(recording) = recording {
        new.record(recording(), recording());
    }
    Box::new(new)
}

/// What was done, learned and said in three updates of five environments.
fn played(
    settings: &Settings,
    recording: Option<fn() -> Recording>,
) -> (Vec<i64>, Vec<f32>, Vec<Metrics>) {
    let mut env = SyncVecEnv::new(5, |index| GridWorld::new(3, index as u64)).unwrap();
    let mut algorithm = match settings.algorithm.clone() {
        AlgorithmSettings::Ppo(ppo) => new(ppo, settings, &env, recording),
        AlgorithmSettings::A2c(a2c) => new(a2c, settings, &env, recording),
        AlgorithmSettings::Pqn(pqn) => new(pqn, settings, &env, recording),
        _ => unreachable!("it is not recorded"),
    };
    let (mut actions, mut metrics) = (Vec::new(), Vec::new());
    let mut step = StepBatch::default();
    env.reset(Some(1), &mut algorithm.next_obs()).unwrap();
    while metrics.len() < 3 {
        let chosen = algorithm.act().unwrap();
        if let vec_env::ActionBatch::Discrete(chosen) = &chosen {
            actions.extend(chosen);
        }
        let slot = algorithm.next_obs();
        env.send(chosen.as_actions(), slot).unwrap();
        env.recv(&mut step).unwrap();
        algorithm.observe(&step).unwrap();
        if let Learning::Done(done) = algorithm.learn(&mut || false).unwrap() {
            metrics.push(done);
        }
    }
    let state = algorithm.state().unwrap();
    let weights = state.tensors.iter().filter(|(name, _)| name.contains('.'));
    let weights =
        weights.flat_map(|(_, tensor)| Vec::<f32>::try_from(tensor.flatten(0, -1)).unwrap());
    (actions, weights.collect(), metrics)
}

/// Minibatches of two sizes: 65 samples in four parts.
#[test]
fn what_is_recorded_is_what_is_done_as_it_comes() {
    let minibatches = "\nnum_minibatches = 4\nupdate_epochs = 3";
    for (algorithm, more) in [
        (settings::Algorithm::Ppo, minibatches),
        (settings::Algorithm::A2c, ""),
        (settings::Algorithm::Pqn, minibatches),
    ] {
        let changes = "num_envs = 5\nnum_steps = 13\ntotal_steps = 195\nlearning_rate = 1e-2";
        let changes = format!("{changes}{more}");
        let settings = Settings::defaults(algorithm);
        let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
        let plain = played(&settings, None);
        let as_it_comes: fn() -> Recording = || Recording::with(None);
        let recorded = || Recording::with(Some(places));
        for recording in [as_it_comes, recorded] {
            let other = played(&settings, Some(recording));
            assert_eq!(plain.0, other.0, "{algorithm}: actions");
            let differences = plain.1.iter().zip(&other.1).map(|(a, b)| (a - b).abs());
            let largest = differences.fold(0.0, f32::max);
            assert!(largest < 1e-5, "{algorithm}: weights differ by {largest:e}");
            for (ours, theirs) in plain.2.iter().zip(&other.2) {
                for ((name, ours), (_, theirs)) in ours.0.iter().zip(&theirs.0) {
                    let difference = (ours - theirs).abs();
                    assert!(
                        difference < 1e-5,
                        "{algorithm}: {name} differs by {difference:e}"
                    );
                }
            }
        }
    }
}
