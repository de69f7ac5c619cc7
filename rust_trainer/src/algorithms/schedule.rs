//! What changes over a run: learning rates, and the probability of random actions.

/// From `start` to `end` in a line while `done` goes from 0 to `over`, and `end` from there on.
pub(super) fn linear(start: f64, end: f64, done: f64, over: f64) -> f64 {
    if done >= over {
        end
    } else {
        start + (end - start) * done / over
    }
}

/// The learning rate of the update behind `updates` of `num_updates`: with `anneal` it falls in a line to 0.
pub(super) fn learning_rate(first: f64, anneal: bool, updates: u64, num_updates: u64) -> f64 {
    let done = updates as f64 / num_updates as f64;
    first * if anneal { 1.0 - done } else { 1.0 }
}
