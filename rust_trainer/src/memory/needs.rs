//! What a run needs, from its settings and one look at an observation: what is measured per environment, and
//! what follows from the sizes of observations and layers. What is small beside these is left out, for a run that
//! would fit is not to be refused.

use vec_env::{ActionSpace, ObsSpec};

use crate::{
    data::{Replay, rows_on_host},
    device::available_cores,
    nn::{ImpalaResNet, NatureCnn},
    ranks::{Launch, launch::ranks_here},
    settings::{AlgorithmSettings, Distributional, Net, Precision, Settings},
};

/// A part of what a run needs.
#[derive(Debug)]
pub(crate) struct Need {
    pub what: &'static str,
    /// The settings that it grows with.
    pub lower: &'static [&'static str],
    /// The one that it falls with, if any.
    pub raise: Option<&'static str>,
    pub bytes: u64,
}

/// Environments that are still to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envs<'a> {
    pub count: usize,
    /// What is to step them.
    pub backend: &'a str,
    /// They are Atari games.
    pub are_atari: bool,
}

impl Envs<'_> {
    /// Bytes of each, with its state while a checkpoint is written: resident memory of 64 to 2,000 games of Pong
    /// and Space Invaders at their resets, in November 2026.
    fn bytes_of_each(&self) -> usize {
        match self.backend {
            "native" => 550_000,
            "ale" => 1_700_000,
            _ if self.are_atari => 1_500_000,
            _ => 4_000,
        }
    }

    /// Worker processes, and the bytes of each before it has an environment.
    fn workers(&self, settings: &Settings) -> usize {
        const BYTES: usize = 30_000_000;
        let asked = match settings.machine.env_threads {
            0 => available_cores(),
            threads => threads,
        };
        let is_async = self.backend == "async";
        usize::from(is_async) * BYTES * self.count.min(asked as usize)
    }

    /// What they need.
    pub fn needs(&self, settings: &Settings, spec: &ObsSpec) -> [Need; 2] {
        let each = self.bytes_of_each() + spec.num_bytes();
        let envs = self.count.saturating_mul(each);
        let workers = self.workers(settings);
        [
            need("environments", &["num_envs"], envs),
            need("worker processes", &["env_threads"], workers),
        ]
    }
}

/// What learning needs beside the environments, whose observations have so many `rows`, on the host.
pub(crate) fn of_run(
    settings: &Settings,
    rows: usize,
    spaces: (&ObsSpec, &ActionSpace),
    on_host: bool,
) -> Vec<Need> {
    let spec = spaces.0;
    let of_layers = |samples: usize| {
        let bytes = samples.saturating_mul(bytes_of_layers(settings, spec));
        if on_host { bytes } else { 0 }
    };
    let (steps, minibatches) = match &settings.algorithm {
        AlgorithmSettings::Ppo(ppo) => (ppo.num_steps, Some(ppo.num_minibatches)),
        AlgorithmSettings::Pqn(pqn) => (pqn.num_steps, Some(pqn.num_minibatches)),
        AlgorithmSettings::A2c(a2c) => (a2c.num_steps, None),
        AlgorithmSettings::Dqn(dqn) => {
            let launch = Launch::from_env().ok().flatten();
            let num_ranks = launch.map_or(1, |launch| launch.num_ranks);
            let capacity = Replay::capacity_of_rank(dqn.replay_capacity, rows, num_ranks);
            let memory = Replay::num_bytes(spaces, rows, capacity, dqn.n_step);
            // Rank 0 has it once more whole, gathered for a checkpoint; each rank here counts as often as it does.
            let is_gathered = launch.is_some_and(|launch| launch.rank == 0);
            let whole = memory.saturating_mul(num_ranks) / ranks_here();
            let whole = if is_gathered { whole } else { 0 };
            return of_replay(memory.saturating_add(whole), of_layers(dqn.batch_size));
        }
        AlgorithmSettings::Ddpg(ddpg)
        | AlgorithmSettings::Td3(ddpg)
        | AlgorithmSettings::Maddpg(ddpg) => {
            let memory = Replay::num_bytes(spaces, rows, ddpg.replay_capacity, 1);
            let agents = match &settings.algorithm {
                AlgorithmSettings::Maddpg(_) => settings.env.num_agents.max(1),
                _ => 1,
            };
            return of_replay(memory, of_layers(ddpg.batch_size.saturating_mul(agents)));
        }
    };
    let samples = rows.saturating_mul(steps);
    // A device has the rollout itself; the host then has the rows that are written and sent.
    let groups = settings.env.env_groups;
    let steps_on_host = if on_host {
        steps
    } else {
        steps.min(rows_on_host(groups).div_ceil(groups))
    };
    let on_its_way = rows.saturating_mul(steps_on_host);
    let rollout = on_its_way.saturating_mul(spec.num_bytes());
    let layers = of_layers(samples / minibatches.unwrap_or(1).max(1));
    let grow: &[&str] = &["num_envs", "num_steps"];
    vec![
        need("observations of a rollout", grow, rollout),
        Need {
            raise: minibatches.map(|_| "num_minibatches"),
            ..need("layers of a minibatch", grow, layers)
        },
    ]
}

/// What is learned from a replay memory needs.
fn of_replay(memory: usize, layers: usize) -> Vec<Need> {
    vec![
        need("the replay memory", &["replay_capacity"], memory),
        need("layers of a batch", &["batch_size"], layers),
    ]
}

