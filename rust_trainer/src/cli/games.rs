//! Games for two between trained agents: what `versus` and `league` share.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::player::{HowArgs, make_envs};
use crate::{
    envs::{self, Opponent, PolicyOpponent, RandomOpponent},
    error::TrainerError,
    league,
    policy::Policy,
    run::{
        checkpoints::Found,
        versus::{Tally, scores_of},
    },
    stop::StopRequest,
};

/// A side of games: a checkpoint's policy, or random play.
pub(super) struct Side {
    /// Its checkpoint; none of one that plays at random.
    pub found: Option<Found>,
    /// What it is called where others have its name.
    label: Option<String>,
}

impl From<Option<Found>> for Side {
    fn from(found: Option<Found>) -> Self {
        Self { found, label: None }
    }
}

/// Calls other sides of one name, at the same agent step, by the `words` of the command line.
pub(super) fn name_apart(sides: &mut [Side], words: &[PathBuf]) {
    let has_others = |side: &Side| {
        let alike = |other: &&Side| other.name() == side.name() && !other.is_same(side);
        sides.iter().find(alike).is_some()
    };
    let have_others: Vec<bool> = sides.iter().map(has_others).collect();
    for ((side, word), has_others) in sides.iter_mut().zip(words).zip(have_others) {
        side.label = has_others.then(|| word.display().to_string());
    }
}

impl Side {
    /// The side that a command line's `word` means: `random`, or what `find` makes of it.
    pub fn of(
        word: &Path,
        find: impl FnOnce(&Path) -> Result<Found, TrainerError>,
    ) -> Result<Self, TrainerError> {
        let is_random = word == Path::new("random");
        let found = (!is_random).then(|| find(word)).transpose()?;
        Ok(found.into())
    }

    /// The run's name, or `random`; of one among others of its name what the command line calls it.
    pub fn player(&self) -> &str {
        match (&self.label, &self.found) {
            (Some(label), _) => label,
            (None, Some(found)) => &found.checkpoint.settings.run.run_name,
            (None, None) => "random",
        }
    }

    /// Whether two are one checkpoint, or both play at random.
    pub fn is_same(&self, other: &Self) -> bool {
        let file = |side: &Self| {
            let path: &Path = &side.found.as_ref()?.path;
            Some(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
        };
        file(self) == file(other)
    }

    /// The agent steps that it learned from.
    pub fn step(&self) -> Option<u64> {
        let found = self.found.as_ref();
        found.map(|found| found.checkpoint.counters.step)
    }

    /// What it is called in tables.
    pub fn name(&self) -> String {
        league::name(self.player(), self.step())
    }

    /// Refuses a checkpoint that cannot play against `player`, which the command line calls `named`.
    pub fn check_plays_with(&self, player: &Found, named: &Path) -> Result<(), TrainerError> {
        let Some(found) = &self.found else {
            return Ok(());
        };
        let (ours, its) = (&player.checkpoint, &found.checkpoint);
        let plays_the_same = ours.settings.env.env_id == its.settings.env.env_id
            && ours.settings.env.num_players == its.settings.env.num_players
            && ours.obs_spec == its.obs_spec
            && ours.action_space == its.action_space;
        if plays_the_same {
            return Ok(());
        }
        let problem = format!(
            "plays another game than `{}`, or sees it otherwise: `{}` for {} with observations {:?}",
            named.display(),
            its.settings.env.env_id,
            its.settings.env.num_players,
            its.obs_spec.shape
        );
        Err(TrainerError::checkpoint(&found.path, problem))
    }
}

/// Refuses a checkpoint of a game for one.
pub(super) fn check_is_for_two(found: &Found) -> Result<(), TrainerError> {
    if found.checkpoint.settings.env.num_players > 1 {
        return Ok(());
    }
    let problem = "its `num_players` is 1; only games for two have another side";
    Err(TrainerError::checkpoint(&found.path, problem))
}

/// How many games two sides play against each other.
#[derive(clap::Args)]
pub(super) struct GamesArgs {
    /// True games to play against each, an even number: half of them from each side
    #[arg(long, default_value_t = 100, value_parser = even)]
    pub episodes: usize,
    /// Environments played at once, an even number
    #[arg(long, default_value_t = 8, value_parser = even)]
    pub num_envs: usize,
}

impl GamesArgs {
    /// Lets the checkpoint `player`, whose policy is `policy`, play all games against `opponent`; nothing where a stop
    /// was asked for meanwhile.
    pub fn play(
        &self,
        (player, policy): (&Found, &dyn Policy),
        opponent: &Side,
        how: &HowArgs,
        stop: &StopRequest,
    ) -> Result<Option<Tally>, TrainerError> {
        let checkpoint = &player.checkpoint;
        let opponent: Box<dyn Opponent> = match &opponent.found {
            None => Box::new(RandomOpponent::new(checkpoint.action_space.num_actions())),
            Some(found) => Box::new(PolicyOpponent::new(
                how.load(found)?,
                found.checkpoint.obs_spec.clone(),
                how.greedy,
            )),
        };
        let num_envs = self.num_envs.min(self.episodes);
        let for_env = checkpoint.settings.clone();
        let make = move || envs::against(opponent, &for_env, num_envs);
        let mut games = make_envs(num_envs, stop, make)?;
        let scores = games.scores();
        let (env, count) = (Box::new(games), self.episodes as u64);
        let ended = how.play(policy, env, count, stop, |_| Ok(()))?;
        let is_whole = ended.len() == self.episodes;
        Ok(is_whole.then(|| Tally::of(&ended, &scores_of(&ended, &scores.take()))))
    }
}

fn even(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(number @ 2..=1_048_576) if number % 2 == 0 => Ok(number),
        _ => Err("must be an even number from 2 to 1048576: both sides get the same share".into()),
    }
}

