//! The minibatches of an update, drawn at its beginning; and gradient steps on them where the network runs
//! on a device.

use rand::seq::SliceRandom;
use tch::Tensor;

use super::{
    Learner,
    learner::{AllSamples, Loss},
};
use crate::{
    data::{Batch, Rollout, Samples},
    error::TrainerError,
    nn::Network,
    optimizer::clip_grad_norm,
    parallel,
};

/// What an update goes through: `passes` times all sequences of a rollout, each time in another order, in
/// `count` minibatches.
pub(super) struct Minibatches {
    /// Pass by pass.
    order: Vec<i64>,
    per_pass: usize,
    count: usize,
    on_device: Option<OnDevice>,
}

/// What gradient steps on a device read, sent once.
struct OnDevice {
    /// As on the host, int64 `[passes · sequences]`.
    order: Tensor,
    /// Where the observation of each sample lies, int64 `[samples]`.
    places: Tensor,
    /// Of the optimizer's steps, float32 `[passes · count, 3]`.
    coefficients: Tensor,
}

/// A minibatch: its sequences, and where they are on the device.
pub(super) struct Minibatch<'a> {
    sequences: &'a [i64],
    on_device: Option<(&'a OnDevice, Step)>,
}

/// Which gradient step it is, and where its sequences begin.
struct Step {
    number: i64,
    start: i64,
}

/// How a gradient step is done.
#[derive(Clone, Copy)]
pub(super) struct Descent {
    /// Advantages are normalized in each minibatch.
    pub norm_adv: bool,
    /// Largest global norm of the gradient.
    pub max_grad_norm: f64,
    /// Learning rate of the update.
    pub learning_rate: f64,
}

impl Minibatches {
    /// Draws the orders of all passes.
    pub fn draw<N: Network>(
        learner: &mut Learner<N>,
        rollout: &mut Rollout,
        (passes, count): (usize, usize),
        learning_rate: f64,
    ) -> Self {
        let mut pass: Vec<i64> = (0..learner.num_sequences(rollout)).collect();
        let mut order = Vec::with_capacity(passes * pass.len());
        for _ in 0..passes {
            pass.shuffle(&mut learner.rng);
            order.extend(&pass);
        }
        let on_device = learner.steps.is_some().then(|| {
            let device = learner.net.params().device();
            let coefficients = learner
                .optimizer
                .coefficients(learning_rate, passes * count);
            rollout.prepare();
            OnDevice {
                order: Tensor::from_slice(&order).to_device(device),
                places: Tensor::from_slice(&rollout.places()).to_device(device),
                coefficients: Tensor::from_slice(&coefficients)
                    .view([-1, 3])
                    .to_device(device),
            }
        });
        Self {
            order,
            per_pass: pass.len(),
            count,
            on_device,
        }
    }

    /// All of them in their order.
    pub fn iter(&self) -> impl Iterator<Item = Minibatch<'_>> {
        let passes = self.order.chunks_exact(self.per_pass);
        let minibatches = passes.flat_map(|pass| parallel::split(pass, self.count));
        let mut start = 0;
        minibatches.zip(0..).map(move |(sequences, number)| {
            let step = Step { number, start };
            start += sequences.len() as i64;
            Minibatch {
                sequences,
                on_device: self.on_device.as_ref().map(|all| (all, step)),
            }
        })
    }
}

impl<N: Network> Learner<N> {
    /// One gradient step on the mean of a `loss` over the samples of a minibatch, those of all ranks; returns the means of its
    /// terms and behind them the gradient's norm before clipping, one axis.
    ///
    /// # Errors
    /// Those of [`Learner::descend`].
    pub(super) fn step(
        &mut self,
        rollout: &mut Rollout,
        samples: (&Samples, &AllSamples),
        minibatch: &Minibatch<'_>,
        how: Descent,
        loss: impl Fn(&N, (Batch, Samples)) -> Loss + Sync,
    ) -> Result<Tensor, TrainerError> {
        if let Some((all, step)) = &minibatch.on_device {
            let length = minibatch.sequences.len() as i64;
            let indices = all.order.narrow(0, step.start, length);
            let coefficients = all.coefficients.get(step.number);
            let which = [&indices, &all.places, &coefficients];
            return Ok(self.step_on_device(rollout, samples.0, which, how, loss));
        }
        let parts = self.parts(rollout, samples, minibatch.sequences, how.norm_adv);
        let (terms, _) = self.descend(parts, loss, how.max_grad_norm, how.learning_rate)?;
        Ok(terms)
    }

