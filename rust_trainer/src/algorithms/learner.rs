//! What gradient steps change, whichever algorithm asks for them.

use rand_pcg::Pcg64;
use serde_json::{Map, json};
use tch::{Device, Kind, Tensor};

use super::{
    algorithm::Metrics,
    state::{State, copies},
};
use crate::{
    cuda::Recording,
    error::TrainerError,
    nn::Network,
    optimizer::{self, Optimizer, clip_grad_norm, clipping},
    parallel::{self, Shared, Threads},
    ranks::Ranks,
    settings::MachineSettings,
    tensors::to_vec,
};

/// A network, its optimizer, and the random numbers of an algorithm.
#[derive(Debug)]
pub struct Learner<N> {
    /// What is trained.
    pub net: N,
    /// Its optimizer.
    pub optimizer: Optimizer,
    /// Draws the actions and shuffles the minibatches. On the host and of our own, so that every device
    /// samples alike and a checkpoint can hold it.
    pub rng: Pcg64,
    /// What computes its gradients.
    pub threads: Threads,
    /// Acting on a device, recorded; none on the CPU, and where something cannot be recorded.
    pub acting: Option<Recording>,
    /// Gradient steps on a device, recorded; none where they are computed in parts: on the CPU, for a
    /// network with a memory, and at one of several ranks.
    pub steps: Option<Recording>,
    /// Who else learns the same.
    pub ranks: Ranks,
}

/// What the samples of a minibatch, or of a part of it, say: means over them.
pub struct Loss<More = ()> {
    /// What is minimized, a scalar.
    pub total: Tensor,
    /// What is reported, scalars, in the order of the algorithm's names for them.
    pub terms: Vec<Tensor>,
    /// Whatever else the algorithm wants of it.
    pub more: More,
}

/// A part of a minibatch, and its share of the samples.
pub(super) type Part<P> = (f64, P);

impl<N: Network> Learner<N> {
    /// A fresh one at one of the `ranks`, of which nothing is recorded.
    pub(super) fn new(
        net: N,
        optimizer: Optimizer,
        rng: Pcg64,
        machine: &MachineSettings,
        ranks: &Ranks,
    ) -> Self {
        Self {
            threads: Threads::new(machine, net.params().device()),
            net,
            optimizer,
            rng,
            acting: None,
            steps: None,
            ranks: ranks.clone(),
        }
    }

    pub(super) fn device(&self) -> Device {
        self.net.params().device()
    }

    /// In how many parts a minibatch is computed.
    pub(super) fn num_parts(&self, num_samples: usize) -> usize {
        let num_params = self.net.params().numel();
        self.threads.num_parts(num_samples, num_params)
    }

    /// One gradient step on the mean of a `loss` over the samples of all `parts`. Returns the means of its
    /// terms and behind them the gradient's norm before clipping, one axis; and what else the parts gave.
    ///
    /// Each part has its own graph in its own thread; gradients are added in the order of the parts, then
    /// over all ranks.
    ///
    /// # Errors
    /// [`TrainerError::Diverged`] before anything changes, on the CPU; on other devices a look at the
    /// numbers would cost a wait for them, and [`Learner::metrics`] finds it after the update.
    pub(super) fn descend<P: Send, More: Send>(
        &mut self,
        parts: Vec<Part<P>>,
        loss: impl Fn(&N, P) -> Loss<More> + Sync,
        max_grad_norm: f64,
        learning_rate: f64,
    ) -> Result<(Tensor, Vec<More>), TrainerError> {
        let net = Shared::new(&self.net);
        let computed = parallel::map(parts, |(share, part)| {
            let Loss { total, terms, more } = loss(net.get(), part);
            let total = if share < 1.0 { total * share } else { total };
            let gradient = net.get().params().gradient(&total);
            let terms = Tensor::stack(&terms, 0).detach() * share;
            (gradient, total.detach(), terms, more)
        });
        let (mut gradients, mut sums, mut more) = (Vec::new(), None, Vec::new());
        for (gradient, total, terms, of_part) in computed {
            gradients.push(gradient);
            more.push(of_part);
            sums = Some(match sums {
                None => (total, terms),
                Some((totals, all)) => (totals + total, all + terms),
            });
        }
        let gradient = optimizer::sum(gradients, self.threads);
        let (Some(mut gradient), Some((total, terms))) = (gradient, sums) else {
            let problem = "a minibatch without samples".to_owned();
            return Err(TrainerError::Usage(problem));
        };
        self.ranks.sum(&mut gradient)?;
        let (norm, scale) = clipping(&gradient, max_grad_norm, self.threads)
            .unwrap_or_else(|| (clip_grad_norm(&mut gradient, max_grad_norm), 1.0));
        if norm.device() == Device::Cpu {
            let numbers = [("the loss", &total), ("the gradient", &norm)];
            // The gradient is what all ranks see alike, so that all end here; a loss that is no number is in it.
            let of_all = usize::from(!self.ranks.is_alone());
            for &(what, number) in &numbers[of_all..] {
                if !number.double_value(&[]).is_finite() {
                    return Err(TrainerError::Diverged(what));
                }
            }
        }
        let params = self.net.params_mut().flat_mut();
        self.optimizer
            .step(params, (&gradient, scale), learning_rate, self.threads);
        Ok((Tensor::cat(&[terms, norm.unsqueeze(0)], 0), more))
    }