/// The columns of a CSV file of games before those of the [`Tally`].
#[derive(Serialize)]
struct Sides<'a> {
    player: &'a str,
    player_step: Option<u64>,
    opponent: &'a str,
    opponent_step: Option<u64>,
}

/// Those behind it.
#[derive(Clone, Copy, Serialize)]
pub(super) struct How {
    pub seed: u64,
    pub greedy: bool,
}

impl From<&HowArgs> for How {
    fn from(&HowArgs { seed, greedy, .. }: &HowArgs) -> Self {
        Self { seed, greedy }
    }
}

/// A new CSV file, made with its first row: a start that fails leaves no empty file that forbids the next.
pub(super) struct NewTable {
    path: Option<PathBuf>,
    writer: Option<csv::Writer<File>>,
}

impl NewTable {
    /// The file at `path`; none without one.
    ///
    /// # Errors
    /// A file that is there already, or cannot be.
    pub fn new(path: Option<&Path>) -> Result<Self, TrainerError> {
        if let Some(path) = path {
            let made = File::create_new(path).and_then(|_| fs::remove_file(path));
            made.map_err(TrainerError::io("create", path))?;
        }
        Ok(Self {
            path: path.map(Path::to_owned),
            writer: None,
        })
    }

    /// Writes a row, and has it on the disk.
    pub fn write(&mut self, row: impl Serialize) -> Result<(), TrainerError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let file = File::create_new(path).map_err(TrainerError::io("create", path))?;
                none.insert(csv::Writer::from_writer(file))
            }
        };
        let written = writer.serialize(row).map_err(io::Error::from);
        let written = written.and_then(|()| writer.flush());
        written.map_err(TrainerError::io("write", path))
    }

    /// Writes what games of two sides came to.
    pub fn write_games(
        &mut self,
        [player, opponent]: [&Side; 2],
        tally: Tally,
        how: &HowArgs,
    ) -> Result<(), TrainerError> {
        let sides = Sides {
            player: player.player(),
            player_step: player.step(),
            opponent: opponent.player(),
            opponent_step: opponent.step(),
        };
        self.write((sides, tally, How::from(how)))
    }
}
