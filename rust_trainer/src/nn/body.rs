//! Bodies: what makes features of observations, for the heads of any network.

use tch::{Device, Kind, Tensor};
use vec_env::ObsSpec;

use super::{
    impala::ImpalaResNet,
    layers::{Activation, Linear},
    nature::NatureCnn,
    observed::Observed,
    params::ParamsBuilder,
    tiled::TiledTrunk,
};
use crate::{
    device,
    error::TrainerError,
    processor,
    settings::{Net, NetSettings, Precision},
};

/// What the algorithm decides of a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyStyle {
    /// An MLP has rectified linear units instead of tanh; CNNs have them anyway.
    pub rectified: bool,
    /// Layer normalization behind each layer, before its units.
    pub layer_norm: bool,
    /// The last layer, fully connected, is the body's and not the heads'.
    pub last_layer: bool,
}

impl BodyStyle {
    /// That of actor-critic algorithms as published.
    pub const ACTOR_CRITIC: Self = Self {
        rectified: false,
        layer_norm: false,
        last_layer: true,
    };
}

/// Everything of a network but its heads.
#[derive(Debug)]
pub struct Body {
    trunk: Trunk,
    /// The last layer, where it is the body's.
    last: Option<Linear>,
    /// Both at once in bfloat16, where the processor has tiles for it.
    pub(super) tiled: Option<TiledTrunk>,
    activation: Activation,
    /// Numbers that [`Body::forward`] makes of an observation.
    pub features: i64,
    /// Units of the last layer, whether it is the body's or the heads'.
    pub width: i64,
}

/// All before the last layer.
#[derive(Debug)]
enum Trunk {
    /// For images.
    Nature(NatureCnn),
    /// For images, deeper.
    Impala(Box<ImpalaResNet>),
    /// For flat observations.
    Mlp(Linear),
}

impl Body {
    /// The body that `settings` name for observations of `spec`. The names of its parameters begin with
    /// `scope`, such as `policy.`, so that a network can have several; behind it come those of the
    /// [convolutions](NatureCnn::new) and `hidden`, or `hidden1` and `hidden2`.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for observations that no body takes, or that the one named does not: an
    /// image is nothing for an MLP, and flat observations have nothing to convolve.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        scope: &str,
        spec: &ObsSpec,
        settings: &NetSettings,
        style: BodyStyle,
    ) -> Result<Self, TrainerError> {
        let (norm, gain) = (style.layer_norm, 2_f64.sqrt());
        let (is_image, mlp_width) = (spec.is_image(), settings.mlp_width);
        if is_image && mlp_width != NetSettings::default().mlp_width {
            let problem =
                "is not read: the observations are images, and `net` is no mlp".to_owned();
            return Err(TrainerError::setting("mlp_width", mlp_width, problem));
        }
        // What the convolutions make of an image.
        let of_convolutions = |outputs: &[usize], cnn: &str| match (outputs, spec.shape.as_slice())
        {
            (&[.., inputs, _], shape) if inputs > 0 && !shape.contains(&0) => Ok(inputs as i64),
            (_, shape) => Err(TrainerError::Usage(format!(
                "images of {}×{} pixels are too small for the {cnn}; the shape {shape:?} of an observation is taken for \
                 [channels, height, width]",
                shape[1], shape[2]
            ))),
        };
        let (trunk, inputs, width) = match (settings.net, is_image, spec.shape.as_slice()) {
            (Net::Auto | Net::Nature, true, &[channels, height, width]) => {
                let inputs = of_convolutions(&NatureCnn::outputs(height, width), "Nature CNN")?;
                let cnn = NatureCnn::new(params, scope, channels as i64, norm);
                (Trunk::Nature(cnn), inputs, NatureCnn::WIDTH)
            }
            (Net::Impala, true, &[channels, height, width]) => {
                let outputs = ImpalaResNet::outputs(height, width, settings.impala_width);
                let inputs = of_convolutions(&outputs, "IMPALA network")?;
                let cnn = ImpalaResNet::new(params, scope, channels as i64, norm);
                (Trunk::Impala(Box::new(cnn)), inputs, settings.impala_width)
            }
            (Net::Auto | Net::Mlp, false, &[features]) => {
                let name = format!("{scope}hidden1");
                let layer = Linear::new(params, &name, features as i64, mlp_width, gain);
                let layer = layer.normed(params, &name, norm);
                (Trunk::Mlp(layer), mlp_width, mlp_width)
            }
            (net, ..) => return Err(cannot_take(net, spec)),
        };
        let last = style.last_layer.then(|| {
            let name = format!("{scope}hidden{}", if is_image { "" } else { "2" });
            Linear::new(params, &name, inputs, width, gain).normed(params, &name, norm)
        });
        let hidden = last.as_ref().map(|_| width);
        let tiled = tiles(&trunk, spec, hidden, norm).map(|(tiles, mut weights)| {
            weights.extend(last.iter().flat_map(Linear::weights));
            TiledTrunk::new(tiles, &spec.shape, weights, params.version())
        });
        Ok(Self {
            trunk,
            features: if last.is_some() { width } else { inputs },
            last,
            tiled,
            activation: if is_image || style.rectified {
                Activation::Relu
            } else {
                Activation::Tanh
            },
            width,
        })
    }

    /// `[batch, ...]` in the environment's own type → `[batch, features]`, computed in `kind`; bytes, of pictures
    /// or of a console's RAM, count as 0 to 1.
    pub fn forward(&self, obs: impl Into<Observed>, kind: Kind) -> Tensor {
        let obs = obs.into();
        let tiled = self.tiled.as_ref().filter(|_| kind == Kind::BFloat16);
        if let Some(features) = tiled.and_then(|tiled| tiled.forward(&obs)) {
            return features;
        }
        let hidden = match &self.trunk {
            Trunk::Nature(cnn) => cnn.forward(&pixels(&obs.tensor()), kind).flatten(1, -1),
            Trunk::Impala(cnn) => cnn.forward(&pixels(&obs.tensor()), kind).flatten(1, -1),
            Trunk::Mlp(layer) => {
                let obs = obs.tensor();
                let numbers = obs.to_kind(kind);
                let is_bytes = obs.kind() == Kind::Uint8;
                let numbers = if is_bytes { numbers / 255.0 } else { numbers };
                layer.forward(&numbers, self.activation)
            }
        };
        match &self.last {
            Some(last) => last.forward(&hidden, self.activation),
            None => hidden,
        }
    }
}

