use tch::{Device, Kind, Tensor, no_grad};
use vec_env::{ActionSpace, Dtype, ObsSpec};

use crate::{
    distributions::Distribution,
    nn::{Output, PolicyValueNet},
    random::seeded_rng,
    settings::{NetSettings, Precision},
    tensors::obs_tensor,
};

fn spec(shape: &[usize], dtype: Dtype) -> ObsSpec {
    ObsSpec {
        shape: shape.to_vec(),
        dtype,
    }
}

fn net(spec: &ObsSpec, precision: Precision) -> PolicyValueNet {
    // Continuous actions: the output of their head is the mean, of which nothing is hidden.
    let actions = ActionSpace::Box {
        shape: vec![3],
        low: vec![-1.0; 3],
        high: vec![1.0; 3],
    };
    let (net, mut rng) = (NetSettings::default(), seeded_rng(1));
    PolicyValueNet::new(spec, &actions, &net, 0, Device::Cpu, precision, &mut rng).unwrap()
}

fn mean(output: &Output) -> Tensor {
    match &output.policy {
        Distribution::DiagonalGaussian { mean, .. } => mean.shallow_clone(),
        Distribution::Categorical { .. } => unreachable!("the actions are continuous"),
    }
}

fn largest_difference(ours: &Tensor, theirs: &Tensor) -> f64 {
    (ours - theirs).abs().max().double_value(&[])
}

#[test]
fn the_heads_are_exact_in_bfloat16() {
    for spec in [spec(&[2], Dtype::Float32), spec(&[1, 36, 36], Dtype::Uint8)] {
        let net = net(&spec, Precision::Bf16);
        no_grad(|| {
            for (name, tensor) in net.params.named() {
                let value = match name {
                    "value.bias" => 3.001,
                    "policy.bias" => -1.001,
                    _ => 0.0,
                };
                let _ = tensor.shallow_clone().fill_(value);
            }
        });
        let obs = obs_tensor(&vec![0; 5 * spec.num_bytes()], 5, &spec).unwrap();
        let output = net.forward(&obs);
        for (tensor, expected) in [(mean(&output), -1.001), (output.value, 3.001)] {
            assert_eq!(tensor.kind(), Kind::Float);
            assert!(
                largest_difference(&tensor, &tensor.full_like(expected)) < 1e-6,
                "bfloat16 knows 3.001 as 3"
            );
        }
    }
}

#[test]
fn bytes_of_ram_reach_the_network_as_numbers_from_0_to_1() {
    let net = net(&spec(&[128], Dtype::Uint8), Precision::Fp32);
    let ram = Tensor::arange(256, (Kind::Uint8, Device::Cpu)).view([2, 128]);
    let (bytes, numbers) = (
        net.forward(&ram),
        net.forward(&(ram.to_kind(Kind::Float) / 255.0)),
    );
    assert!(largest_difference(&bytes.value, &numbers.value) < 1e-6);
    assert!(largest_difference(&mean(&bytes), &mean(&numbers)) < 1e-6);
}

#[test]
fn layers_are_views_of_the_flat_tensor_and_take_gradients() {
    let mut net = net(&spec(&[2], Dtype::Float32), Precision::Fp32);
    let obs = Tensor::ones([1, 2], (Kind::Float, Device::Cpu));
    let output = net.forward(&obs);
    let loss = output.value.sum(Kind::Float)
        + output.policy.entropy().sum(Kind::Float)
        + mean(&output).square().sum(Kind::Float);
    let gradient = net.params.gradient(&loss);
    assert_eq!(gradient.size(), [net.params.numel()]);
    assert!(gradient.abs().max().double_value(&[]) > 0.0);
    let _ = no_grad(|| net.params.flat_mut().fill_(0.5));
    for (name, tensor) in net.params.named() {
        assert!(
            (tensor.mean(Kind::Float).double_value(&[]) - 0.5).abs() < 1e-9,
            "{name}"
        );
    }
    // 0.5 · tanh(0.5 · 64 tanh(1.5) + 0.5) for each of 64 units, which are 1 to rounding, and the bias.
    assert!((net.forward(&obs).value.double_value(&[0]) - 32.5).abs() < 1e-4);
}
