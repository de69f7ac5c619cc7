//! Networks: parameters, layers, and the nets made of them.
//!
//! A net is a struct with a field for each layer. All parameters of a net lie in one flat tensor,
//! [`Params`], of which the layers' tensors are views.

mod actor;
mod agent_view;
mod body;
mod convolution;
mod critics;
mod impala;
mod layers;
mod lstm;
mod nature;
mod node;
mod noisy;
mod observed;
mod params;
mod policy_head;
mod policy_value;
mod q_net;
mod quantiles;
mod returns;
pub(crate) mod speed;
#[cfg(test)]
mod tests;
mod tiled;

pub use actor::{Actor, Agents};
pub use agent_view::AgentView;
pub use body::{Body, BodyStyle};
pub use critics::Critics;
pub use impala::ImpalaResNet;
pub use layers::{Activation, Conv2d, LayerNorm, Linear};
pub use lstm::{Lstm, Memory};
pub use nature::NatureCnn;
pub use noisy::{LayerNoise, NoisyLinear};
pub use observed::Observed;
pub use params::{Network, Params, ParamsBuilder};
pub use policy_head::PolicyHead;
pub use policy_value::{Output, PolicyValueNet};
pub use q_net::{Noise, QNet, QStyle};
pub use returns::Returns;
