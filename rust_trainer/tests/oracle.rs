//! The learner's arithmetic against PyTorch's: `oracle.py` calculates, this compares to 1e-5.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::HashMap, path::Path, process::Command, sync::OnceLock};

use rust_trainer::{
    algorithms::{State, a2c, ppo},
    data::Samples,
    nn::{Body, BodyStyle, ParamsBuilder, PolicyValueNet},
    optimizer::{Optimizer, clip_grad_norm},
    parallel::Threads,
    random::seeded_rng,
    settings::{A2cSettings, Net, NetSettings, PpoSettings, Precision},
};
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, Dtype, ObsSpec};

const TOLERANCE: f64 = 1e-5;
const ACTIONS: ActionSpace = ActionSpace::Discrete { n: 6 };

type Tensors = HashMap<String, Tensor>;

/// What `oracle.py` wrote, run once for all tests.
fn oracle(file: &str) -> Tensors {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.py");
        let python =
            std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test") + "/bin/python";
        let status = Command::new(python)
            .arg(script)
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(status.success());
        folder
    });
    Tensor::read_safetensors(folder.path().join(file))
        .unwrap()
        .into_iter()
        .collect()
}

/// Largest difference, relative to the largest entry where that is above 1.
fn difference(ours: &Tensor, theirs: &Tensor) -> f64 {
    assert_eq!(ours.size(), theirs.size());
    let scale = theirs.abs().max().double_value(&[]).max(1.0);
    (ours - theirs).abs().max().double_value(&[]) / scale
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor).unwrap()
}

fn network(tensors: &Tensors) -> PolicyValueNet {
    let spec = ObsSpec {
        shape: vec![4, 84, 84],
        dtype: Dtype::Uint8,
    };
    let net = PolicyValueNet::new(
        &spec,
        &ACTIONS,
        &NetSettings::default(),
        0,
        Device::Cpu,
        Precision::Fp32,
        &mut seeded_rng(0),
    );
    let net = net.unwrap();
    let state = State {
        tensors: tensors.iter().filter_map(param).collect(),
        ..State::default()
    };
    state.copy_to(net.params.named()).unwrap();
    net
}

/// The name and value of what is a parameter of the network.
fn param((name, tensor): (&String, &Tensor)) -> Option<(String, Tensor)> {
    let name = name.strip_prefix("params.")?.to_owned();
    Some((name, tensor.shallow_clone()))
}

fn samples(tensors: &Tensors) -> Samples {
    let copy = |name: &str| tensors[name].shallow_clone();
    Samples {
        actions: copy("actions"),
        log_probs: copy("log_probs"),
        values: copy("values"),
        advantages: copy("advantages"),
        returns: copy("returns"),
    }
}

fn compare(variant: &str, tensors: &Tensors, net: &PolicyValueNet, terms: [&Tensor; 4]) {
    let loss = Tensor::stack(&terms, 0);
    let worst = difference(&loss, &tensors[&format!("{variant}.loss")]);
    assert!(worst < TOLERANCE, "{variant}: loss differs by {worst:e}");

    let mut gradient = net.params.gradient(terms[0]);
    let norm = clip_grad_norm(&mut gradient, 0.5).reshape([1]);
    let worst = difference(&norm, &tensors[&format!("{variant}.norm")]);
    assert!(
        worst < TOLERANCE,
        "{variant}: gradient norm differs by {worst:e}"
    );
    let theirs: Vec<Tensor> = net
        .params
        .named()
        .map(|(name, _)| tensors[&format!("{variant}.grad.{name}")].reshape(-1))
        .collect();
    let worst = difference(&gradient, &Tensor::cat(&theirs, 0));
    assert!(
        worst < TOLERANCE,
        "{variant}: gradient differs by {worst:e}"
    );
}

#[test]
fn ppo_loss_and_gradient() {
    let tensors = oracle("losses.safetensors");
    let net = network(&tensors);
    for norm_adv in [false, true] {
        for clip_vloss in [false, true] {
            let settings = PpoSettings {
                norm_adv,
                clip_vloss,
                ..PpoSettings::default()
            };
            let samples = if norm_adv {
                samples(&tensors).normalized()
            } else {
                samples(&tensors)
            };
            let loss = ppo::loss(&net.forward(&tensors["obs"]), &samples, &settings);
            let clipped = loss.terms[4].double_value(&[]);
            assert!(
                (0.2..0.8).contains(&clipped),
                "both sides of the clip are needed, {clipped} is clipped"
            );
            let variant = format!("ppo{}{}", u8::from(norm_adv), u8::from(clip_vloss));
            compare(
                &variant,
                &tensors,
                &net,
                [&loss.total, &loss.terms[0], &loss.terms[1], &loss.terms[2]],
            );
        }
    }
}

