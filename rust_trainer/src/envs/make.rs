//! Makes the environments that a run asks for, on the backend that serves them.

use python_shim::VecGymEnv;
use tch::Device;
use vec_env::{ActionSpace, EnvError, ObsSpec, VecEnv};

use super::{
    against_opponent::AgainstOpponent,
    checks::check,
    groups::EnvGroups,
    many_agents, native,
    opponent::{Opponent, RandomOpponent},
    own_thread,
    past_selves::{DrawnOpponents, PastSelves},
    request::{EnvRequest, Recording},
    self_play::{NUM_PLAYERS, SelfPlay},
};
use crate::{
    device::{self, available_cores},
    error::TrainerError,
    memory,
    settings::{Backend, Settings},
};

/// Seconds that a worker process has to start and to make each environment, whatever is set for a step.
const MIN_START_SECONDS: f64 = 60.0;

/// For so long a run waits for a server whose connection was lost, and which keeps the environments meanwhile.
const RECONNECT_SECONDS: f64 = 120.0;

/// So many environments are made without a look at the memory that they take: it is too little to matter.
const FEW: usize = 64;

/// The environments to learn in.
pub struct TrainingEnvs {
    /// All of them.
    pub env: Box<dyn VecEnv>,
    /// Why the fastest backend does not step a game, where the settings leave the choice open.
    pub why_not_native: Option<String>,
}

/// Makes the environments of [`EnvRequest::for_training`]; in some games for two `past_selves` are opponents, where
/// the settings say so. The settings are those of one rank, which is number `rank`.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses, such as an unknown id.
pub fn for_training(
    request: &EnvRequest<'_>,
    past_selves: &PastSelves,
    rank: usize,
) -> Result<TrainingEnvs, TrainerError> {
    let settings = request.settings;
    let (num_envs, env_groups) = (settings.env.num_envs, settings.env.env_groups);
    check_memory(request, num_envs, |spaces, on_host| {
        memory::of_run(settings, settings.env.num_rows(), spaces, on_host)
    })?;
    let threads = env_threads(settings).unsigned_abs() as usize;
    let threads = threads.div_ceil(env_groups);
    let mut why_not_native = None;
    let mut make_group = |group| {
        let num_envs = num_envs / env_groups;
        let made = match server(settings, group) {
            Some(address) => make_remote(request, address, num_envs),
            None => make(request, num_envs, threads, &mut why_not_native),
        }?;
        Ok::<Box<dyn VecEnv>, TrainerError>(match made {
            Made::ForOne(env) => env,
            Made::ForTwo(players) => match settings.env.opponent_games / env_groups {
                0 => players,
                count => {
                    let (past_selves, env) = (past_selves.clone(), &settings.env);
                    let spec = players.obs_spec().clone();
                    let opponents = DrawnOpponents::new(past_selves, env, spec, count);
                    let opponents = Box::new(opponents);
                    let first = rank * env.opponent_games + group * count;
                    let against = first..first + count;
                    Box::new(AgainstOpponent::in_some(players, opponents, against))
                }
            },
        })
    };
    let env = if env_groups == 1 {
        make_group(0)?
    } else {
        let groups = (0..env_groups).map(make_group);
        let groups = groups.collect::<Result<_, _>>()?;
        Box::new(EnvGroups::new(groups, num_envs / env_groups)?)
    };
    Ok(TrainingEnvs {
        env,
        why_not_native,
    })
}

/// The environments to measure a policy in: whole games and raw rewards, whatever the recipe says. In
/// games for two the other side plays at random.
pub fn for_evaluation(
    settings: &Settings,
    num_envs: usize,
    recording: &Recording,
) -> Result<Box<dyn VecEnv>, TrainerError> {
    let request = EnvRequest::for_evaluation(settings, recording);
    Ok(match make_all(&request, num_envs)? {
        Made::ForOne(env) => env,
        Made::ForTwo(players) => {
            let opponent = RandomOpponent::new(players.action_space().num_actions());
            Box::new(AgainstOpponent::new(players, Box::new(opponent)))
        }
    })
}

/// Games for two to measure a policy in, against `opponent`.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses; settings of games for one.
pub fn against(
    opponent: Box<dyn Opponent>,
    settings: &Settings,
    num_envs: usize,
) -> Result<AgainstOpponent, TrainerError> {
    let request = EnvRequest::for_evaluation(settings, &Recording::default());
    match make_all(&request, num_envs)? {
        Made::ForTwo(players) => Ok(AgainstOpponent::new(players, opponent)),
        Made::ForOne(_) => Err(TrainerError::setting(
            "num_players",
            settings.env.num_players,
            "must be 2 where two play".to_owned(),
        )),
    }
}

/// Any seed as one that the environments take: environment i gets `seed + i`, and ALE's seeds end at 2³¹.
#[must_use]
pub fn env_seed(seed: u64) -> u64 {
    seed % (1 << 30)
}

/// Threads or worker processes that step the environments: as many as asked for, else one a core, at
/// most one each.
#[must_use]
pub fn env_threads(settings: &Settings) -> i64 {
    let asked = match settings.machine.env_threads {
        0 => available_cores(),
        threads => threads,
    };
    asked.min(settings.env.num_envs as i64)
}

/// Environments that pass [`check`], by the players of each.
enum Made {
    ForOne(Box<dyn VecEnv>),
    ForTwo(Box<SelfPlay>),
}

impl Made {
    fn new(request: &EnvRequest<'_>, env: Box<dyn VecEnv>) -> Result<Self, TrainerError> {
        let mut made = match env.num_players() {
            NUM_PLAYERS => Self::ForTwo(Box::new(SelfPlay::new(env)?)),
            _ => Self::ForOne(env),
        };
        check(request.env_id(), 1, request.autoreset, made.env())?;
        Ok(made)
    }

