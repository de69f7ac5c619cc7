//! The Nature CNN in tiles, emulated ones and the processor's: beside libtorch in float64, and as a part of a network.

use rand::RngExt;
use tch::{Device, Kind, Tensor, no_grad, no_grad_guard};
use vec_env::{Dtype, ObsSpec};

use super::double;
use crate::{
    nn::{Body, BodyStyle, LayerNorm, Params, ParamsBuilder},
    parallel,
    processor::{self, tests::EMULATES_TILES},
    random::seeded_rng,
    settings::NetSettings,
};

/// A body for images of 44 by 36 pixels, which make 2 by 1 in the Nature CNN's last convolution.
pub(super) struct Net {
    body: Body,
    params: Params,
}

impl Net {
    fn new(seed: u64, emulates_tiles: bool, last_layer: bool) -> Self {
        let style = BodyStyle {
            last_layer,
            ..BodyStyle::ACTOR_CRITIC
        };
        Self::styled(seed, emulates_tiles, style)
    }

    fn styled(seed: u64, emulates_tiles: bool, style: BodyStyle) -> Self {
        Self::with(seed, emulates_tiles, style, &NetSettings::default())
    }

    pub fn with(seed: u64, emulates_tiles: bool, style: BodyStyle, settings: &NetSettings) -> Self {
        EMULATES_TILES.set(emulates_tiles);
        let mut rng = seeded_rng(seed);
        let mut builder = ParamsBuilder::new(&mut rng);
        let spec = ObsSpec {
            shape: vec![4, 44, 36],
            dtype: Dtype::Uint8,
        };
        let body = Body::new(&mut builder, "", &spec, settings, style).unwrap();
        EMULATES_TILES.set(false);
        assert!(body.tiled.is_some());
        let params = builder.finish(Device::Cpu);
        for (_, param) in params.named().filter(|(name, _)| name.contains("norm")) {
            // Else they were all ones, or zeros.
            let noise = Tensor::randn(param.size(), (Kind::Float, Device::Cpu)) / 4.0;
            no_grad(|| drop(param.shallow_clone().g_add_(&noise)));
        }
        Self { body, params }
    }

    pub fn forward(&self, images: &Tensor) -> Tensor {
        self.body.forward(images, Kind::BFloat16)
    }

    /// The gradient of the sum of the features times `factors`, of all parameters.
    fn gradient(&self, features: &Tensor, factors: &Tensor) -> Tensor {
        let loss = (features.to_kind(Kind::Float) * factors).sum(Kind::Float);
        self.params.gradient(&loss)
    }
}

/// Whether tiles are emulated: also not, where the processor has them.
pub(super) fn units() -> Vec<bool> {
    let has_tiles = processor::tiles().is_some();
    [true]
        .into_iter()
        .chain(has_tiles.then_some(false))
        .collect()
}

/// The same each time.
pub(super) fn images(count: i64) -> Tensor {
    let mut rng = seeded_rng(9);
    let bytes: Vec<u8> = (0..count * 4 * 44 * 36).map(|_| rng.random()).collect();
    Tensor::from_slice(&bytes).view([count, 4, 44, 36])
}

/// Rounded to bfloat16, as if that changed nothing of the gradient.
pub(super) fn rounded(x: &Tensor) -> Tensor {
    let rounded = x.to_kind(Kind::BFloat16).to_kind(Kind::Double);
    x + (rounded - x).detach()
}

/// The length of the difference by that of `theirs`.
fn distance(ours: &Tensor, theirs: &Tensor) -> f64 {
    let difference = (double(ours) - theirs).norm() / theirs.norm();
    difference.double_value(&[])
}

/// Features in float64 of weights and activations that are rounded where tiles round them.
fn exact(params: &[Tensor], norm: bool, images: &Tensor) -> Tensor {
    let mut x = images.to_kind(Kind::Double);
    let of_layer = if norm { 4 } else { 2 };
    for (layer, (param, stride)) in params.chunks_exact(of_layer).zip([4, 2, 1, 0]).enumerate() {
        let scale = if layer == 0 { 255.0 } else { 1.0 };
        let (weight, bias) = (rounded(&(&param[0] / scale)), Some(&param[1]));
        x = match stride {
            0 => x.flatten(1, -1).linear(&weight, bias),
            _ => x.conv2d(&weight, bias, stride, 0, 1, 1),
        };
        x = rounded(&x);
        if let [_, _, scale, shift] = param {
            let (last, shape) = (x.movedim_int(1, -1), scale.size());
            let normed = last.layer_norm(shape, Some(scale), Some(shift), LayerNorm::EPS, false);
            x = rounded(&normed.movedim_int(-1, 1));
        }
        x = x.relu();
    }
    x.flatten(1, -1)
}

#[test]
fn features_and_gradients_are_those_of_libtorch() {
    let styles = [(true, false), (false, false), (true, true)];
    for (emulates_tiles, (last_layer, layer_norm)) in units()
        .into_iter()
        .flat_map(|unit| styles.map(|style| (unit, style)))
    {
        let style = BodyStyle {
            layer_norm,
            last_layer,
            ..BodyStyle::ACTOR_CRITIC
        };
        let (net, images) = (Net::styled(1, emulates_tiles, style), images(33));
        // Gradients between layers are rounded, to 8 bits each, and then added up; a unit may be on in one alone. A norm
        // takes from them what all outputs have in common, and leaves what rounding did.
        let bound = if layer_norm { 1.0 / 32.0 } else { 1.0 / 64.0 };
        compare(
            &net,
            &images,
            |params| exact(params, layer_norm, &images),
            [1.0 / 128.0, bound],
        );
    }
}

