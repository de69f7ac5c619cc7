//! A network of action values: a body, and a head in one stream or two.

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{
    body::{Body, BodyStyle, compute_kind},
    layers::{Activation, Linear},
    noisy::{LayerNoise, NoisyLinear},
    observed::Observed,
    params::{Network, Params, ParamsBuilder},
    quantiles::QuantileEmbedding,
    returns::Returns,
};
use crate::{
    error::TrainerError,
    parallel::ReadOnly,
    settings::{NetSettings, Precision},
};

/// What the algorithm decides of a network of action values.
#[derive(Clone, Copy, Debug, Default)]
pub struct QStyle {
    /// Layer normalization behind each layer of the body; with neither of the next two.
    pub layer_norm: bool,
    /// A stream for the value of the observation and one for the advantages of the actions (Wang et
    /// al. 2016).
    pub dueling: bool,
    /// Fully connected layers have noisy weights, at first by this much.
    pub noise: Option<f64>,
    /// What is said of each action.
    pub returns: Returns,
}

/// Q(observation, action) for every action.
#[derive(Debug)]
pub struct QNet {
    /// The weights.
    pub params: Params,
    /// What the outputs say of each action.
    pub returns: Returns,
    body: Body,
    /// Of implicit quantiles.
    embedding: Option<QuantileEmbedding>,
    head: Head,
    num_actions: i64,
    compute: Kind,
}

#[derive(Debug)]
enum Head {
    /// One layer behind the whole body.
    Linear(Linear),
    /// A hidden layer and the last one, behind a body without its last layer.
    Stream(Stream),
    /// Two of them.
    Dueling { value: Stream, advantage: Stream },
}

#[derive(Debug)]
struct Stream {
    hidden: Layer,
    out: Layer,
}

#[derive(Debug)]
enum Layer {
    Plain(Linear),
    Noisy(NoisyLinear),
}

/// The noise of all noisy layers of a network, in their order.
#[derive(Debug)]
pub struct Noise(Vec<LayerNoise>);

const HIDDEN_GAIN: f64 = std::f64::consts::SQRT_2;
const OUT_GAIN: f64 = 1.0;

impl QNet {
    /// A freshly initialized network, its weights drawn from `rng`: a body with rectified linear units
    /// and a head that starts orthogonal, the last layer with gain 1. The head's parameters are `q`;
    /// with noise or implicit quantiles `q.hidden` and `q.out`; with two streams `value.hidden`, `value.out`,
    /// `advantage.hidden` and `advantage.out`. Implicit quantiles have a layer `quantiles` before it.
    ///
    /// # Errors
    /// As [`Body::new`]; [`TrainerError::Usage`] for actions that are not discrete.
    pub fn new(
        spec: &ObsSpec,
        actions: &ActionSpace,
        settings: &NetSettings,
        style: QStyle,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let &ActionSpace::Discrete { n: num_actions } = actions else {
            return Err(TrainerError::Usage(format!(
                "no action values for the actions {actions:?}: they must be Discrete"
            )));
        };
        let of_one = style.returns.outputs();
        let outputs = num_actions * of_one;
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let cosines = match style.returns {
            Returns::Implicit { cosines, .. } => Some(cosines),
            _ => None,
        };
        let has_streams = style.dueling || style.noise.is_some() || cosines.is_some();
        let body_style = BodyStyle {
            rectified: true,
            layer_norm: style.layer_norm,
            last_layer: !has_streams,
        };
        let body = Body::new(&mut params, "", spec, settings, body_style)?;
        let embedding =
            cosines.map(|cosines| QuantileEmbedding::new(&mut params, cosines, body.features));
        let mut stream = |name: &str, outputs| {
            let sizes = [body.features, body.width, outputs];
            Stream::new(&mut params, name, sizes, style.noise)
        };
        let head = if style.dueling {
            Head::Dueling {
                value: stream("value", of_one),
                advantage: stream("advantage", outputs),
            }
        } else if has_streams {
            Head::Stream(stream("q", outputs))
        } else {
            let inputs = body.features;
            Head::Linear(Linear::new(&mut params, "q", inputs, outputs, OUT_GAIN))
        };
        Ok(Self {
            params: params.finish(device),
            returns: style.returns,
            body,
            embedding,
            head,
            num_actions,
            compute: compute_kind(precision, device),
        })
    }

    /// Actions that it values.
    #[must_use]
    pub fn num_actions(&self) -> i64 {
        self.num_actions
    }

    /// Action values of `obs`, `[batch, ...]` in the environment's own type → float32
    /// `[batch, num_actions]`. Noisy weights are what they are on average; implicit quantiles are those in the
    /// middles of equal parts of [0, 1].
    pub fn values(&self, obs: impl Into<Observed>) -> Tensor {
        self.returns.mean(&self.forward(obs, None, None))
    }