    /// The mean over several gradient steps, of all ranks' samples, of each of the terms that
    /// [`Learner::descend`] returned; the last one is the gradient's norm. One transfer from the device for all.
    ///
    /// # Errors
    /// [`TrainerError::Diverged`] for a mean that is not finite; [`TrainerError::Lost`].
    pub(super) fn metrics(
        &self,
        names: &[&'static str],
        terms: &[Tensor],
    ) -> Result<Metrics, TrainerError> {
        let mut means = to_vec::<f64>(&Tensor::stack(terms, 0).mean_dim(0, false, Kind::Double));
        if !self.ranks.is_alone() {
            let mut sums = Tensor::from_slice(&means);
            self.ranks.sum(&mut sums)?;
            let norm = means.pop(); // the same at each rank
            means = to_vec(&sums.narrow(0, 0, means.len() as i64));
            means.extend(norm);
        }
        let names = names.iter().chain(&["grad_norm"]).copied();
        let metrics = Metrics(names.zip(means).collect());
        match metrics.0.iter().find(|(_, value)| !value.is_finite()) {
            Some(&(what, _)) => Err(TrainerError::Diverged(what)),
            None => Ok(metrics),
        }
    }

    /// Why work on a device is no longer recorded, a sentence each.
    pub(super) fn notices(&mut self) -> Vec<String> {
        let recordings = [
            ("acting", &mut self.acting),
            ("a gradient step", &mut self.steps),
        ];
        let problems = recordings.into_iter().filter_map(|(what, recording)| {
            let problem = recording.as_mut()?.problem()?;
            Some(format!(
                "{what} could not be recorded as a CUDA graph and goes on without, as with \
                 `--cuda-graphs false`: {problem}"
            ))
        });
        problems.collect()
    }

    /// Weights, the optimizer's moments and steps, the generator, and the tensors of `more`; tensors are
    /// copies on the CPU.
    pub(super) fn state(&self, more: &[(String, Tensor)]) -> Result<State, TrainerError> {
        // As text: the generator's state has 128 bits, JSON values as serde_json holds them 64.
        let rng = serde_json::to_string(&self.rng).map_err(TrainerError::value("rng"))?;
        Ok(State {
            tensors: copies(self.tensors(more)),
            values: Map::from_iter([
                ("rng".to_owned(), json!(rng)),
                ("optimizer_steps".to_owned(), json!(self.optimizer.steps)),
            ]),
            replay: Vec::new(),
        })
    }

    /// Goes on from a state, and copies to the tensors of `more`: all of it, or nothing changes.
    pub(super) fn load_state(
        &mut self,
        state: &State,
        more: &[(String, Tensor)],
    ) -> Result<(), TrainerError> {
        let rng: String = state.value("rng")?;
        let rng = serde_json::from_str(&rng).map_err(TrainerError::value("rng"))?;
        let optimizer_steps = state.value("optimizer_steps")?;
        state.copy_to(self.tensors(more))?;
        self.rng = rng;
        self.optimizer.steps = optimizer_steps;
        Ok(())
    }

    /// What learning changes, and `more`, by name.
    fn tensors<'a>(
        &'a self,
        more: &'a [(String, Tensor)],
    ) -> impl Iterator<Item = (&'a str, &'a Tensor)> {
        let own = self.net.params().named().chain(self.optimizer.state());
        own.chain(more.iter().map(|(name, tensor)| (name.as_str(), tensor)))
    }
}