/// Compares features and the gradients of each parameter with those of `exact` features, within these bounds.
pub(super) fn compare(
    net: &Net,
    images: &Tensor,
    exact: impl FnOnce(&[Tensor]) -> Tensor,
    [of_features, of_gradients]: [f64; 2],
) {
    let features = net.forward(images);
    let params = net.params.named();
    let params = params.map(|(_, param)| double(param).set_requires_grad(true));
    let params: Vec<Tensor> = params.collect();
    let theirs = exact(&params);
    let difference = distance(&features, &theirs);
    assert!(difference < of_features, "features: {difference:e}");

    let mut rng = seeded_rng(10);
    let factors = (0..features.numel()).map(|_| rng.random::<f32>() - 0.5);
    let factors = Tensor::from_slice(&factors.collect::<Vec<_>>()).view_as(&features) / 33.0;
    let factors = double(&factors.to_kind(Kind::BFloat16)) * features.gt(0.0);
    let ours = net.gradient(&features, &factors);
    let mut start = 0;
    let loss = (theirs * &factors).sum(Kind::Double);
    let theirs = Tensor::run_backward(&[loss], &params, false, false);
    for ((name, _), theirs) in net.params.named().zip(theirs) {
        let length = theirs.numel() as i64;
        let ours = ours.narrow(0, start, length).view(theirs.size().as_slice());
        let difference = distance(&ours, &theirs);
        assert!(difference < of_gradients, "{name}: {difference:e}");
        start += length;
    }
}

#[test]
fn acting_says_what_learning_says() {
    for emulates_tiles in units() {
        let net = Net::new(2, emulates_tiles, true);
        for count in [1, 8, 17] {
            let images = images(count);
            let acting = no_grad(|| net.forward(&images));
            assert_eq!(acting, net.forward(&images).detach(), "{count} images");
        }
    }
}

/// Whichever way they are changed.
#[test]
fn weights_that_were_changed_are_packed_anew() {
    let (mut net, mut fresh) = (Net::new(3, true, true), Net::new(4, true, true));
    let images = images(3);
    let _guard = no_grad_guard();
    let before = net.forward(&images);
    let changes: [fn(&mut Net, &Net); 4] = [
        |net, _| {
            let _ = net.params.flat_mut().g_mul_scalar_(0.5);
        },
        |net, other| net.params.copy_from(&other.params),
        |net, _| {
            let first = net
                .params
                .named()
                .next()
                .map(|(_, param)| param.shallow_clone());
            let _ = first.unwrap().fill_(0.01);
        },
        |net, other| net.params.approach(&other.params, 0.5),
    ];
    for change in changes {
        change(&mut net, &Net::new(5, true, true));
        let now = net.forward(&images);
        fresh.params.copy_from(&net.params);
        assert_eq!(now, fresh.forward(&images));
        assert_ne!(now, before);
    }
}

#[test]
fn threads_compute_what_one_computes() {
    for emulates_tiles in units() {
        let (net, images) = (Net::new(6, emulates_tiles, true), images(24));
        let gradient = |net: &Net, part: Tensor| {
            let factors = Tensor::ones([8, 512], (Kind::Float, Device::Cpu));
            net.gradient(&net.forward(&part), &factors)
        };
        let one: Vec<Tensor> = images
            .tensor_split(3, 0)
            .into_iter()
            .map(|part| gradient(&net, part))
            .collect();
        for _ in 0..3 {
            let parts: Vec<_> = images.tensor_split(3, 0).into_iter().collect();
            let net = Shared(&net);
            let several = parallel::map(parts, |part| gradient(net.get(), part));
            assert_eq!(several, one);
        }
    }
}

/// Several threads compute with it, and none changes it.
struct Shared<'a>(&'a Net);

#[expect(unsafe_code, reason = "as the trainer's own networks")]
// SAFETY: nobody writes to it meanwhile.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    fn get(&self) -> &Net {
        self.0
    }
}

/// oneDNN configures tiles of its own between our passes.
#[test]
fn libtorch_may_use_tiles_in_between() {
    for emulates_tiles in units() {
        let (net, images) = (Net::new(7, emulates_tiles, true), images(40));
        let factors = Tensor::ones([40, 512], (Kind::Float, Device::Cpu));
        let alone = net.gradient(&net.forward(&images), &factors);
        let features = net.forward(&images);
        let square = Tensor::rand([256, 256], (Kind::Float, Device::Cpu)).to_kind(Kind::BFloat16);
        let product = square.matmul(&square);
        assert_eq!(net.gradient(&features, &factors), alone);
        assert_eq!(square.matmul(&square), product);
    }
}

#[test]
fn a_graph_is_gone_back_through_once() {
    let (net, images) = (Net::new(8, true, true), images(1));
    let loss = net.forward(&images).to_kind(Kind::Float).sum(Kind::Float);
    let params: Vec<&Tensor> = net.params.named().map(|(_, param)| param).collect();
    assert!(Tensor::f_run_backward(&[&loss], &params, false, false).is_ok());
    assert!(Tensor::f_run_backward(&[&loss], &params, false, false).is_err());
}

#[test]
#[should_panic(expected = "extents of the images")]
fn images_of_other_extents_are_refused() {
    let larger = Tensor::zeros([2, 4, 96, 96], (Kind::Uint8, Device::Cpu));
    let _ = Net::new(1, true, true).forward(&larger);
}
