//! Bodies: what makes features of observations, for the heads of any network.

use tch::{Kind, Tensor};
use vec_env::ObsSpec;

use super::{ImpalaResNet, Mlp, NatureCnn, ParamsBuilder};
use crate::{
    error::TrainerError,
    settings::{Net, NetSettings},
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
pub enum Body {
    /// For images.
    Nature(Box<NatureCnn>),
    /// For images, deeper.
    Impala(Box<ImpalaResNet>),
    /// For flat observations.
    Mlp(Box<Mlp>),
}

impl Body {
    /// The body that `settings` name for observations of `spec`. The names of its parameters begin with
    /// `scope`, such as `policy.`, so that a network can have several.
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
        let lengths: Vec<i64> = spec.shape.iter().map(|length| *length as i64).collect();
        let image = match lengths.as_slice() {
            &[channels, height, width] if spec.is_image() => Some([channels, height, width]),
            _ => None,
        };
        let width = settings.mlp_width;
        if image.is_some() && width != NetSettings::default().mlp_width {
            let problem =
                "is not read: the observations are images, and `net` is no mlp".to_owned();
            return Err(TrainerError::setting("mlp_width", width, problem));
        }
        match (settings.net, image, lengths.as_slice()) {
            (Net::Auto | Net::Nature, Some(shape), _) => {
                NatureCnn::new(params, scope, shape, style).map(|cnn| Self::Nature(Box::new(cnn)))
            }
            (Net::Impala, Some(shape), _) => ImpalaResNet::new(params, scope, shape, style)
                .map(|cnn| Self::Impala(Box::new(cnn))),
            (Net::Auto | Net::Mlp, None, &[features]) => {
                let mlp = Mlp::new(params, scope, (features, width), style);
                Ok(Self::Mlp(Box::new(mlp)))
            }
            (net, ..) => Err(TrainerError::Usage(format!(
                "`net` = {net} cannot take observations of type {:?} and shape {:?}: {}",
                spec.dtype,
                spec.shape,
                match net {
                    Net::Auto => "they must be images, uint8 [channels, height, width], or flat",
                    Net::Nature | Net::Impala =>
                        "they must be images, uint8 [channels, height, width]",
                    Net::Mlp => "they must be flat",
                }
            ))),
        }
    }

    /// Numbers that [`Body::forward`] makes of an observation.
    #[must_use]
    pub fn features(&self) -> i64 {
        match self {
            Self::Nature(cnn) => cnn.features(),
            Self::Impala(cnn) => cnn.features(),
            Self::Mlp(mlp) => mlp.features(),
        }
    }

    /// Units of the last layer, whether it is the body's or the heads'.
    #[must_use]
    pub fn width(&self) -> i64 {
        match self {
            Self::Nature(_) => NatureCnn::WIDTH,
            Self::Impala(_) => ImpalaResNet::WIDTH,
            Self::Mlp(mlp) => mlp.features(),
        }
    }

    /// `[batch, ...]` in the environment's own type → `[batch, features]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        match self {
            Self::Nature(cnn) => cnn.forward(obs, kind),
            Self::Impala(cnn) => cnn.forward(obs, kind),
            Self::Mlp(mlp) => mlp.forward(obs, kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;
    use vec_env::Dtype;

    use super::*;
    use crate::random::seeded_rng;

    fn body(net: Net, shape: &[usize], dtype: Dtype) -> Result<(Body, Vec<String>), TrainerError> {
        let settings = NetSettings {
            net,
            ..NetSettings::default()
        };
        let spec = ObsSpec {
            shape: shape.to_vec(),
            dtype,
        };
        let mut rng = seeded_rng(1);
        let mut params = ParamsBuilder::new(&mut rng);
        let style = BodyStyle {
            rectified: true,
            layer_norm: true,
            last_layer: true,
        };
        let body = Body::new(&mut params, "first.", &spec, &settings, style)?;
        let params = params.finish(Device::Cpu);
        let names = params.named().map(|(name, _)| name.to_owned()).collect();
        Ok((body, names))
    }

    #[test]
    fn the_features_are_as_many_as_it_says() {
        for (net, shape, dtype) in [
            (Net::Auto, [2, 40, 44].as_slice(), Dtype::Uint8),
            (Net::Nature, &[1, 36, 36], Dtype::Uint8),
            (Net::Impala, &[2, 40, 44], Dtype::Uint8),
            (Net::Impala, &[1, 1, 9], Dtype::Uint8),
            (Net::Auto, &[3], Dtype::Float32),
            (Net::Mlp, &[128], Dtype::Uint8),
        ] {
            let (body, names) = body(net, shape, dtype).unwrap();
            assert!(
                names.iter().all(|name| name.starts_with("first.")),
                "{names:?}"
            );
            let lengths = shape.iter().map(|length| *length as i64);
            let lengths: Vec<i64> = [5].into_iter().chain(lengths).collect();
            let kind = match dtype {
                Dtype::Uint8 => Kind::Uint8,
                Dtype::Float32 => Kind::Float,
            };
            let obs = Tensor::ones(&lengths[..], (kind, Device::Cpu));
            let features = body.forward(&obs, Kind::BFloat16);
            assert_eq!(features.size(), [5, body.features()]);
            assert_eq!(features.kind(), Kind::BFloat16);
        }
    }

    #[test]
    fn a_width_that_no_layer_has_is_refused() {
        let settings = NetSettings {
            mlp_width: 128,
            ..NetSettings::default()
        };
        let made = |shape: &[usize], dtype| {
            let shape = shape.to_vec();
            let mut rng = seeded_rng(1);
            let mut params = ParamsBuilder::new(&mut rng);
            let style = BodyStyle::ACTOR_CRITIC;
            Body::new(&mut params, "", &ObsSpec { shape, dtype }, &settings, style)
        };
        assert_eq!(made(&[4], Dtype::Float32).unwrap().features(), 128);
        let error = made(&[4, 84, 84], Dtype::Uint8).unwrap_err().to_string();
        assert!(
            error.contains("mlp_width") && error.contains("is not read"),
            "{error}"
        );
    }

    #[test]
    fn a_net_that_does_not_fit_the_observations_is_refused_by_name() {
        for (net, shape, dtype, words) in [
            (
                Net::Mlp,
                [4, 84, 84].as_slice(),
                Dtype::Uint8,
                "`net` = mlp cannot take",
            ),
            (
                Net::Nature,
                &[128],
                Dtype::Uint8,
                "`net` = nature cannot take",
            ),
            (
                Net::Impala,
                &[4],
                Dtype::Float32,
                "`net` = impala cannot take",
            ),
            (
                Net::Impala,
                &[4, 0, 84],
                Dtype::Uint8,
                "too small for the IMPALA network",
            ),
            (
                Net::Nature,
                &[4, 84, 84],
                Dtype::Float32,
                "`net` = nature cannot take",
            ),
            (
                Net::Auto,
                &[4, 84, 84],
                Dtype::Float32,
                "`net` = auto cannot take",
            ),
            (
                Net::Auto,
                &[7, 7],
                Dtype::Float32,
                "`net` = auto cannot take",
            ),
            (
                Net::Auto,
                &[1, 30, 84],
                Dtype::Uint8,
                "too small for the Nature CNN",
            ),
        ] {
            let message = body(net, shape, dtype).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
