//! How runs start: anew, or from their newest checkpoint.

use std::{fs, path::Path, time::Instant};

use tch::Device;
use vec_env::{EnvError, StepBatch, VecEnv};

use super::{
    InMemory, Run, Times,
    checkpoints::{self, Checkpoint, EnvStates, files},
    folder::RunFolder,
    machine, past_selves,
    run_start::RunStart,
    wait::Restarts,
};
use crate::{
    algorithms::{self, Algorithm},
    device,
    envs::{self, PastSelves},
    error::TrainerError,
    memory,
    ranks::{RankReport, Ranks, WorkTimes},
    report::{RunReport, tracking::Tracked},
    settings::{AlgorithmSettings, Distributional, DqnSettings, Settings, Track},
    stop::StopRequest,
};

impl Run {
    /// A new run in its own new folder.
    ///
    /// # Errors
    /// A folder that exists or cannot be made; those of [`Run::start`].
    pub fn create(
        settings: Settings,
        env: Box<dyn VecEnv>,
        stop: &StopRequest,
    ) -> Result<Self, TrainerError> {
        let folder = RunFolder::reserve(&settings)?;
        Self::start(RunStart::anew(folder, settings, Ranks::alone()), env, stop)
    }

    /// A run that begins or goes on, at one of several ranks with its share of the environments. Nothing is left of a
    /// new one on the disk where it cannot start.
    ///
    /// # Errors
    /// A device or memory that is not there, environments that [`envs::check`] refuses or that fail; a checkpoint of
    /// another environment or network, or with numbers that are not finite; [`TrainerError::Stopped`].
    pub fn start(
        start: RunStart,
        env: Box<dyn VecEnv>,
        stop: &StopRequest,
    ) -> Result<Self, TrainerError> {
        let RunStart {
            mut settings,
            is_new,
            ranks,
            folder,
            mut checkpoint,
            replay_problem,
            past_selves,
            ..
        } = start;
        if let (Some(found), Some(_)) = (&mut checkpoint, &replay_problem) {
            // What is in hand of the old games is gone with it.
            let why = "the replay memory of the old ones is missing".to_owned();
            found.checkpoint.envs = EnvStates::Missing(why);
        }
        if env.spec().num_agents > 1 {
            settings.env.num_agents = env.spec().num_agents;
            settings.check_rows()?;
        }
        let from = Origin {
            checkpoint: checkpoint.as_ref(),
            past_selves: &past_selves,
            opponents: &folder.opponents(),
        };
        let (env, algorithm, notices) = prepare(&settings, env, &from, stop, &ranks)?;
        let saved = checkpoint.as_ref().map(|found| found.checkpoint.counters);
        let learned = saved.unwrap_or_default();
        let (path, title, total) = (folder.path(), title(&settings), settings.run.total_steps);
        let mut report = RunReport::of_another_rank(path, &title, total, learned.step);
        if ranks.is_first() {
            folder.write_settings(&settings)?;
            files::drop_unfinished(&folder.checkpoints())?;
            files::drop_unfinished(&folder.opponents())?;
            if let Some(found) = &checkpoint {
                files::set_damaged_apart(&found.path)?;
                if replay_problem.is_some() {
                    files::set_replay_apart(&found.path)?;
                }
            }
            let updated_at = match learned.updated_at {
                0 => learned.step, // older checkpoints do not say
                updated_at => updated_at,
            };
            let goes_on = (!is_new).then_some((learned.step, updated_at, learned.seconds));
            report = match RunReport::open(path, &title, total, goes_on) {
                Err(error) if is_new => {
                    folder.remove();
                    return Err(error);
                }
                opened => opened?,
            };
            if is_new {
                report.settings(&settings.table())?;
            }
            if settings.run.track != Track::None {
                report.track(tracked(&settings));
            }
        }
        if let AlgorithmSettings::Dqn(dqn) = &settings.algorithm {
            report.loss_tag = loss_tag(dqn);
        }
        if settings.env.num_players > 1 {
            report.show_lengths();
        }
        let mut run = Self {
            folder,
            arithmetic: machine::arithmetic(&settings),
            settings,
            env,
            algorithm,
            report,
            notices,
            evaluator: None,
            clips: None,
            past_selves,
            step_count: learned.step,
            learned,
            at_boundary: true,
            is_learning: false,
            step: StepBatch::default(),
            in_flight: 0,
            // They are counted together; those before are rank 0's.
            restarts: Restarts::after(learned.worker_restarts * u64::from(ranks.is_first())),
            restarted_elsewhere: 0,
            times: Times::start(),
            saved: saved.map(|counters| counters.step),
            in_memory: InMemory {
                newest: None,
                taken: Instant::now(),
            },
            ranks,
            games: Vec::new(),
            work_times: WorkTimes::default(),
            met: RankReport::default(),
        };
        run.notices.extend(run.lost_rows());
        Ok(run)
    }

