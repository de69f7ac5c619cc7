//! What a run draws, for the peer to be given.

use std::{fs, path::Path};

use rand::{RngExt, seq::SliceRandom};
use rand_pcg::Pcg64;
use rust_trainer::{
    algorithms::State,
    processor,
    settings::{Algorithm, Settings},
};
use tch::{Kind, Tensor};

use crate::support::is_weight;

/// What is drawn, and what comes of it.
#[derive(Default)]
pub struct Record {
    pub actions: Vec<i64>,
    /// For each action a uniform number, or where values decide the random action, -1 for the best.
    pub drawn: Vec<f64>,
    /// The order of samples in each pass.
    pub orders: Vec<i64>,
    /// The transitions of each gradient step.
    pub batches: Vec<i64>,
    /// At the start and after each update.
    pub states: Vec<State>,
}

/// A run: its settings, and how it learns from what it draws.
pub struct Run {
    pub settings: Settings,
    pub num_envs: usize,
    pub num_actions: usize,
    pub steps_over: usize,
}

impl Run {
    fn number(&self, name: &str) -> f64 {
        let value = &self.settings.table()[name];
        let whole = value.as_integer().map(|number| number as f64);
        whole.or_else(|| value.as_float()).unwrap()
    }

    fn whole(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    fn algorithm(&self) -> Algorithm {
        self.settings.algorithm.algorithm()
    }

    /// The probability of a random action, by the paper's linear fall.
    fn epsilon(&self) -> f64 {
        let done = self.steps_over * self.num_envs;
        let per_update = match self.algorithm() {
            Algorithm::Pqn => self.num_envs * self.whole("num_steps"),
            _ => 1,
        };
        let total = self.whole("total_steps");
        let (done, total) = (done / per_update, total.div_ceil(per_update) as f64);
        let share = done as f64 / (self.number("exploration_fraction") * total);
        let (start, end) = (self.number("start_e"), self.number("end_e"));
        start + (end - start) * share.min(1.0)
    }

    /// What the choice of actions draws.
    pub fn foretell_actions(&self, record: &mut Record, rng: &mut Pcg64) {
        for _ in 0..self.num_envs {
            record.drawn.push(match self.algorithm() {
                Algorithm::Ppo | Algorithm::A2c => rng.random(),
                Algorithm::Pqn | Algorithm::Dqn if rng.random::<f64>() < self.epsilon() => {
                    rng.random_range(0..self.num_actions) as f64
                }
                Algorithm::Pqn | Algorithm::Dqn => -1.0,
                other => unreachable!("{other} is not compared here"),
            });
        }
    }

    /// What learning behind the newest step draws.
    pub fn foretell_learning(&self, record: &mut Record, rng: &mut Pcg64) {
        let samples = self.steps_over * self.num_envs;
        if self.algorithm() == Algorithm::Dqn {
            let counted = (samples + self.num_envs).saturating_sub(self.whole("learning_starts"));
            if counted > 0 && counted.is_multiple_of(self.whole("train_frequency")) {
                let draw = |_| rng.random_range(0..samples as u64) as i64;
                record
                    .batches
                    .extend((0..self.whole("batch_size")).map(draw));
            }
            return;
        }
        let num_steps = self.whole("num_steps");
        if self.steps_over.is_multiple_of(num_steps) && self.algorithm() != Algorithm::A2c {
            let mut order: Vec<i64> = (0..(num_steps * self.num_envs) as i64).collect();
            for _ in 0..self.whole("update_epochs") {
                order.shuffle(rng);
                record.orders.extend(&order);
            }
        }
    }

    pub fn save(&self, record: &Record, folder: &Path) {
        let rows = |tensor: Tensor| tensor.view([-1, self.num_envs as i64]);
        let mut tensors = vec![
            (
                "actions".to_owned(),
                rows(Tensor::from_slice(&record.actions)),
            ),
            ("drawn".to_owned(), rows(Tensor::from_slice(&record.drawn))),
        ];
        if self.algorithm() == Algorithm::Dqn {
            let batches = Tensor::from_slice(&record.batches);
            let batch_size = self.number("batch_size") as i64;
            tensors.push(("batches".to_owned(), batches.view([-1, batch_size])));
        } else if !record.orders.is_empty() {
            let samples = self.number("num_steps") as i64 * self.num_envs as i64;
            let shape = [-1, self.number("update_epochs") as i64, samples];
            tensors.push((
                "orders".to_owned(),
                Tensor::from_slice(&record.orders).view(shape),
            ));
        }
        for (update, state) in record.states.iter().enumerate() {
            let kept = weights_and_moments(state).into_iter();
            tensors.extend(kept.map(|(name, x)| (format!("{update}.{name}"), x)));
        }
        Tensor::write_safetensors(&tensors, folder.join("record.safetensors")).unwrap();
        let mut settings = self.settings.table();
        let has_kernels = processor::has_kernels(Kind::BFloat16);
        settings.insert("bf16_kernels".to_owned(), has_kernels.into());
        let settings = serde_json::to_string(&settings).unwrap();
        fs::write(folder.join("settings.json"), settings).unwrap();
    }
}

/// Weights as `weight.NAME`, and the optimizer's moments of each likewise, as `mean.NAME` say.
fn weights_and_moments(state: &State) -> Vec<(String, Tensor)> {
    let is_moment = |name: &str| ["adam", "radam", "rmsprop"].contains(&name);
    let mut all = Vec::new();
    let mut start = 0;
    for (name, weight) in state.tensors.iter().filter(|(name, _)| is_weight(name)) {
        all.push((format!("weight.{name}"), weight.shallow_clone()));
        let length = weight.numel() as i64;
        for (moment, flat) in &state.tensors {
            if let Some((_, moment)) = moment.split_once('.').filter(|(rule, _)| is_moment(rule)) {
                let part = flat.narrow(0, start, length).view_as(weight);
                all.push((format!("{moment}.{name}"), part.copy()));
            }
        }
        start += length;
    }
    all
}
