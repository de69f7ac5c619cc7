//! Ranks that share an update against one process that does it alone: the same weights, whatever is divided.
//! Threads stand in for processes, and a table that they share for the network between them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use std::{
    collections::HashSet,
    sync::{Arc, Barrier, Mutex},
    thread,
};

use rust_trainer::{
    algorithms::{self, Learning, State},
    ranks::{Engine, Ranks},
    settings::{Algorithm, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{
    StepBatch, SyncVecEnv, VecEnv,
    envs::{CartPole, Pendulum},
};

use support::{largest, weights_of};

const NUM_ENVS: usize = 8;

/// What the threads share.
#[derive(Debug)]
struct Table {
    all_are_here: Barrier,
    said: Mutex<Vec<Vec<u8>>>,
    names: Mutex<HashSet<String>>,
}

/// The place of one thread at it.
#[derive(Debug)]
struct RankThread {
    rank: usize,
    table: Arc<Table>,
}

impl Engine for RankThread {
    fn sum(&self, tensor: &mut Tensor) -> Result<(), String> {
        assert!(tensor.numel() > 0, "torch.distributed takes no such tensor");
        let numbers = Vec::<f64>::try_from(tensor.to_kind(Kind::Double).reshape(-1)).unwrap();
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let rows = self.all_gather(&bytes)?;
        let rows = rows.iter().map(|row| {
            let numbers = row.as_chunks().0.iter().map(|x| f64::from_ne_bytes(*x));
            Tensor::from_slice(&numbers.collect::<Vec<f64>>())
        });
        let sum = Tensor::stack(&rows.collect::<Vec<_>>(), 0).sum_dim_intlist(0, false, None);
        tensor.copy_(&sum.view_as(tensor));
        Ok(())
    }

    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.table.said.lock().unwrap()[self.rank] = bytes.to_vec();
        self.table.all_are_here.wait();
        let all = self.table.said.lock().unwrap().clone();
        self.table.all_are_here.wait();
        Ok(all)
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let all = self.all_gather(bytes)?;
        Ok(if self.rank == 0 { all } else { Vec::new() })
    }

    fn is_first_to(&self, name: &str) -> Result<bool, String> {
        Ok(self.table.names.lock().unwrap().insert(name.to_owned()))
    }

    fn is_taken(&self, name: &str) -> Result<bool, String> {
        Ok(self.table.names.lock().unwrap().contains(name))
    }

    fn leave(&self) {}
}

/// Lets `work` run at each of so many ranks.
fn at_ranks<T: Send>(count: usize, work: impl Fn(&Ranks) -> T + Sync) -> Vec<T> {
    if count == 1 {
        return vec![work(&Ranks::alone())];
    }
    let table = Arc::new(Table {
        all_are_here: Barrier::new(count),
        said: Mutex::new(vec![Vec::new(); count]),
        names: Mutex::default(),
    });
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|rank| {
                let engine = RankThread {
                    rank,
                    table: table.clone(),
                };
                let hosts = vec!["here".to_owned(); count];
                let work = &work;
                scope.spawn(move || work(&Ranks::new(rank, hosts, Arc::new(engine))))
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// This rank's environments: each has the seed that it has among all of them.
fn envs(settings: &Settings, ranks: &Ranks) -> Box<dyn VecEnv> {
    let count = NUM_ENVS / ranks.count();
    if settings.env.env_id.starts_with("Pendulum") {
        Box::new(SyncVecEnv::new(count, |index| Pendulum::new(index as u64)).unwrap())
    } else {
        Box::new(SyncVecEnv::new(count, |index| CartPole::new(index as u64)).unwrap())
    }
}

/// The states at rank 0 after each of so many updates, and how far the ranks' weights are apart in the end.
fn train(settings: &Settings, num_ranks: usize, updates: usize) -> (Vec<State>, f64) {
    let is_enough = |updates_done, _| updates_done == updates;
    go_on(settings, num_ranks, None, is_enough)
}

/// The same from a state, as rank 0 reads it from a checkpoint, with new games; until so many updates and
/// steps are done, behind which there is a last state.
fn go_on(
    settings: &Settings,
    num_ranks: usize,
    from: Option<&State>,
    is_enough: impl Fn(usize, usize) -> bool + Sync,
) -> (Vec<State>, f64) {
    let from = Mutex::new(from.map(copy_of));
    let mut all = at_ranks(num_ranks, |ranks| {
        let mut env = envs(settings, ranks);
        let mut learner = algorithms::of_rank(settings, &*env, Device::Cpu, ranks).unwrap();
        let from = from.lock().unwrap().as_ref().map(copy_of);
        if let Some(mut state) = from {
            if !ranks.is_first() {
                state.replay.clear(); // it lies in a file that the others need not see
            }
            learner.load_state(&state).unwrap();
            learner.forget_games();
        }
        let first = ranks.share(NUM_ENVS).start as u64;
        env.reset(Some(1 + first), &mut learner.next_obs()).unwrap();
        let (mut step, mut states) = (StepBatch::default(), Vec::new());
        for steps in 1.. {
            let actions = learner.act().unwrap();
            env.send(actions.as_actions(), learner.next_obs()).unwrap();
            env.recv(&mut step).unwrap();
            learner.observe(&step).unwrap();
            let outcome = learner.learn(&mut || false).unwrap();
            let updates = states.len() + usize::from(matches!(outcome, Learning::Done(_)));
            let is_enough = is_enough(updates, steps);
            if is_enough || updates > states.len() {
                // It has views of the replay memory.
                let mut state = copy_of(&learner.state().unwrap());
                if let Learning::Done(metrics) = outcome {
                    let metrics: Vec<f64> = metrics.0.iter().map(|(_, value)| *value).collect();
                    let metrics = Tensor::from_slice(&metrics).nan_to_num(0.0, None, None);
                    state.tensors.push(("metrics".to_owned(), metrics));
                }
                states.push(state);
            }
            if is_enough {
                break;
            }
        }
        states
    });
    let last = weights_of(all[0].last().unwrap());
    let apart = all
        .iter()
        .map(|states| largest(&(weights_of(states.last().unwrap()) - &last)));
    let apart = apart.fold(0.0, f64::max);
    (all.swap_remove(0), apart)
}

fn copy_of(state: &State) -> State {
    let copied = |tensors: &[(String, Tensor)]| {
        let copied = tensors.iter();
        copied
            .map(|(name, tensor)| (name.clone(), tensor.copy()))
            .collect()
    };
    State {
        tensors: copied(&state.tensors),
        values: state.values.clone(),
        replay: copied(&state.replay),
    }
}

fn settings(algorithm: Algorithm, changes: &str) -> Settings {
    let env_id = if changes.contains("norm_obs") {
        "Pendulum-v1"
    } else {
        "CartPole-v1"
    };
    let changes = format!(
        "env_id = '{env_id}'\nnum_envs = {NUM_ENVS}\ntorch_threads = 1\ntotal_steps = 100000\n{changes}"
    );
    let settings = Settings::defaults(algorithm);
    settings.with(&toml::from_str(&changes).unwrap()).unwrap()
}

/// But for rounding.
fn check_alike(one: &State, other: &State, case: &str) {
    for (ours, theirs) in [(&one.tensors, &other.tensors), (&one.replay, &other.replay)] {
        assert_eq!(ours.len(), theirs.len(), "{case}");
        for (name, tensor) in ours {
            let found = theirs.iter().find(|(other, _)| other == name);
            let (_, found) = found.unwrap_or_else(|| panic!("{case}: no {name}"));
            assert_eq!(found.size(), tensor.size(), "{case}: {name}");
            if tensor.numel() == 0 {
                continue;
            }
            let off = largest(&(found.to_kind(Kind::Double) - tensor.to_kind(Kind::Double)));
            assert!(off < 1e-5, "{case}: {name} is off by {off}");
        }
    }
    assert_eq!(one.values["rng"], other.values["rng"], "{case}");
}

/// Minibatches of 22 or 23 samples and of 2 or 3 environments, which fall to the ranks unequally, and now
/// and then leave one without any.
#[test]
fn ranks_make_the_update_of_one_process() {
    let on = "norm_adv = true";
    for (algorithm, changes) in [
        (Algorithm::Ppo, "num_steps = 17\nnum_minibatches = 6"),
        (
            Algorithm::Ppo,
            "num_steps = 17\nnum_minibatches = 3\nlstm_size = 8",
        ),
        (
            Algorithm::Ppo,
            "num_steps = 17\nnorm_obs = true\nnorm_reward = true",
        ),
        (Algorithm::A2c, on),
        (Algorithm::A2c, "num_steps = 9\nlstm_size = 8"),
        (
            Algorithm::Pqn,
            "num_steps = 17\nnum_minibatches = 5\nstart_e = 0.5",
        ),
    ] {
        let settings = settings(algorithm, changes);
        let (alone, _) = train(&settings, 1, 3);
        for num_ranks in [2, 4] {
            let (together, apart) = train(&settings, num_ranks, 3);
            assert!(apart <= 0.0, "{algorithm} {changes}: {apart} apart");
            for (update, (one, other)) in alone.iter().zip(&together).enumerate() {
                let case = format!("{algorithm} {changes}: {num_ranks} ranks, update {update}");
                check_alike(one, other, &case);
            }
        }
        let moved = largest(&(weights_of(&alone[0]) - weights_of(&alone[2])));
        assert!(
            moved > 1e-4,
            "{algorithm} {changes}: weights moved by {moved}"
        );
    }
}

#[test]
fn weights_are_the_same_bits_at_all_ranks_after_a_hundred_updates() {
    let settings = settings(Algorithm::Ppo, "num_steps = 8\nnum_minibatches = 2");
    let (_, apart) = train(&settings, 4, 100);
    assert!(apart <= 0.0, "{apart} apart");
}

/// A replay memory that is overwritten, batches that leave ranks without a transition, with priorities and
/// without; and a state in the midst of an update, for the terms of its gradient steps.
#[test]
fn ranks_replay_what_one_process_does_and_any_number_goes_on() {
    let shared = "learning_starts = 40\nreplay_capacity = 100\ntrain_frequency = 16\ntarget_update = 3\n\
                  learning_rate = 1e-3\nsteps_per_update = 64";
    let rainbow = "batch_size = 3\nprioritized = true\nnoisy = true\ndueling = true\ndouble_q = true\n\
                   n_step = 3\ndistributional = 'c51'";
    let implicit = "batch_size = 3\nstart_e = 0.5\ndistributional = 'iqn'\nnum_tau_samples = 3\n\
                    num_tau_prime_samples = 2\nnum_quantile_samples = 4";
    for changes in ["batch_size = 16\nstart_e = 0.5", rainbow, implicit] {
        let settings = settings(Algorithm::Dqn, &format!("{shared}\n{changes}"));
        let (alone, _) = train(&settings, 1, 4);
        let priorities = alone[3]
            .replay
            .iter()
            .any(|(name, _)| name == "replay.priorities");
        assert_eq!(priorities, changes == rainbow);
        for num_ranks in [2, 4] {
            let (together, apart) = train(&settings, num_ranks, 4);
            assert!(apart <= 0.0, "{changes}: {apart} apart");
            for (update, (one, other)) in alone.iter().zip(&together).enumerate() {
                check_alike(
                    one,
                    other,
                    &format!("{changes}: {num_ranks} ranks, update {update}"),
                );
            }
        }
        let moved = largest(&(weights_of(&alone[0]) - weights_of(&alone[3])));
        assert!(moved > 1e-4, "{changes}: weights moved by {moved}");
        let midway = |_, steps| steps == 21;
        let (alone, _) = go_on(&settings, 1, None, midway);
        let (from, _) = go_on(&settings, 2, None, midway);
        let from = from.last().unwrap();
        check_alike(alone.last().unwrap(), from, "midway");
        assert!(
            from.tensors
                .iter()
                .any(|(name, _)| name == "terms_of_update")
        );
        let from_there =
            |num_ranks| go_on(&settings, num_ranks, Some(from), |updates, _| updates == 2);
        let (alone, _) = from_there(1);
        for num_ranks in [2, 4] {
            let (together, apart) = from_there(num_ranks);
            assert!(apart <= 0.0, "{changes}: {apart} apart");
            for (one, other) in alone.iter().zip(&together) {
                check_alike(one, other, &format!("{changes}: on with {num_ranks} ranks"));
            }
        }
    }
}
