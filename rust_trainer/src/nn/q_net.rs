//! A network of action values: a body and a linear head.

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{Body, BodyStyle, Linear, Params, ParamsBuilder, compute_kind};
use crate::{
    error::TrainerError,
    settings::{NetSettings, Precision},
};

/// Q(observation, action) for every action.
#[derive(Debug)]
pub struct QNet {
    /// The weights.
    pub params: Params,
    body: Body,
    head: Linear,
    compute: Kind,
}

impl QNet {
    /// A freshly initialized network, its weights drawn from `rng`: a body with rectified linear units,
    /// with `layer_norm` a norm behind each of its layers, and a head `q` that starts orthogonal with
    /// gain 1.
    ///
    /// # Errors
    /// As [`Body::new`]; [`TrainerError::Usage`] for actions that are not discrete.
    pub fn new(
        spec: &ObsSpec,
        actions: &ActionSpace,
        settings: &NetSettings,
        layer_norm: bool,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let ActionSpace::Discrete { n: num_actions } = actions else {
            return Err(TrainerError::Usage(format!(
                "no action values for the actions {actions:?}: they must be Discrete"
            )));
        };
        let mut params = ParamsBuilder::new(rng);
        let style = BodyStyle {
            rectified: true,
            layer_norm,
        };
        let body = Body::new(&mut params, "", spec, settings, style)?;
        let head = Linear::new(&mut params, "q", body.features(), *num_actions, 1.0);
        Ok(Self {
            params: params.finish(device),
            body,
            head,
            compute: compute_kind(precision),
        })
    }

    /// Action values of `obs`, `[batch, ...]` in the environment's own type → float32
    /// `[batch, num_actions]`. The head is computed in float32 whatever the precision.
    pub fn forward(&self, obs: &Tensor) -> Tensor {
        let features = self.body.forward(obs, self.compute);
        self.head.forward(&features.to_kind(Kind::Float))
    }
}

#[cfg(test)]
mod tests {
    use vec_env::Dtype;

    use super::*;
    use crate::policy::seeded_rng;

    fn net(actions: &ActionSpace, layer_norm: bool) -> Result<QNet, TrainerError> {
        let spec = ObsSpec {
            shape: vec![3],
            dtype: Dtype::Float32,
        };
        let (on, mut rng) = ((Device::Cpu, Precision::Bf16), seeded_rng(1));
        QNet::new(
            &spec,
            actions,
            &NetSettings::default(),
            layer_norm,
            on,
            &mut rng,
        )
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
            let q_values = net.forward(&Tensor::ones([2, 3], (Kind::Float, Device::Cpu)));
            assert_eq!(q_values.size(), [2, 4]);
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
}