    /// What the tables lack of the rows that were in them at the checkpoint, a sentence each.
    fn lost_rows(&self) -> Vec<String> {
        let (report, learned) = (&self.report, self.learned);
        let evaluations = report.evaluations().len() as u64;
        let tables = [
            ("episodes.csv", report.games.played, learned.games),
            ("updates.csv", report.num_updates(), learned.update),
            ("evaluations.csv", evaluations, learned.evaluations),
        ];
        let short = tables.into_iter().filter(|_| self.ranks.is_first());
        let short = short.filter(|(_, found, expected)| found < expected);
        let tell = |(table, found, expected)| {
            format!(
                "`{}` has {found} of its {expected} rows up to agent step {}: the others are lost",
                self.folder.path().join(table).display(),
                learned.step
            )
        };
        short.map(tell).collect()
    }
}

/// What steps and what learns, ready for the first step, and what the user should know of it.
type Prepared = (Box<dyn VecEnv>, Box<dyn Algorithm>, Vec<String>);

/// What a run goes on from.
struct Origin<'a> {
    checkpoint: Option<&'a checkpoints::Found>,
    past_selves: &'a PastSelves,
    /// The folder of the past selves.
    opponents: &'a Path,
}

/// The algorithm at its start or at a checkpoint, and in its memory the observations to go on from: those
/// that it was saved with, where the environments are brought back to where they stood, or those of new
/// games.
fn prepare(
    settings: &Settings,
    env: Box<dyn VecEnv>,
    &Origin {
        checkpoint: from,
        past_selves,
        opponents,
    }: &Origin<'_>,
    stop: &StopRequest,
    ranks: &Ranks,
) -> Result<Prepared, TrainerError> {
    let of = &settings.env;
    envs::check(&of.env_id, of.env_groups, of.autoreset, &*env)?;
    let device = device::prepare(&settings.machine, settings.algorithm.algorithm())?;
    let on_host = device == Device::Cpu;
    let spaces = (env.obs_spec(), env.action_space());
    let needs = memory::of_run(settings, env.num_envs(), spaces, on_host);
    memory::check_run(settings, &needs)?;
    let mut algorithm = algorithms::of_rank(settings, &*env, device, ranks)?;
    let asked = settings.env.num_agents;
    if asked > 1 && env.spec().num_agents == 1 {
        let env_id = &settings.env.env_id;
        let problem = format!("`{env_id}` has one agent; num_agents is {asked}");
        return Err(TrainerError::Usage(problem));
    }
    if from.is_none() && !settings.run.start_from.as_os_str().is_empty() {
        begin_with(&mut *algorithm, settings, &*env, ranks)?;
    }
    let mut notices = Vec::new();
    let num_rows = (env.num_envs() * ranks.count()) as u64;
    notices.extend(too_few_to_learn(settings, num_rows));
    let mut done_before = 0;
    let mut states = Err(None);
    if let Some(checkpoints::Found {
        path, checkpoint, ..
    }) = from
    {
        checkpoint.check_spaces(path, &*env)?;
        algorithm
            .load_state(&checkpoint.state)
            .map_err(|error| TrainerError::checkpoint(path, error))?;
        done_before = checkpoint.counters.step;
        notices.extend(past_selves::restore(
            past_selves,
            checkpoint,
            opponents,
            device,
            ranks,
        )?);
        states = match &checkpoint.envs {
            EnvStates::Saved(states) => Ok(states[ranks.share(states.len())].to_vec()),
            EnvStates::Missing(why) => Err(Some(why.clone())),
        };
    }
    // New games of a resumed run: a seed of their own keeps them from repeating the first ones.
    let first_env = ranks.share(settings.env.num_envs).start as u64;
    let seed = envs::env_seed(settings.run.seed.wrapping_add(done_before)) + first_env;
    let num_envs = env.num_envs() / env.spec().num_agents;
    let what = format!("{num_envs} environments begin their games");
    let (mut env, new) = stop
        .unless_asked(Some(&what), move || begin(env, seed, states))
        .ok_or(TrainerError::Stopped)?;
    let mut new = new?;
    // The games go on at all ranks, or at none.
    let why = new.as_ref().and_then(|new| new.why.as_deref());
    let whys = ranks.all_gather(why.unwrap_or_default().as_bytes())?;
    if ranks.any(new.is_some())? && new.is_none() {
        let why = whys.into_iter().find(|why| !why.is_empty());
        let why = why.map(|why| String::from_utf8_lossy(&why).into_owned());
        let anew;
        (env, anew) = begin(env, seed, Err(why));
        new = anew?;
    }
    if let Some(NewGames { obs, why }) = new {
        if from.is_some() {
            algorithm.forget_games();
        }
        algorithm.next_obs().copy_from_slice(&obs);
        notices.extend(why.map(|why| format!("the games start over: {why}")));
    }
    Ok((env, algorithm, notices))
}

