//! Playing by a deterministic policy, and exploring around it.

use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64;
use tch::{Device, Kind, Tensor, no_grad_guard};
use vec_env::{ActionBatch, ActionSpace};

use super::{Estimates, Outlook, Policy};
use crate::{
    distributions::categorical,
    nn::{Actor, Memory, Network},
    tensors::to_vec,
};

/// It has one action for each observation, whether it plays greedily or not; discrete ones are drawn.
impl Policy for Actor {
    fn device(&self) -> Device {
        self.params().device()
    }

    fn act(&self, obs: &Tensor, _: &mut Memory, rng: &mut Pcg64, greedy: bool) -> ActionBatch {
        let _guard = no_grad_guard();
        let said = self.forward(obs);
        if let ActionSpace::Discrete { n } = self.action_space() {
            let log_probs = to_vec::<f32>(&said.log_softmax(-1, Kind::Float).reshape(-1));
            let mut actions = Vec::new();
            for row in log_probs.chunks_exact(*n as usize) {
                categorical::draw(row, rng, greedy, &mut actions);
            }
            return ActionBatch::Discrete(actions);
        }
        let actions = ActionBatch::Continuous(to_vec(&said.reshape(-1)));
        self.action_space().clipped(&actions) // the last bit may lie beyond
    }

    fn outlook(&self, obs: &Tensor, _: &Memory) -> Outlook {
        let _guard = no_grad_guard();
        let said = self.forward(obs);
        Outlook {
            value: None,
            estimates: match self.action_space() {
                ActionSpace::Box { .. } => Estimates::Means(to_vec(&said.get(0))),
                _ => Estimates::Probabilities(to_vec(&said.get(0).softmax(-1, Kind::Float))),
            },
        }
    }
}

/// `chosen` with normal noise whose deviation is `noise` times half of the distance of the bounds, within these.
pub fn explored(
    chosen: &ActionBatch,
    space: &ActionSpace,
    noise: f64,
    rng: &mut Pcg64,
) -> ActionBatch {
    let (ActionBatch::Continuous(numbers), ActionSpace::Box { low, high, .. }) = (chosen, space)
    else {
        return chosen.clone();
    };
    let bounds = low.iter().zip(high).cycle();
    let moved = numbers.iter().zip(bounds).map(|(number, (low, high))| {
        let normal: f64 = StandardNormal.sample(&mut *rng);
        let scale = f64::from((high - low) / 2.0);
        (f64::from(*number) + normal * noise * scale) as f32
    });
    let moved = ActionBatch::Continuous(moved.collect());
    space.clipped(&moved)
}

/// `count` actions drawn uniformly, within the bounds of a `Box`; where it has none, as Gymnasium's `Box.sample` draws them:
/// normal numbers, or exponential ones from the only bound on.
pub fn uniform(space: &ActionSpace, count: usize, rng: &mut Pcg64) -> ActionBatch {
    let ActionSpace::Box { low, high, .. } = space else {
        let actions = (0..count).map(|_| rng.random_range(0..space.num_actions()));
        return ActionBatch::Discrete(actions.collect());
    };
    let bounds = low.iter().zip(high).cycle().take(count * low.len());
    let drawn = bounds.map(|(low, high)| {
        let (low, high) = (f64::from(*low), f64::from(*high));
        let drawn = match (low.is_finite(), high.is_finite()) {
            (true, true) => low + rng.random::<f64>() * (high - low),
            (false, false) => StandardNormal.sample(&mut *rng),
            (true, false) => low + Distribution::<f64>::sample(&Exp1, &mut *rng),
            (false, true) => high - Distribution::<f64>::sample(&Exp1, &mut *rng),
        };
        drawn as f32
    });
    let drawn = ActionBatch::Continuous(drawn.collect());
    space.clipped(&drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::seeded_rng;

    fn space() -> ActionSpace {
        ActionSpace::Box {
            shape: vec![2],
            low: vec![-2.0, 0.0],
            high: vec![2.0, 1.0],
        }
    }

    /// As Gymnasium draws them: the mean of exponential numbers is 1, their deviation too.
    #[test]
    fn numbers_without_bounds_are_drawn_as_gymnasium_does() {
        let infinity = f32::INFINITY;
        for (low, high, [first, second]) in [
            ([-infinity, 2.0], [infinity; 2], [(0.0, 1.0), (3.0, 1.0)]),
            (
                [-infinity, -1.0],
                [5.0, 1.0],
                [(4.0, 1.0), (0.0, 3f64.sqrt().recip())],
            ),
        ] {
            let space = ActionSpace::Box {
                shape: vec![2],
                low: low.into(),
                high: high.into(),
            };
            let drawn = moments(&uniform(&space, 20_000, &mut seeded_rng(1)));
            for (drawn, expected) in drawn.iter().zip([first, second]) {
                assert!((drawn.0 - expected.0).abs() < 0.03, "{drawn:?}");
                assert!((drawn.1 - expected.1).abs() < 0.03, "{drawn:?}");
            }
        }
    }

    /// Mean and deviation of the first and the second number of actions.
    fn moments(actions: &ActionBatch) -> [(f64, f64); 2] {
        let ActionBatch::Continuous(numbers) = actions else {
            unreachable!("the space is a box")
        };
        [0, 1].map(|place| {
            let own = || numbers.iter().skip(place).step_by(2).map(|x| f64::from(*x));
            let mean = own().sum::<f64>() / own().count() as f64;
            let variance = own().map(|x| (x - mean).powi(2)).sum::<f64>() / own().count() as f64;
            (mean, variance.sqrt())
        })
    }

    #[test]
    fn noise_is_as_large_as_a_share_of_the_bounds_and_ends_there() {
        let chosen = ActionBatch::Continuous([0.5, 1.0].repeat(20_000));
        let moved = explored(&chosen, &space(), 0.1, &mut seeded_rng(1));
        let [first, second] = moments(&moved);
        assert!(
            (first.0 - 0.5).abs() < 0.01 && (first.1 - 0.2).abs() < 0.01,
            "{first:?}"
        );
        // Half of the draws lie beyond the bound and are the bound.
        assert!((second.0 - 0.98).abs() < 0.002, "{second:?}");
        let ActionBatch::Continuous(numbers) = moved else {
            unreachable!("the space is a box")
        };
        assert!(
            numbers
                .iter()
                .skip(1)
                .step_by(2)
                .all(|number| *number <= 1.0)
        );
    }

    #[test]
    fn uniform_actions_fill_the_box() {
        let drawn = uniform(&space(), 20_000, &mut seeded_rng(1));
        let deviation = 1.0 / 12_f64.sqrt();
        for (found, expected) in moments(&drawn)
            .into_iter()
            .zip([(0.0, 4.0 * deviation), (0.5, deviation)])
        {
            assert!((found.0 - expected.0).abs() < 0.03, "{found:?}");
            assert!((found.1 - expected.1).abs() < 0.03, "{found:?}");
        }
    }
}
