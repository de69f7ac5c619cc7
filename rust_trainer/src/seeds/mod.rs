//! Several seeds, on one or several environments, with the same settings: each run a process of its own,
//! as many at a time as the cores carry; then what they came to together.
//!
//! Everything is in one folder: the `plan`, a folder and a log for each run, the `results`.

mod children;
mod compare;
mod division;
mod plan;
mod results;
mod scores;
mod train;

pub(crate) use compare::{improvement, profile};
pub(crate) use division::Division;
pub(crate) use plan::Plan;
pub(crate) use results::Results;
pub(crate) use scores::mean_curve_of_last;
pub use scores::{Estimate, Games, mean_curve, score};
pub(crate) use train::{commands, train};
