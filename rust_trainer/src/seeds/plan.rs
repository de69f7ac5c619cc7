//! Which runs there are, and where each stands.

use std::{
    fmt,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    envs,
    error::TrainerError,
    files,
    run::{
        RunFolder,
        checkpoints::{self, files::step_of},
        folder::{self, FolderLock},
    },
    settings::{self, Settings},
};

const PLAN: &str = "plan.toml";

/// The runs of a folder: every seed on every environment. Its file holds it as it stands here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The folder of all.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Their seeds.
    pub seeds: Vec<u64>,
    /// Their environments.
    pub env_ids: Vec<String>,
    /// Their settings, but for seed, environment and name.
    pub settings: Settings,
}

/// What of a plan names its runs.
#[derive(Deserialize)]
struct Named {
    seeds: Vec<u64>,
    env_ids: Vec<String>,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// Its environment.
    pub env_id: String,
    /// Its seed.
    pub seed: u64,
    /// Its name: that of its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

impl Plan {
    /// Makes the folder `runs_dir/run_name` of `settings`, and in it the plan. Unless the name `is_named` by the
    /// user, it gets a number behind it where there is such a folder.
    ///
    /// # Errors
    /// A seed or an environment that is named twice; self-play, whose returns say nothing; a folder that
    /// is there or cannot be made.
    pub fn create(
        settings: Settings,
        seeds: Vec<u64>,
        env_ids: Vec<String>,
        is_named: bool,
    ) -> Result<Self, TrainerError> {
        if settings.env.num_players > 1 {
            let problem = "cannot be scored over seeds: what one side of a game wins the other loses; \
                           train a run for each seed, and compare them by `versus`";
            let (players, problem) = (settings.env.num_players, problem.to_owned());
            return Err(TrainerError::setting("num_players", players, problem));
        }
        let mut plan = Self {
            folder: PathBuf::new(),
            seeds,
            env_ids,
            settings,
        };
        let mut names: Vec<_> = plan.runs().into_iter().map(|run| run.name).collect();
        names.sort();
        let mut pairs = names.iter().zip(names.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(one, next)| one == next) {
            return Err(TrainerError::Usage(format!(
                "`{twice}` is asked for twice: name each seed and each environment once"
            )));
        }
        let reserved = if is_named {
            RunFolder::reserve(&plan.settings)?
        } else {
            RunFolder::reserve_free(&mut plan.settings)?
        };
        reserved.path().clone_into(&mut plan.folder);
        plan.write()?;
        Ok(plan)
    }

    fn write(&self) -> Result<(), TrainerError> {
        let text = toml::to_string(self)
            .map_err(|error| TrainerError::Usage(format!("the plan: {error}")))?;
        files::write(&self.folder.join(PLAN), text.as_bytes())
    }

    /// Locks the folder: no other process works on these runs meanwhile.
    pub(crate) fn lock(&self) -> Result<FolderLock, TrainerError> {
        folder::lock(&self.folder)
    }

    /// Has the runs go on to `total_steps`, for good; returns whether these are more than before.
    ///
    /// # Errors
    /// Fewer steps than before, which some runs may have made already; a plan that cannot be written.
    pub fn extend(&mut self, total_steps: u64) -> Result<bool, TrainerError> {
        let before = self.settings.run.total_steps;
        if total_steps < before {
            let problem = format!("must not be below the {before} of these runs");
            return Err(TrainerError::setting("total_steps", total_steps, problem));
        }
        self.settings.run.total_steps = total_steps;
        self.write()?;
        Ok(total_steps > before)
    }

    /// Whether a plan stands in a folder.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(PLAN).is_file()
    }

