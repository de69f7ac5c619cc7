//! How near the weights of both come.

use std::path::Path;

use rust_trainer::algorithms::State;
use tch::{Kind, Tensor};

use crate::support::{is_weight, largest, read};

/// How far from theirs a tensor of ours is after an update.
#[derive(Debug)]
pub struct Compared {
    pub what: String,
    /// The largest difference of a weight.
    pub largest: f64,
    /// The length of the difference beside that of the move in this update.
    pub share: f64,
    /// The same of one output, the greatest; of those that move less than most, beside what most do.
    pub share_of_output: f64,
}

/// How far from theirs the weights are after each update of a run, by its states and what the peer has written.
pub fn differences(states: &[State], folder: &Path) -> Vec<Compared> {
    let theirs = read(&folder.join("after.safetensors"));
    let length = |x: &Tensor| x.square().sum(Kind::Double).sqrt().double_value(&[]);
    let mut compared = Vec::new();
    for (update, states) in (1..).zip(states.windows(2)) {
        let both = states[0].tensors.iter().zip(&states[1].tensors);
        for ((name, before), (_, after)) in both.filter(|((name, _), _)| is_weight(name)) {
            let what = format!("{update}.{name}");
            let (difference, moved) = (after - &theirs[&what], after - before);
            let of_outputs = |x: &Tensor| -> Vec<f64> {
                let outputs = x.view([x.size()[0], -1]).square();
                let sums = outputs.sum_dim_intlist(1, false, Kind::Double);
                Vec::try_from(sums.sqrt()).unwrap()
            };
            // Of units that are never on nothing moves.
            let typical = length(&moved) / (moved.size()[0] as f64).sqrt();
            let outputs = of_outputs(&difference).into_iter().zip(of_outputs(&moved));
            let outputs = outputs.map(|(difference, moved)| difference / moved.max(typical));
            compared.push(Compared {
                what,
                largest: largest(&difference),
                share: length(&difference) / length(&moved),
                share_of_output: outputs.fold(0.0, f64::max),
            });
        }
    }
    compared
}

/// The most that may differ.
pub struct Bounds {
    pub largest: f64,
    pub share: f64,
    /// Of convolutions.
    pub share_of_output: f64,
}
