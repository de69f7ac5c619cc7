use tch::{Device, Kind, Tensor};

use super::{double, relative_difference};
use crate::{
    nn::{Activation, LayerNorm, Linear, ParamsBuilder},
    random::seeded_rng,
};

/// The layer beside the formula in float64: of a size for our kernels and of one for libtorch's, on both
/// sides of the numbers of rows from which it is computed otherwise. One row of libtorch's was seen to be
/// off by 1.1e-6.
#[test]
fn a_large_linear_layer_and_its_gradients_are_exact_for_any_number_of_rows() {
    for (inputs, outputs) in [(320, 416), (300, 400)] {
        for rows in [1, 16, 17, 63, 64, 200] {
            let difference = largest_difference(inputs, outputs, rows);
            assert!(
                difference < 2e-6,
                "{rows} rows of {inputs}: off by {difference}"
            );
        }
    }
}

/// Of as many rows as a minibatch has pixels: sums of bfloat16 stood still.
#[test]
fn gradients_of_a_norm_are_exact_for_many_rows_in_bfloat16() {
    const CHANNELS: i64 = 32;
    let mut rng = seeded_rng(1);
    let mut params = ParamsBuilder::new(&mut rng);
    let norm = LayerNorm::new(&mut params, "norm", CHANNELS);
    let params = params.finish(Device::Cpu);
    let normal = |mean: f64| {
        let numbers = Tensor::randn([20_000, CHANNELS], (Kind::Float, Device::Cpu));
        (numbers + mean).to_kind(Kind::BFloat16)
    };
    let (x, of_y) = (normal(0.0), normal(0.2));
    let y = norm.forward(&x);
    assert_eq!(y.kind(), Kind::BFloat16);
    let ours = params.gradient(&(y.to_kind(Kind::Float) * &of_y).sum(Kind::Float));

    let (x, of_y) = (x.to_kind(Kind::Double), of_y.to_kind(Kind::Double));
    let centered = &x - x.mean_dim(1, true, Kind::Double);
    let variance = centered.square().mean_dim(1, true, Kind::Double);
    let normed = centered / (variance + LayerNorm::EPS).sqrt();
    let sums = |tensor: Tensor| tensor.sum_dim_intlist(0, false, Kind::Double);
    let theirs = Tensor::cat(&[sums(normed * &of_y), sums(of_y)], 0);
    let difference = relative_difference(&ours, &theirs);
    assert!(difference < 1e-5, "off by {difference:e}");
}

/// The largest of the output's and the gradients' differences, each beside the largest number there.
fn largest_difference(inputs: i64, outputs: i64, rows: i64) -> f64 {
    let mut rng = seeded_rng(1);
    let mut params = ParamsBuilder::new(&mut rng);
    let layer = Linear::new(&mut params, "layer", inputs, outputs, 1.0);
    let params = params.finish(Device::Cpu);
    let normal = |columns| Tensor::randn([rows, columns], (Kind::Float, Device::Cpu));
    let (x, weights) = (normal(inputs).set_requires_grad(true), normal(outputs));
    let output = layer.forward(&x, Activation::None);
    let loss = (&output * &weights).sum(Kind::Float);
    let of_x = Tensor::run_backward(&[&loss], &[&x], true, false).remove(0);
    let of_params = params.gradient(&loss);

    let parameters: Vec<Tensor> = params.named().map(|(_, tensor)| double(tensor)).collect();
    let (w, bias) = (&parameters[0], &parameters[1]);
    let (x, g) = (double(&x), double(&weights));
    let expected = [
        (output, x.matmul(&w.tr()) + bias),
        (of_x, g.matmul(w)),
        (
            of_params,
            Tensor::cat(
                &[
                    g.tr().matmul(&x).flatten(0, 1),
                    g.sum_dim_intlist(0, false, None),
                ],
                0,
            ),
        ),
    ];
    let differences = expected.map(|(ours, theirs)| relative_difference(&ours, &theirs));
    differences.into_iter().fold(0.0, f64::max)
}
