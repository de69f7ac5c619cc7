//! ε-greedy actions: the best by the action values, or now and then any.

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Device, Kind, Tensor, no_grad_guard};
use vec_env::ActionBatch;

use super::{Choice, Estimates, Outlook, Policy};
use crate::{
    cuda::Recording,
    nn::{Memory, Network, Params, QNet},
    parallel::ReadOnly,
    tensors::{argmax, to_vec},
};

/// Plays by action values: the best action, or with probability ε, unless it plays greedily, any.
#[derive(Debug)]
pub struct EpsilonGreedy {
    /// The action values.
    pub net: QNet,
    /// Probability of an action drawn from all alike.
    pub epsilon: f64,
}

impl Policy for EpsilonGreedy {
    fn device(&self) -> Device {
        self.net.params.device()
    }

    fn act(&self, obs: &Tensor, _: &mut Memory, rng: &mut Pcg64, greedy: bool) -> ActionBatch {
        let _guard = no_grad_guard();
        let epsilon = if greedy { 0.0 } else { self.epsilon };
        epsilon_greedy(&self.net.values(obs), epsilon, rng).actions
    }

    fn outlook(&self, obs: &Tensor, _: &Memory) -> Outlook {
        let _guard = no_grad_guard();
        let values = to_vec::<f32>(&self.net.values(obs).get(0));
        Outlook {
            value: Some(values[argmax(&values)]),
            estimates: Estimates::ActionValues(values),
        }
    }
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: a network that is, and a number.
unsafe impl ReadOnly for EpsilonGreedy {}

impl Network for EpsilonGreedy {
    fn params(&self) -> &Params {
        &self.net.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.net.params
    }
}

/// The choice for each row of action values, `[num_envs, num_actions]`: with probability `epsilon` an
/// action drawn from all alike, the best among them, else the best, of equals the first. Its values are
/// those of the best actions.
///
/// One number is drawn for each row, and a second one where the action is random; none with `epsilon` 0.
pub fn epsilon_greedy(q_values: &Tensor, epsilon: f64, rng: &mut Pcg64) -> Choice {
    let num_actions = q_values.size()[1] as usize;
    let table = to_vec::<f32>(q_values);
    let best = table.chunks_exact(num_actions).map(|row| {
        let best = argmax(row);
        (best, row[best])
    });
    explore(best, num_actions, epsilon, rng)
}

/// [`epsilon_greedy`] by the values of a network where it runs, in work that can be recorded: to the host come the
/// choices alone.
pub fn epsilon_greedy_recorded(
    recording: &mut Recording,
    net: &QNet,
    obs: &Tensor,
    epsilon: f64,
    rng: &mut Pcg64,
) -> Choice {
    let made = recording.call(&[obs], |inputs| {
        let _guard = no_grad_guard();
        let q_values = net.values(inputs[0]);
        let best = q_values.argmax(1, false).to_kind(Kind::Float);
        vec![Tensor::stack(&[best, q_values.amax([1], false)], 1)]
    });
    let table = to_vec::<f32>(&made[0]);
    let best = table.chunks_exact(2).map(|row| (row[0] as usize, row[1]));
    explore(best, net.num_actions() as usize, epsilon, rng)
}

/// [`epsilon_greedy`] with the best of each row, an action and its value, found already.
fn explore(
    best: impl Iterator<Item = (usize, f32)>,
    num_actions: usize,
    epsilon: f64,
    rng: &mut Pcg64,
) -> Choice {
    let any = epsilon / num_actions as f64;
    Choice::of(best.map(|(best, value)| {
        let explores = epsilon > 0.0 && rng.random::<f64>() < epsilon;
        let action = if explores {
            rng.random_range(0..num_actions)
        } else {
            best
        };
        let probability = if action == best {
            1.0 - epsilon + any
        } else {
            any
        };
        (action as i64, probability.ln() as f32, value)
    }))
}

/// Draws what [`epsilon_greedy`] draws for one row of `num_actions` values, and leaves it.
pub fn skip_epsilon_greedy(num_actions: usize, epsilon: f64, rng: &mut Pcg64) {
    if epsilon > 0.0 && rng.random::<f64>() < epsilon {
        let _ = rng.random_range(0..num_actions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::seeded_rng;

    fn q_values(num_rows: i64) -> Tensor {
        let row = Tensor::from_slice(&[0.5_f32, -1.0, 2.0, 2.0]);
        row.unsqueeze(0).repeat([num_rows, 1])
    }

    #[test]
    fn greedy_actions_are_the_first_best_and_draw_nothing() {
        let mut rng = seeded_rng(1);
        let choice = epsilon_greedy(&q_values(3), 0.0, &mut rng);
        assert_eq!(choice.actions, ActionBatch::Discrete(vec![2; 3]));
        assert_eq!(choice.values, [2.0; 3]);
        assert_eq!(choice.log_probs, [0.0; 3]);
        assert_eq!(rng, seeded_rng(1));
    }

    #[test]
    fn the_share_of_random_actions_is_epsilon() {
        let choice = epsilon_greedy(&q_values(20_000), 0.4, &mut seeded_rng(1));
        let ActionBatch::Discrete(actions) = &choice.actions else {
            unreachable!("the actions are discrete")
        };
        for (action, expected) in [(0, 0.1), (1, 0.1), (2, 0.7), (3, 0.1)] {
            let of_it = || {
                actions
                    .iter()
                    .zip(&choice.log_probs)
                    .filter(move |(taken, _)| **taken == action)
            };
            let share = of_it().count() as f64 / actions.len() as f64;
            assert!((share - expected).abs() < 0.01, "{action}: {share}");
            assert!(
                of_it().all(|(_, log_prob)| (f64::from(log_prob.exp()) - expected).abs() < 1e-6)
            );
        }
        assert_eq!(
            choice.values,
            vec![2.0; 20_000],
            "the best action's, whichever was taken"
        );
    }
}