    fn env(&mut self) -> &mut dyn VecEnv {
        match self {
            Self::ForOne(env) => &mut **env,
            Self::ForTwo(players) => &mut **players,
        }
    }
}

/// Refuses many environments that do not fit into memory, together with what `others` says that their
/// observations and the host take beside. One is made to see what they are like.
fn check_memory(
    request: &EnvRequest<'_>,
    num_envs: usize,
    others: impl FnOnce((&ObsSpec, &ActionSpace), bool) -> Vec<memory::Need>,
) -> Result<(), TrainerError> {
    if num_envs <= FEW {
        return Ok(());
    }
    let settings = request.settings;
    if server(settings, 0).is_some() {
        return Ok(()); // they are in the server's
    }
    let mut one = make(request, 1, 1, &mut None)?;
    let env = one.env();
    let envs = memory::Envs {
        count: num_envs,
        backend: env.backend(),
        are_atari: request.is_atari() == Ok(true),
    };
    let mut needs = Vec::from(envs.needs(settings, env.obs_spec()));
    let on_host = device::select(settings.machine.device)? == Device::Cpu;
    needs.extend(others((env.obs_spec(), env.action_space()), on_host));
    env.close()?;
    memory::check_run(settings, &needs)
}

fn make_all(request: &EnvRequest<'_>, num_envs: usize) -> Result<Made, TrainerError> {
    check_memory(request, num_envs, |_, _| Vec::new())?;
    if let Some(address) = server(request.settings, 0) {
        return make_remote(request, address, num_envs);
    }
    let threads = env_threads(request.settings).unsigned_abs() as usize;
    make(request, num_envs, threads, &mut None)
}

/// Makes environments on the backend that is asked for. Where that is left open: on `native`, or
/// else on `ale`, if it can serve them; else in worker processes if they show images, whose making takes longer than
/// passing them on, and there are several environments and cores; else in this process.
fn make(
    request: &EnvRequest<'_>,
    num_envs: usize,
    threads: usize,
    why_not_native: &mut Option<String>,
) -> Result<Made, TrainerError> {
    let threads = threads.min(num_envs);
    if let Some(env) = many_agents::make(request, num_envs) {
        return made(request, env);
    }
    if request.backend != Backend::Auto {
        return make_on(request, request.backend, num_envs, threads);
    }
    // Behind their threads there are no raw frames to save.
    if !request.has_pictures() {
        for backend in [Backend::Native, Backend::Ale] {
            match make_on(request, backend, num_envs, threads) {
                // Also what no backend can serve: the next one says so, too.
                Err(TrainerError::Usage(why)) => {
                    if backend == Backend::Native && !matches!(request.game(), Ok(None)) {
                        *why_not_native = Some(why);
                    }
                }
                made => return made,
            }
        }
    }
    let mut made = make_on(request, Backend::Sync, 1, threads)?;
    let single = made.env();
    let are_images = single.obs_spec().is_image();
    single.close()?;
    // In a Python process, worker processes would run the script anew that called this, unless it has a
    // `__main__` guard; there they are for those who ask for them.
    let may_spawn = !python_shim::interpreter::is_guest();
    if are_images && threads > 1 && may_spawn {
        make_on(request, Backend::Async, num_envs, threads)
    } else {
        make_on(request, Backend::Sync, num_envs, threads)
    }
}

/// The server that has the environments of a group.
fn server(settings: &Settings, group: usize) -> Option<&str> {
    let servers: Vec<_> = settings.env.servers().collect();
    servers.get(group).or(servers.first()).copied()
}

fn make_remote(
    request: &EnvRequest<'_>,
    address: &str,
    num_envs: usize,
) -> Result<Made, TrainerError> {
    let options = request.options.clone();
    let options = options
        .with("timeout", request.settings.env.env_timeout)
        .with("reconnect", RECONNECT_SECONDS);
    let env_id = request.env_id();
    let env = VecGymEnv::connect(address, env_id, num_envs, &options);
    made(request, env.map(|env| Box::new(env) as _))
}

fn make_on(
    request: &EnvRequest<'_>,
    backend: Backend,
    num_envs: usize,
    threads: usize,
) -> Result<Made, TrainerError> {
    let env_id = request.env_id();
    let env: Result<Box<dyn VecEnv>, EnvError> = if backend == Backend::Native {
        native::make(request, num_envs, threads).map(|env| Box::new(env) as _)
    } else {
        let mut options = request.options.clone().with("backend", backend.name());
        if backend == Backend::Ale {
            options.set("num_threads", threads as i64);
        } else if backend == Backend::Async {
            let timeout = request.settings.env.env_timeout;
            options.set("num_workers", threads as i64);
            options.set("worker_timeout", timeout);
            options.set("start_timeout", timeout.max(MIN_START_SECONDS));
        }
        let env = VecGymEnv::make_vec(env_id, num_envs, &options);
        env.map(|env| own_thread::if_needed(env_id, Box::new(env)))
    };
    made(request, env)
}

fn made(
    request: &EnvRequest<'_>,
    env: Result<Box<dyn VecEnv>, EnvError>,
) -> Result<Made, TrainerError> {
    match env {
        Ok(env) => Made::new(request, env),
        // A typing mistake gets a line; anything else keeps its traceback.
        Err(error) if error.is_usage_error() => Err(TrainerError::Usage(error.to_string())),
        Err(error) => Err(error.into()),
    }
}
