use tch::{Device, Kind};

use crate::{
    nn::{Conv2d, Linear, Lstm, ParamsBuilder},
    random::seeded_rng,
    settings::Init,
};

/// The largest of each parameter; nn.Linear, nn.Conv2d and nn.LSTM bound them by 1/√fan-in, and the
/// last by 1/√size.
#[test]
fn uniform_weights_and_biases_fill_the_bounds_of_pytorch() {
    let mut rng = seeded_rng(1);
    let mut params = ParamsBuilder::new(&mut rng).starting(Init::Uniform);
    Linear::new(&mut params, "linear", 100, 500, 0.01);
    Conv2d::new(&mut params, "conv", (4, 500), (5, 1), 0.01);
    Lstm::new(&mut params, "lstm", 9, 400);
    let params = params.finish(Device::Cpu);
    assert_eq!(params.named().count(), 8);
    for (name, tensor) in params.named() {
        let bound = match name.split('.').next() {
            Some("linear" | "conv") => 0.1,
            _ => 0.05,
        };
        let largest = tensor.abs().max().double_value(&[]);
        assert!(
            (0.98 * bound..=bound + 1e-7).contains(&largest),
            "{name}: {largest}"
        );
        let mean = tensor.mean(Kind::Float).double_value(&[]);
        assert!(mean.abs() < 0.1 * bound, "{name}: {mean}");
    }
}