/// What computes a trunk for images, and a layer of `hidden` behind it, in tiles, where the processor has some and the
/// extents fill them; and the trunk's parameters.
fn tiles(
    trunk: &Trunk,
    spec: &ObsSpec,
    hidden: Option<i64>,
    norm: bool,
) -> Option<(learner_kernels::Trunk, Vec<Tensor>)> {
    let (unit, image) = (
        processor::tiles()?,
        <[usize; 3]>::try_from(&*spec.shape).ok()?,
    );
    match trunk {
        Trunk::Nature(cnn) => {
            let shape = cnn.shape(image, hidden);
            Some((learner_kernels::Trunk::new(shape, unit)?, cnn.weights()))
        }
        Trunk::Impala(cnn) if !norm => {
            let shape = ImpalaResNet::shape(image, hidden);
            Some((
                learner_kernels::Trunk::residual(shape, unit)?,
                cnn.weights(),
            ))
        }
        // Norms of the residual network are libtorch's.
        Trunk::Impala(_) | Trunk::Mlp(_) => None,
    }
}

fn cannot_take(net: Net, spec: &ObsSpec) -> TrainerError {
    let needed = match net {
        Net::Auto => "they must be images, uint8 [channels, height, width], or flat",
        Net::Nature | Net::Impala => "they must be images, uint8 [channels, height, width]",
        Net::Mlp => "they must be flat",
    };
    TrainerError::Usage(format!(
        "`net` = {net} cannot take observations of type {:?} and shape {:?}: {needed}",
        spec.dtype, spec.shape
    ))
}

/// Images, uint8 `[batch, channels, height, width]`, for a first convolution.
///
/// A batch that does not lie channels-last in memory yet is turned before it becomes floating point: one
/// quarter of the bytes to move, and the convolutions keep the layout. On 4 cores that alone is 1.25
/// times as fast in fp32.
fn pixels(images: &Tensor) -> Tensor {
    let channels_last = images.permute([0, 2, 3, 1]).contiguous();
    channels_last.permute([0, 3, 1, 2])
}

/// The type of numbers in the forward and backward pass on `device`.
pub(super) fn compute_kind(precision: Precision, device: Device) -> Kind {
    match device::precision(precision, device) {
        Precision::Bf16 => Kind::BFloat16,
        Precision::Fp32 | Precision::Tf32 | Precision::Auto => Kind::Float,
    }
}