    /// The folders of runs that `path` means: its own, those of the plan in it, or those of runs and plans in its folders.
    /// What a run's folder is `is_run` says.
    pub fn folders_of_runs(
        path: &Path,
        is_run: impl Fn(&Path) -> bool,
    ) -> Result<Vec<PathBuf>, TrainerError> {
        let in_folder = |folder: &Path| -> Result<Vec<PathBuf>, TrainerError> {
            if Self::is_in(folder) {
                // Its settings may be those of an earlier program.
                let named: Named = settings::read_file(&folder.join(PLAN))?;
                let runs = runs_of(folder, &named.seeds, &named.env_ids).into_iter();
                return Ok(runs.map(|run| run.folder).collect());
            }
            let own = is_run(folder).then(|| folder.to_owned());
            Ok(own.into_iter().collect())
        };
        let own = in_folder(path)?;
        if !own.is_empty() || !path.is_dir() {
            return Ok(own);
        }
        let mut inside = files::list(path)?;
        inside.sort();
        let runs = inside.iter().map(|folder| in_folder(folder));
        Ok(runs.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The plan in `folder`.
    pub fn open(folder: &Path) -> Result<Self, TrainerError> {
        let path = folder.join(PLAN);
        if !Self::is_in(folder) {
            return Err(TrainerError::Usage(format!(
                "`{}` is no folder of several runs: it has no {PLAN}; a single run goes on by train --resume",
                folder.display()
            )));
        }
        let mut plan: Self = settings::read_file(&path)?;
        folder.clone_into(&mut plan.folder);
        Ok(plan)
    }

    /// Its runs: every environment with the first seed, then with the next.
    pub fn runs(&self) -> Vec<PlannedRun> {
        runs_of(&self.folder, &self.seeds, &self.env_ids)
    }
}

fn runs_of(folder: &Path, seeds: &[u64], env_ids: &[String]) -> Vec<PlannedRun> {
    let of_seed = |&seed| {
        env_ids.iter().map(move |env_id| {
            let name = format!("{}-seed{seed}", envs::name_in_files(env_id));
            PlannedRun {
                env_id: env_id.clone(),
                seed,
                folder: folder.join(&name),
                name,
            }
        })
    };
    seeds.iter().flat_map(of_seed).collect()
}

impl PlannedRun {
    /// A file of its name beside its folder: `log` is what its process prints, `toml` what it starts with.
    pub fn beside(&self, ending: &str) -> PathBuf {
        self.folder
            .with_file_name(format!("{}.{ending}", self.name))
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        RunFolder::has_run(&self.folder)
    }

    /// Whether it has a checkpoint of its last step.
    pub fn is_finished(&self, total_steps: u64) -> bool {
        let found = checkpoints::list(&self.folder.join("checkpoints"));
        let newest = found.ok().and_then(|found| step_of(found.last()?));
        newest.is_some_and(|step| step >= total_steps)
    }

    /// The agent step of its last update, as the table of updates has it; 0 before the first.
    pub fn step(&self) -> u64 {
        last_line(&self.folder.join("updates.csv"))
            .and_then(|line| line.split(',').next()?.parse().ok())
            .unwrap_or(0)
    }
}

impl fmt::Display for PlannedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seed {}", self.env_id, self.seed)
    }
}

/// The last whole line of a file of lines of moderate length.
fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096)))
        .ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    let (whole, _growing) = end.rsplit_once('\n')?;
    whole.lines().next_back().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::Algorithm;

    #[test]
    fn self_play_has_no_score_to_compare_seeds_by() {
        let mut settings = Settings::defaults(Algorithm::Ppo);
        settings.env.num_players = 2;
        let error = Plan::create(settings, vec![1, 2], vec!["Pong".to_owned()], true).unwrap_err();
        assert!(
            error.to_string().contains("compare them by `versus`"),
            "{error}"
        );
    }

    #[test]
    fn every_seed_plays_every_environment_and_none_twice() {
        let runs = tempfile::tempdir().unwrap();
        let mut settings = Settings::defaults(Algorithm::Ppo);
        settings.run.runs_dir = runs.path().to_owned();
        settings.run.run_name = "all".to_owned();
        let env_ids = vec!["A-v1".to_owned(), "ALE/B-v5".to_owned()];
        let twice = Plan::create(settings.clone(), vec![1, 2, 1], env_ids.clone(), true);
        assert!(twice.unwrap_err().to_string().contains("A-v1-seed1"));
        let plan = Plan::create(settings.clone(), vec![1, 2], env_ids, true).unwrap();
        let names: Vec<_> = plan.runs().into_iter().map(|run| run.name).collect();
        let expected = [
            "A-v1-seed1",
            "ALE-B-v5-seed1",
            "A-v1-seed2",
            "ALE-B-v5-seed2",
        ];
        assert_eq!(names, expected);
        let mut again = Plan::open(&plan.folder).unwrap();
        assert_eq!(again.runs(), plan.runs());
        assert_eq!(again.settings, plan.settings);
        let locked = plan.lock().unwrap();
        assert!(again.lock().is_err());
        drop(locked);
        let total = plan.settings.run.total_steps;
        let error = again.extend(total - 1).unwrap_err().to_string();
        assert!(error.contains("total_steps"), "{error}");
        assert!(again.extend(total + 1).unwrap());
        let extended = Plan::open(&plan.folder).unwrap();
        assert_eq!(extended.settings.run.total_steps, total + 1);
        assert!(Plan::open(runs.path()).is_err());
    }

    #[test]
    fn a_run_stands_where_its_last_whole_row_says() {
        let folder = tempfile::tempdir().unwrap();
        let run = PlannedRun {
            env_id: "A-v1".to_owned(),
            seed: 1,
            name: "a".to_owned(),
            folder: folder.path().to_owned(),
        };
        assert_eq!((run.step(), run.has_begun()), (0, false));
        let table = folder.path().join("updates.csv");
        fs::write(&table, "step,update\n256,1\n512,2\n76").unwrap();
        assert_eq!(run.step(), 512);
        fs::write(&table, "step,update\n").unwrap();
        assert_eq!(run.step(), 0);
        let checkpoints = folder.path().join("checkpoints");
        fs::create_dir(&checkpoints).unwrap();
        assert!(!run.is_finished(512));
        fs::write(checkpoints.join("step-000000000512.safetensors"), "").unwrap();
        assert!(run.is_finished(512) && !run.is_finished(513));
    }
}
