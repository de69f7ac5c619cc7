//! Discrete actions chosen where the network runs, in work that can be recorded: to the host come the
//! choices alone.
//!
//! The random numbers are those of the host's generator, one after another as elsewhere: every device draws
//! the same actions, and a checkpoint holds what is to come.

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Kind, Tensor, no_grad_guard};
use vec_env::ActionBatch;

use super::{Choice, categorical::draw_all, epsilon_greedy::explore, to_vec};
use crate::{
    cuda::Recording,
    nn::{Output, PolicyValueNet, QNet},
};

/// [`choose`](super::choose) for a network without a memory and with discrete actions, drawn.
pub fn choose_recorded(
    recording: &mut Recording,
    net: &PolicyValueNet,
    obs: &Tensor,
    rng: &mut Pcg64,
) -> Choice {
    let num_envs = obs.size()[0];
    let uniforms: Vec<f64> = (0..num_envs).map(|_| rng.random()).collect();
    let uniforms = Tensor::from_slice(&uniforms).to_device(obs.device());
    let made = recording.call(&[obs, &uniforms], |inputs| {
        let _guard = no_grad_guard();
        let Output { policy, value } = net.forward(inputs[0]);
        let (actions, log_probs) = draw_all(&policy.numbers(), inputs[1]);
        let columns = [actions.to_kind(Kind::Float), log_probs, value];
        vec![Tensor::stack(&columns, 1)]
    });
    let (mut actions, mut log_probs, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in to_vec::<f32>(&made[0]).chunks_exact(3) {
        actions.push(row[0] as i64);
        log_probs.push(row[1]);
        values.push(row[2]);
    }
    Choice {
        actions: ActionBatch::Discrete(actions),
        log_probs,
        values,
    }
}

/// [`epsilon_greedy`](super::epsilon_greedy()) by the values of a network.
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
