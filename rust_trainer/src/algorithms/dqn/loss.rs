//! Targets and losses of DQN, by what the network says of returns. `outputs`, `next` and targets are those
//! of one action each, float32 `[batch, outputs]`.

use tch::{Kind, Tensor};

use crate::nn::Returns;

/// What is to be learned where `returns` were got, `[batch]`, and the rest, which counts for `discounts`,
/// `[batch]`, is said to be `next`.
///
/// For a categorical distribution these are probabilities: that of each moved return is shared by the two
/// of the support beside it (Bellemare et al. 2017, eq. 7).
pub fn target(kind: Returns, next: &Tensor, returns: &Tensor, discounts: &Tensor) -> Tensor {
    let (returns, discounts) = (returns.unsqueeze(1), discounts.unsqueeze(1));
    let Returns::Categorical { atoms, low, high } = kind else {
        return returns + discounts * next;
    };
    let support = kind.support(next.device());
    let spacing = (high - low) / (atoms - 1) as f64;
    let moved = (returns + discounts * &support).clamp(low, high);
    // [batch, of the support, moved]: 1 where they are the same, 0 from one spacing on.
    let distance = (moved.unsqueeze(1) - support.unsqueeze(-1)).abs() / spacing;
    let share = (distance.neg() + 1.0).clamp_min(0.0);
    let probabilities = next.softmax(-1, Kind::Float);
    share.bmm(&probabilities.unsqueeze(-1)).squeeze_dim(-1)
}

/// The loss of each sample, and how wrong it was, for its priority; both `[batch]`:
///
/// - of an expected return the Huber loss of the error (Mnih et al. 2015), or its square, and its size;
/// - of a categorical distribution its divergence from the target, `KL(target ‖ p)`, for both (Hessel et
///   al. 2018);
/// - of quantiles the quantile Huber loss with κ = 1 (Dabney et al. 2018, eq. 10), and the size of the
///   error of their mean. Implicit ones are at `fractions`, `[batch, outputs]`, and their targets at others.
pub fn loss(
    kind: Returns,
    is_huber: bool,
    outputs: &Tensor,
    target: &Tensor,
    fractions: Option<&Tensor>,
) -> (Tensor, Tensor) {
    let sum = |terms: Tensor| terms.sum_dim_intlist(-1, false, Kind::Float);
    match kind {
        Returns::Expected => {
            let error = (target - outputs).squeeze_dim(-1);
            let loss = if is_huber {
                huber(&error)
            } else {
                error.square()
            };
            (loss, error.abs())
        }
        Returns::Categorical { .. } => {
            let log_probs = outputs.log_softmax(-1, Kind::Float);
            let divergence = sum(target.xlogy(target) - target * log_probs);
            (divergence.shallow_clone(), divergence)
        }
        Returns::Quantiles { .. } | Returns::Implicit { .. } => {
            // [batch, quantile, of the target]
            let error = target.unsqueeze(1) - outputs.unsqueeze(-1);
            let is_above = error.lt(0.0).to_kind(Kind::Float);
            let evenly = || kind.support(outputs.device());
            let fractions = fractions.map_or_else(evenly, Tensor::shallow_clone);
            let weight = (fractions.unsqueeze(-1) - is_above).abs();
            let of_quantile = (weight * huber(&error)).mean_dim(-1, false, Kind::Float);
            let error_of_mean = kind.mean(target) - kind.mean(outputs);
            (sum(of_quantile), error_of_mean.abs())
        }
    }
}

/// `x² / 2` up to 1, `|x| − 1/2` beyond.
fn huber(error: &Tensor) -> Tensor {
    let size = error.abs();
    let near = size.clamp_max(1.0);
    &near * (size - &near * 0.5)
}