/// What is said of a run of `num_rows` agents that ends before its first gradient step on a replay memory.
fn too_few_to_learn(settings: &Settings, num_rows: u64) -> Option<String> {
    let (starts, n_step, frequency) = match &settings.algorithm {
        AlgorithmSettings::Dqn(dqn) => (dqn.learning_starts, dqn.n_step, dqn.train_frequency),
        other => {
            let ddpg = other.ddpg()?;
            (ddpg.learning_starts, 1, ddpg.train_frequency)
        }
    };
    // Each wait ends with a step of all environments; the last two begin in the step that ends the one before.
    let steps = (starts as u64).div_ceil(num_rows) + n_step as u64 - 1;
    let first = (steps + frequency.div_ceil(num_rows) - 1) * num_rows;
    let total = settings.run.total_steps;
    (first > total.next_multiple_of(num_rows)).then(|| {
        let n_step = if n_step > 1 { format!(", `n_step` = {n_step}") } else { String::new() };
        format!(
            "nothing will be learned: the first gradient step comes after {first} agent steps (`learning_starts` = \
             {starts}{n_step}, `train_frequency` = {frequency}), and the run ends after {total}"
        )
    })
}

/// Gives a new run the network of the checkpoint that its `start_from` means, which rank 0 sees.
fn begin_with(
    algorithm: &mut dyn Algorithm,
    settings: &Settings,
    env: &dyn VecEnv,
    ranks: &Ranks,
) -> Result<(), TrainerError> {
    let path = &settings.run.start_from;
    let bytes = if ranks.is_first() {
        let found = checkpoints::find(path)?.path;
        fs::read(&found).map_err(TrainerError::io("read", &found))?
    } else {
        Vec::new()
    };
    let found = Checkpoint::parse(path, &ranks.of_first(&bytes)?)?;
    found.check_spaces(path, env)?;
    let of_both = (&found.settings.algorithm, &settings.algorithm);
    if let (AlgorithmSettings::Dqn(theirs), AlgorithmSettings::Dqn(ours)) = of_both
        && !theirs.style().returns.reads_as(ours.style().returns)
    {
        let problem =
            "its outputs mean other returns: `distributional`, `v_min` or `v_max` differs";
        let problem = TrainerError::State(problem.to_owned());
        return Err(TrainerError::checkpoint(path, problem));
    }
    let started = algorithm.start_from(&found.state);
    started.map_err(|error| TrainerError::checkpoint(path, error))
}

/// Games that do not go on where they were saved, and why, if that is not what a new run does.
struct NewGames {
    obs: Vec<u8>,
    why: Option<String>,
}

/// Begins new games, and goes on with the old ones if their `states` are there and fit: `None` then.
fn begin(
    mut env: Box<dyn VecEnv>,
    seed: u64,
    states: Result<Vec<Vec<u8>>, Option<String>>,
) -> (Box<dyn VecEnv>, Result<Option<NewGames>, EnvError>) {
    let mut obs = vec![0; env.num_envs() * env.obs_spec().num_bytes()];
    if let Err(error) = env.reset(Some(seed), &mut obs) {
        return (env, Err(error));
    }
    let restored = states.and_then(|states| {
        // The states hold what was seen last, and so does the algorithm.
        let restored = env.restore_state(&states, &mut obs.clone());
        restored.map_err(|error| Some(error.to_string()))
    });
    let new = restored.err().map(|why| NewGames { obs, why });
    (env, Ok(new))
}

/// What a tracker hears of a run at its start.
fn tracked(settings: &Settings) -> Tracked {
    Tracked {
        kind: settings.run.track.name().to_owned(),
        run: settings.run.run_name.clone(),
        settings: serde_json::to_string(&settings.table()).unwrap_or_default(),
    }
}

/// The tag that `CleanRL` has for the loss: the one of its C51, or of its DQN and Rainbow.
fn loss_tag(dqn: &DqnSettings) -> &'static str {
    if dqn.distributional == Distributional::None || dqn.noisy {
        "losses/td_loss"
    } else {
        "losses/loss"
    }
}

/// What a run is called in its curve: environment, algorithm, seed.
fn title(settings: &Settings) -> String {
    format!(
        "{} · {} · seed {}",
        settings.env.env_id,
        settings.algorithm.algorithm().name().to_uppercase(),
        settings.run.seed
    )
}