    /// What is said of each action, float32 `[batch, num_actions, outputs]`: [`Self::of_features`] of what the body
    /// makes of `obs`.
    pub fn forward(
        &self,
        obs: impl Into<Observed>,
        noise: Option<&Noise>,
        fractions: Option<&Tensor>,
    ) -> Tensor {
        self.of_features(&self.features(obs), noise, fractions)
    }

    /// What the body makes of `obs`, `[batch, features]`: neither noise nor fractions change it.
    pub fn features(&self, obs: impl Into<Observed>) -> Tensor {
        self.body.forward(obs, self.compute)
    }

    /// What is said of each action, float32 `[batch, num_actions, outputs]`: implicit quantiles at these
    /// `fractions`, `[batch, outputs]`. The last layers are computed in float32 whatever the precision.
    ///
    /// Two streams are joined as value + advantage − mean of the advantages (Wang et al. 2016, eq. 9),
    /// for each of the outputs alone.
    pub fn of_features(
        &self,
        features: &Tensor,
        noise: Option<&Noise>,
        fractions: Option<&Tensor>,
    ) -> Tensor {
        let Some(embedding) = &self.embedding else {
            return self.of_rows(features, noise);
        };
        let fractions = fractions.map_or_else(
            || self.returns.support(features.device()).unsqueeze(0),
            Tensor::shallow_clone,
        );
        let quantiles = self.of_rows(&embedding.forward(features, &fractions), noise);
        let quantiles = quantiles.view([-1, fractions.size()[1], self.num_actions]);
        quantiles.transpose(1, 2)
    }

    /// The head's outputs, float32 `[rows, num_actions, outputs]`.
    fn of_rows(&self, features: &Tensor, noise: Option<&Noise>) -> Tensor {
        let noise = noise.map(|noise| noise.0.as_slice());
        let shape = [-1, self.num_actions, self.returns.outputs()];
        match &self.head {
            Head::Linear(last) => {
                let features = features.to_kind(Kind::Float);
                last.forward(&features, Activation::None).view(shape)
            }
            Head::Stream(stream) => stream.forward(features, noise).view(shape),
            Head::Dueling { value, advantage } => {
                let parts = noise.map(|noise| noise.split_at(Stream::NUM_LAYERS));
                let value = value.forward(features, parts.map(|(first, _)| first));
                let advantage = advantage.forward(features, parts.map(|(_, second)| second));
                let advantage = advantage.view(shape);
                let mean = advantage.mean_dim(1, true, Kind::Float);
                value.unsqueeze(1) + (advantage - mean)
            }
        }
    }

    /// Noise for one use of the network; `None` if no layer is noisy.
    pub fn draw_noise(&self, rng: &mut dyn Rng) -> Option<Noise> {
        let streams = match &self.head {
            Head::Linear(_) => vec![],
            Head::Stream(stream) => vec![stream],
            Head::Dueling { value, advantage } => vec![value, advantage],
        };
        let layers = streams
            .iter()
            .flat_map(|stream| [&stream.hidden, &stream.out]);
        let drawn: Option<Vec<LayerNoise>> = layers
            .map(|layer| match layer {
                Layer::Plain(_) => None,
                Layer::Noisy(layer) => Some(layer.draw(rng)),
            })
            .collect();
        drawn.filter(|layers| !layers.is_empty()).map(Noise)
    }
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors alone.
unsafe impl ReadOnly for Option<Noise> {}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors and numbers, which only `&mut self` changes; what the body makes of its weights lies behind a lock.
unsafe impl ReadOnly for QNet {}

impl Network for QNet {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}

impl Stream {
    const NUM_LAYERS: usize = 2;

    /// Layers of the sizes `[inputs, hidden, outputs]`.
    fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        [inputs, hidden, outputs]: [i64; 3],
        noise: Option<f64>,
    ) -> Self {
        let mut layer = |part: &str, inputs, outputs, gain| {
            let name = format!("{name}.{part}");
            if let Some(sigma) = noise {
                Layer::Noisy(NoisyLinear::new(params, &name, inputs, outputs, sigma))
            } else {
                Layer::Plain(Linear::new(params, &name, inputs, outputs, gain))
            }
        };
        Self {
            hidden: layer("hidden", inputs, hidden, HIDDEN_GAIN),
            out: layer("out", hidden, outputs, OUT_GAIN),
        }
    }

    /// `[batch, inputs]` → float32 `[batch, outputs]`.
    fn forward(&self, features: &Tensor, noise: Option<&[LayerNoise]>) -> Tensor {
        let noise_of = |layer: usize| noise.map(|noise| &noise[layer]);
        let hidden = self.hidden.forward(features, noise_of(0)).relu();
        self.out.forward(&hidden.to_kind(Kind::Float), noise_of(1))
    }
}

impl Layer {
    fn forward(&self, x: &Tensor, noise: Option<&LayerNoise>) -> Tensor {
        match self {
            Self::Plain(layer) => layer.forward(x, Activation::None),
            Self::Noisy(layer) => layer.forward(x, noise),
        }
    }
}