#[test]
fn initial_weights_are_orthogonal() {
    let spec = ObsSpec {
        shape: vec![4, 84, 84],
        dtype: Dtype::Uint8,
    };
    let mut rng = seeded_rng(1);
    let net = NetSettings::default();
    let net = PolicyValueNet::new(
        &spec,
        &ACTIONS,
        &net,
        0,
        Device::Cpu,
        Precision::Fp32,
        &mut rng,
    );
    let net = net.unwrap();
    for (name, tensor) in net.params.named() {
        let gain = match name {
            "policy.weight" => 0.01,
            "value.weight" => 1.0,
            _ => 2_f64.sqrt(),
        };
        if name.ends_with("bias") {
            assert!(
                tensor.abs().max().double_value(&[]) <= 0.0,
                "{name} is not zero"
            );
            continue;
        }
        // All of them have fewer rows than columns, so the rows are orthonormal.
        let matrix = tensor.detach().flatten(1, -1);
        let identity = Tensor::eye(matrix.size()[0], (Kind::Float, Device::Cpu)) * (gain * gain);
        let worst = difference(&matrix.matmul(&matrix.tr()), &identity);
        assert!(
            worst < TOLERANCE,
            "{name}: W·Wᵀ differs from {gain}²·I by {worst:e}"
        );
    }
}

#[test]
fn a2c_loss_and_gradient() {
    let tensors = oracle("losses.safetensors");
    let (net, samples) = (network(&tensors), samples(&tensors));
    let output = net.forward(&tensors["obs"]);
    let loss = a2c::loss(&output, &samples, &A2cSettings::default());
    compare(
        "a2c",
        &tensors,
        &net,
        [&loss.total, &loss.terms[0], &loss.terms[1], &loss.terms[2]],
    );
}

#[test]
fn optimizers() {
    let tensors = oracle("optimizers.safetensors");
    let numel = tensors["start"].numel() as i64;
    let new = |name: &str| match name {
        "adam" => Optimizer::adam(numel, Device::Cpu, 1e-5),
        "radam" => Optimizer::radam(numel, Device::Cpu),
        _ => Optimizer::rms_prop(numel, Device::Cpu, 0.99, 1e-5),
    };
    let start = &tensors["start"];
    let names = ["adam", "radam", "rms_prop"];
    for (name, in_a_row) in names
        .iter()
        .flat_map(|name| [(*name, true), (*name, false)])
    {
        let mut optimizer = new(name);
        // Numbers that lie apart are computed by libtorch's operations, as on a GPU.
        let mut params = if in_a_row {
            start.copy()
        } else {
            Tensor::stack(&[start, start], 1).select(1, 0)
        };
        for (step, rate) in floats(&tensors["rates"]).into_iter().enumerate() {
            optimizer.step(
                &mut params,
                (&tensors["gradients"].get(step as i64), 1.0),
                f64::from(rate),
                Threads::ONE,
            );
        }
        let worst = difference(&params, &tensors[name]);
        assert!(worst < TOLERANCE, "{name} differs by {worst:e}");
    }
}

#[test]
fn the_residual_network_of_impala_and_layer_norm() {
    let all = oracle("impala.safetensors");
    for (variant, layer_norm) in [("plain.", false), ("normed.", true)] {
        let of_variant = all.iter().filter_map(|(name, tensor)| {
            let name = name.strip_prefix(variant)?.to_owned();
            Some((name, tensor.shallow_clone()))
        });
        let tensors: Tensors = of_variant.collect();
        let spec = ObsSpec {
            shape: vec![2, 20, 20],
            dtype: Dtype::Uint8,
        };
        let settings = NetSettings {
            net: Net::Impala,
            ..NetSettings::default()
        };
        let style = BodyStyle {
            rectified: true,
            layer_norm,
            last_layer: true,
        };
        let mut rng = seeded_rng(0);
        let mut params = ParamsBuilder::new(&mut rng);
        let body = Body::new(&mut params, "", &spec, &settings, style).unwrap();
        let params = params.finish(Device::Cpu);
        assert_eq!(
            params.named().count(),
            tensors
                .keys()
                .filter(|name| name.starts_with("params."))
                .count()
        );
        let state = State {
            tensors: tensors.iter().filter_map(param).collect(),
            ..State::default()
        };
        state.copy_to(params.named()).unwrap();

        let features = body.forward(&tensors["obs"], Kind::Float);
        let worst = difference(&features, &tensors["features"]);
        assert!(worst < TOLERANCE, "{variant}features differ by {worst:e}");
        let gradient = params.gradient(&(features * &tensors["weights"]).sum(Kind::Float));
        let theirs = params
            .named()
            .map(|(name, _)| tensors[&format!("grad.{name}")].reshape(-1));
        let theirs: Vec<Tensor> = theirs.collect();
        let worst = difference(&gradient, &Tensor::cat(&theirs, 0));
        assert!(worst < TOLERANCE, "{variant}gradient differs by {worst:e}");
    }
}
