//! The Gaussian policy and the normalization of observations and rewards against PyTorch and Gymnasium
//! (`continuous.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use rust_trainer::{
    distributions::Distribution,
    normalize::{ObsNormalizer, RewardNormalizer},
};
use tch::{Kind, Tensor};
use vec_env::{Dtype, ObsSpec, StepBatch};

use support::{floats, largest, python, read, to_bytes};

#[test]
fn distributions_and_normalizers() {
    let folder = tempfile::tempdir().unwrap();
    python("continuous.py", &[folder.path().as_os_str()]);
    let theirs = read(&folder.path().join("distribution.safetensors"));
    for (kind, tolerance) in [(Kind::Double, 1e-13), (Kind::Float, 1e-5)] {
        let ours = |name: &str| theirs[name].to_kind(kind);
        let policy = Distribution::DiagonalGaussian {
            mean: ours("mean"),
            log_std: ours("log_std"),
        };
        let results = [
            ("log_prob", policy.log_prob(&ours("actions"))),
            ("entropy", policy.entropy()),
        ];
        for (name, ours) in results {
            assert_eq!(ours.size(), theirs[name].size());
            let relative = (ours - &theirs[name]) / theirs[name].abs().clamp_min(1.0);
            let worst = largest(&relative);
            assert!(worst < tolerance, "{name} in {kind:?} differs by {worst:e}");
        }
    }

    let stream = read(&folder.path().join("stream.safetensors"));
    let [steps, envs, width] = stream["last_obs"].size()[..] else {
        unreachable!("three axes")
    };
    let spec = ObsSpec {
        shape: vec![width as usize],
        dtype: Dtype::Float32,
    };
    let mut of_obs = ObsNormalizer::new(&spec).unwrap();
    let mut of_rewards = RewardNormalizer::new(envs as usize);
    let at = |name: &str, time: i64| stream[name].get(time);
    let compare = |what: &str, time: i64, ours: &[f32]| {
        let theirs = at(what, time).reshape(-1);
        let worst = largest(&(Tensor::from_slice(ours) - theirs));
        assert!(worst < 2e-5, "{what} differs by {worst:e} at {time}");
    };
    let scaled = |normalizer: &ObsNormalizer, obs: &Tensor| floats(&normalizer.normalized(obs));
    for time in 0..=steps {
        let obs = at("obs", time);
        of_obs.update(&to_bytes(&floats(&obs)));
        compare("normalized_obs", time, &scaled(&of_obs, &obs));
        if time == 0 {
            continue;
        }
        let last = at("last_obs", time - 1);
        compare("normalized_last_obs", time - 1, &scaled(&of_obs, &last));
        let flags = |name| -> Vec<bool> {
            let flags = Vec::<f32>::try_from(at(name, time - 1).to_kind(Kind::Float)).unwrap();
            flags.into_iter().map(|flag| flag > 0.0).collect()
        };
        let step = StepBatch {
            reward: floats(&at("rewards", time - 1)),
            terminated: flags("terminated"),
            truncated: flags("truncated"),
            ..StepBatch::default()
        };
        let rewards = of_rewards.normalize(&step, 0.97);
        compare("normalized_rewards", time - 1, &rewards);
    }
}