/// Bytes that the forward and backward pass of a sample keep at a time: the outputs of the layers, and the gradient of
/// the largest.
fn bytes_of_layers(settings: &Settings, spec: &ObsSpec) -> usize {
    let outputs = match (settings.net.net, spec.shape.as_slice()) {
        (Net::Impala, &[_, height, width]) => {
            ImpalaResNet::outputs(height, width, settings.net.impala_width)
        }
        (_, &[_, height, width]) if spec.is_image() => NatureCnn::outputs(height, width),
        _ => vec![settings.net.mlp_width as usize; 2],
    };
    let numbers = outputs.iter().sum::<usize>() + outputs.iter().max().unwrap_or(&0);
    let numbers = numbers + numbers_of_quantiles(settings, &outputs);
    let bytes_of_number = match settings.machine.precision {
        Precision::Fp32 | Precision::Tf32 => 4,
        Precision::Bf16 | Precision::Auto => 2,
    };
    numbers * bytes_of_number
}

/// Numbers that the layers behind the body keep of a sample for implicit quantiles, each at its fraction: the cosines,
/// what they are embedded as and its product with the features, the gradients of both, and the hidden layers.
fn numbers_of_quantiles(settings: &Settings, outputs: &[usize]) -> usize {
    let AlgorithmSettings::Dqn(dqn) = &settings.algorithm else {
        return 0;
    };
    let (Distributional::Iqn, [.., features, width]) = (dqn.distributional, outputs) else {
        return 0;
    };
    let streams = if dqn.dueling { 2 } else { 1 };
    let cosines = dqn.quantile_embedding_dim as usize;
    let of_one = 3 * cosines + 6 * features + 2 * streams * width;
    dqn.num_tau_samples as usize * of_one
}

fn need(what: &'static str, lower: &'static [&'static str], bytes: usize) -> Need {
    Need {
        what,
        lower,
        raise: None,
        bytes: bytes as u64,
    }
}

#[cfg(test)]
mod tests {
    use vec_env::Dtype;

    use super::*;
    use crate::settings::Algorithm;

    const ACTIONS: ActionSpace = ActionSpace::Discrete { n: 6 };
    const MEGABYTE: u64 = 1_000_000;

    fn images() -> ObsSpec {
        ObsSpec {
            shape: vec![4, 84, 84],
            dtype: Dtype::Uint8,
        }
    }

    fn bytes(needs: &[Need]) -> Vec<u64> {
        needs.iter().map(|need| need.bytes / MEGABYTE).collect()
    }

    /// Beside what a program of 8 environments and so many steps was seen to take: with 512 steps in one minibatch
    /// 0.49 GB more than with 128, with 2,048 steps in 64 minibatches 0.35 GB more than with 512 in 16.
    #[test]
    fn rollouts_and_minibatches_take_what_was_measured() {
        let with = |changes: &str| {
            let settings = Settings::defaults(Algorithm::Ppo);
            let settings = settings.with(&toml::from_str(changes).unwrap()).unwrap();
            let needs = of_run(&settings, 8, (&images(), &ACTIONS), true);
            bytes(&needs).iter().sum::<u64>()
        };
        let of_one = with("num_steps = 512\nnum_minibatches = 1")
            - with("num_steps = 128\nnum_minibatches = 1");
        assert!((470..=520).contains(&of_one), "{of_one} MB");
        let of_many = with("num_steps = 2048\nnum_minibatches = 64")
            - with("num_steps = 512\nnum_minibatches = 16");
        assert!((330..=380).contains(&of_many), "{of_many} MB");
    }

    /// Two rows and two more of each group, whatever the rollout.
    #[test]
    fn of_a_rollout_on_a_device_the_host_has_what_is_on_its_way() {
        let with = |changes: &str| {
            let settings = Settings::defaults(Algorithm::Ppo);
            let settings = settings.with(&toml::from_str(changes).unwrap()).unwrap();
            let needs = of_run(&settings, 1000, (&images(), &ACTIONS), false);
            bytes(&needs)
        };
        let [row, short, long] = [2, 8, 2048].map(|steps| with(&format!("num_steps = {steps}")));
        assert_eq!(row, [56, 0]);
        assert_eq!(short, [112, 0]);
        assert_eq!(long, short);
    }

    /// Beside what a program with Nature's network was seen to take at most: with batches of 128 transitions 0.53 GB more
    /// than of 32, of 256 0.71 GB more than of 128.
    #[test]
    fn implicit_quantiles_take_what_was_measured() {
        let with = |batch_size| {
            let changes = format!("distributional = 'iqn'\nbatch_size = {batch_size}");
            let settings = Settings::defaults(Algorithm::Dqn);
            let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
            of_run(&settings, 8, (&images(), &ACTIONS), true)[1].bytes / MEGABYTE
        };
        let [small, middle, large] = [32, 128, 256].map(with);
        assert!((480..=530).contains(&(middle - small)), "{small} {middle}");
        assert!((640..=710).contains(&(large - middle)), "{middle} {large}");
    }

    #[test]
    fn environments_and_replay_memories_grow_with_their_settings() {
        let settings = Settings::defaults(Algorithm::Dqn);
        let envs = Envs {
            count: 100_000,
            backend: "native",
            are_atari: true,
        };
        assert_eq!(bytes(&envs.needs(&settings, &images())), [57_822, 0]);
        let envs = Envs {
            count: 100_000,
            backend: "async",
            are_atari: false,
        };
        let settings_of_workers = settings
            .with(&toml::from_str("env_threads = 4").unwrap())
            .unwrap();
        let [_, workers] = envs.needs(&settings_of_workers, &images());
        assert_eq!(workers.bytes / MEGABYTE, 120);
        let [replay, _] = &of_run(&settings, 8, (&images(), &ACTIONS), true)[..] else {
            unreachable!("a replay memory and a batch")
        };
        assert_eq!(replay.lower, ["replay_capacity"]);
        assert_eq!(replay.bytes / (100 * MEGABYTE), 70, "7.1 GB");
    }
}