    /// The same for a network without a memory, in work that can be recorded: nothing of it waits for the
    /// host. Whether all numbers are finite is seen after the update.
    fn step_on_device(
        &mut self,
        rollout: &Rollout,
        samples: &Samples,
        [indices, places, coefficients]: [&Tensor; 3],
        how: Descent,
        loss: impl Fn(&N, (Batch, Samples)) -> Loss,
    ) -> Tensor {
        let Self {
            net,
            optimizer,
            steps,
            ..
        } = self;
        let inputs = [
            indices,
            places,
            coefficients,
            &samples.actions,
            &samples.log_probs,
            &samples.values,
            &samples.advantages,
            &samples.returns,
        ];
        let mut step = |inputs: &[&Tensor]| {
            let (indices, coefficients) = (inputs[0], inputs[2]);
            let pick = |input: usize| inputs[input].index_select(0, indices);
            let mut samples = Samples {
                actions: pick(3),
                log_probs: pick(4),
                values: pick(5),
                advantages: pick(6),
                returns: pick(7),
            };
            if how.norm_adv {
                samples = samples.normalized();
            }
            let Loss { total, terms, .. } = loss(net, (rollout.batch_at(&pick(1)), samples));
            let mut gradient = net.params().gradient(&total);
            let norm = clip_grad_norm(&mut gradient, how.max_grad_norm);
            optimizer.step_by(net.params_mut().flat_mut(), &gradient, coefficients);
            let terms = Tensor::stack(&terms, 0).detach();
            vec![Tensor::cat(&[terms, norm.unsqueeze(0)], 0)]
        };
        let mut made = match steps {
            Some(recording) => recording.call(&inputs, step),
            None => step(&inputs),
        };
        optimizer.count_step();
        made.pop().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;
    use vec_env::{StepBatch, SyncVecEnv, VecEnv, envs::GridWorld};

    use crate::{
        algorithms::{ActorCritic, Algorithm, Learning, Metrics, Pqn},
        cuda::{Places, Recorder, Recording},
        settings::{self, AlgorithmSettings, Settings},
    };

    type NewRecorder = fn() -> Option<Box<dyn Recorder>>;

    fn recordings(new: NewRecorder) -> (Recording, Recording) {
        (Recording::with(new()), Recording::with(new()))
    }

    /// What was done, learned and said in three updates of five environments.
    fn played(
        settings: &Settings,
        recorder: Option<NewRecorder>,
    ) -> (Vec<i64>, Vec<f32>, Vec<Metrics>) {
        let mut env = SyncVecEnv::new(5, |index| GridWorld::new(3, index as u64)).unwrap();
        let mut algorithm: Box<dyn Algorithm> = match settings.algorithm.clone() {
            AlgorithmSettings::Ppo(ppo) => {
                let mut new = ActorCritic::new(ppo, settings, &env, Device::Cpu).unwrap();
                if let Some(recorder) = recorder {
                    let (acting, steps) = recordings(recorder);
                    new.record(acting, steps);
                }
                Box::new(new)
            }
            AlgorithmSettings::Pqn(pqn) => {
                let mut new = Pqn::new(pqn, settings, &env, Device::Cpu).unwrap();
                if let Some(recorder) = recorder {
                    let (acting, steps) = recordings(recorder);
                    new.record(acting, steps);
                }
                Box::new(new)
            }
            _ => unreachable!("the others are not recorded"),
        };
        let (mut actions, mut metrics) = (Vec::new(), Vec::new());
        let mut step = StepBatch::default();
        env.reset(Some(1), &mut algorithm.next_obs()).unwrap();
        while metrics.len() < 3 {
            let chosen = algorithm.act().unwrap();
            if let vec_env::ActionBatch::Discrete(chosen) = &chosen {
                actions.extend(chosen);
            }
            let slot = algorithm.next_obs();
            env.send(chosen.as_actions(), slot).unwrap();
            env.recv(&mut step).unwrap();
            algorithm.observe(&step).unwrap();
            if let Learning::Done(done) = algorithm.learn(&mut || false).unwrap() {
                metrics.push(done);
            }
        }
        let state = algorithm.state().unwrap();
        let weights = state.tensors.iter().filter(|(name, _)| name.contains('.'));
        let weights =
            weights.flat_map(|(_, tensor)| Vec::<f32>::try_from(tensor.flatten(0, -1)).unwrap());
        (actions, weights.collect(), metrics)
    }

    /// Minibatches of two sizes: 65 samples in four parts.
    #[test]
    fn what_is_recorded_is_what_is_done_as_it_comes() {
        for algorithm in [settings::Algorithm::Ppo, settings::Algorithm::Pqn] {
            let changes = "num_envs = 5\nnum_steps = 13\ntotal_steps = 195\nnum_minibatches = 4\n\
                update_epochs = 3\nlearning_rate = 1e-2";
            let settings = Settings::defaults(algorithm);
            let settings = settings.with(&toml::from_str(changes).unwrap()).unwrap();
            let plain = played(&settings, None);
            let as_it_comes: NewRecorder = || None;
            let recorded: NewRecorder = || Some(Box::new(Places));
            for recorder in [as_it_comes, recorded] {
                let other = played(&settings, Some(recorder));
                assert_eq!(plain.0, other.0, "{algorithm}: actions");
                let differences = plain.1.iter().zip(&other.1).map(|(a, b)| (a - b).abs());
                let largest = differences.fold(0.0, f32::max);
                assert!(largest < 1e-5, "{algorithm}: weights differ by {largest:e}");
                for (ours, theirs) in plain.2.iter().zip(&other.2) {
                    for ((name, ours), (_, theirs)) in ours.0.iter().zip(&theirs.0) {
                        let difference = (ours - theirs).abs();
                        assert!(
                            difference < 1e-5,
                            "{algorithm}: {name} differs by {difference:e}"
                        );
                    }
                }
            }
        }
    }
}
