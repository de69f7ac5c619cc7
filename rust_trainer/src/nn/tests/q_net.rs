use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, Dtype, ObsSpec};

use crate::{
    error::TrainerError,
    nn::{QNet, QStyle, Returns},
    random::seeded_rng,
    settings::{NetSettings, Precision},
};

fn net(actions: &ActionSpace, layer_norm: bool) -> Result<QNet, TrainerError> {
    let spec = ObsSpec {
        shape: vec![3],
        dtype: Dtype::Float32,
    };
    let (on, mut rng) = ((Device::Cpu, Precision::Bf16), seeded_rng(1));
    let style = QStyle {
        layer_norm,
        dueling: false,
        noise: None,
        returns: Returns::Expected,
    };
    QNet::new(&spec, actions, &NetSettings::default(), style, on, &mut rng)
}

#[test]
fn values_are_exact_in_bfloat16_and_as_many_as_actions() {
    for (layer_norm, num_params) in [(false, 6), (true, 10)] {
        let net = net(&ActionSpace::Discrete { n: 4 }, layer_norm).unwrap();
        assert_eq!(net.params.named().count(), num_params);
        for (name, tensor) in net.params.named() {
            let value = if name == "q.bias" { 3.001 } else { 0.0 };
            let _ = tch::no_grad(|| tensor.shallow_clone().fill_(value));
        }
        let q_values = net.forward(
            &Tensor::ones([2, 3], (Kind::Float, Device::Cpu)),
            None,
            None,
        );
        assert_eq!(q_values.size(), [2, 4, 1]);
        let difference = (q_values - 3.001).abs().max().double_value(&[]);
        assert!(difference < 1e-6, "bfloat16 knows 3.001 as 3");
    }
}

#[test]
fn continuous_actions_are_refused() {
    let actions = ActionSpace::Box {
        shape: vec![1],
        low: vec![-2.0],
        high: vec![2.0],
    };
    let message = net(&actions, true).unwrap_err().to_string();
    assert!(message.contains("they must be Discrete"), "{message}");
}
