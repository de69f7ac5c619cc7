//! [`EnvRequest`]: what environments settings ask for, in the words of `atari_wrappers`.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use python_shim::{AtariRequest, MakeOptions};
use toml::Table;
use vec_env::EnvError;

use crate::{
    error::TrainerError,
    settings::{Autoreset, Backend, Recipe, Settings, fields::shown},
};

/// The settings that a recipe decides unless they are named, where games are learned and where they are played.
const OF_RECIPES: [&str; 10] = [
    "fire_reset",
    "obs_type",
    "noop_max",
    "frame_skip",
    "frame_stack",
    "sticky_actions",
    "full_action_space",
    "continuous",
    "continuous_action_threshold",
    "max_episode_frames",
];

/// Those that evaluation leaves out.
const OF_LEARNING: [&str; 2] = ["episodic_life", "clip_reward"];

/// What is saved of games that are played for evaluation.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Folder for every raw frame as PNG.
    pub img_dir: Option<PathBuf>,
    /// Folder for games as mp4.
    pub video_dir: Option<PathBuf>,
    /// Of each environment's games, the first and every n-th after it goes to `video_dir`; at least 1
    /// where that is set.
    pub record_every: u64,
}

impl Recording {
    fn has_pictures(&self) -> bool {
        self.img_dir.is_some() || self.video_dir.is_some()
    }
}

/// What a run's environments are to be. What an id means is Python's to say, which is asked at most once.
pub struct EnvRequest<'a> {
    pub(super) settings: &'a Settings,
    pub(super) backend: Backend,
    pub(super) autoreset: Autoreset,
    pub(super) options: MakeOptions,
    game: OnceCell<Result<Option<AtariRequest>, EnvError>>,
}

impl<'a> EnvRequest<'a> {
    /// The environments to learn in.
    #[must_use]
    pub fn for_training(settings: &'a Settings) -> Self {
        let autoreset = settings.env.autoreset;
        let mut options = options(settings, autoreset);
        set(&mut options, settings, &OF_LEARNING);
        if !settings.run.img_dir.as_os_str().is_empty() {
            set_folder(&mut options, "img_dir", &settings.run.img_dir);
        }
        Self::new(settings, settings.env.backend, autoreset, options)
    }

    /// Those to measure a policy in: whole games and raw rewards, whatever the recipe says.
    pub(super) fn for_evaluation(settings: &'a Settings, recording: &Recording) -> Self {
        let autoreset = Autoreset::SameStep;
        let mut options = options(settings, autoreset)
            .with("episodic_life", false)
            .with("clip_reward", false);
        let backend = match settings.env.backend {
            // Their threads write no raw frames; the same games run elsewhere.
            Backend::Ale | Backend::Native if recording.has_pictures() => Backend::Auto,
            backend => backend,
        };
        if let Some(folder) = &recording.img_dir {
            set_folder(&mut options, "img_dir", folder);
        }
        if let Some(folder) = &recording.video_dir {
            set_folder(&mut options, "video_dir", folder);
            options.set("record_every", recording.record_every as i64);
        }
        Self::new(settings, backend, autoreset, options)
    }

    pub(super) fn new(
        settings: &'a Settings,
        backend: Backend,
        autoreset: Autoreset,
        options: MakeOptions,
    ) -> Self {
        Self {
            settings,
            backend,
            autoreset,
            options,
            game: OnceCell::new(),
        }
    }

    pub(super) fn env_id(&self) -> &'a str {
        &self.settings.env.env_id
    }

    /// The Atari game and its recipe; `None` where it is no Atari game.
    pub(super) fn game(&self) -> Result<Option<&AtariRequest>, EnvError> {
        let game = self.game.get_or_init(|| self.resolve(&self.options));
        game.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    pub(super) fn is_atari(&self) -> Result<bool, EnvError> {
        if let Some(Ok(game)) = self.game.get() {
            return Ok(game.is_some());
        }
        // By its id alone: what is wrong with the options is said where the environments are made.
        Ok(self.resolve(&MakeOptions::new())?.is_some())
    }

    fn resolve(&self, options: &MakeOptions) -> Result<Option<AtariRequest>, EnvError> {
        // Gymnasium does not know environments with several agents.
        if self.settings.env.has_agents() {
            return Ok(None);
        }
        AtariRequest::resolve(self.env_id(), options)
    }

    /// Refuses an id that is known nowhere, before anything is made; what a server has is its own matter.
    ///
    /// # Errors
    /// As where the environments are made.
    pub fn check_id(&self) -> Result<(), TrainerError> {
        if self.settings.env.remote.is_empty() {
            self.is_atari()?;
        }
        Ok(())
    }

    /// Whether pictures of what is played are saved.
    pub(super) fn has_pictures(&self) -> bool {
        let mut options = self.options.settings().iter();
        options.any(|(name, _)| ["img_dir", "video_dir"].contains(&name.as_str()))
    }

    /// Refuses a recipe that was asked for, and parts of one, where nothing reads them.
    ///
    /// # Errors
    /// [`TrainerError::Setting`] for environments that are no Atari games.
    pub fn check_recipe(&self) -> Result<(), TrainerError> {
        let has_agents = self.settings.env.has_agents();
        let recipe = self.settings.env.recipe;
        // What is wrong with the id, or with a part, is said where the environments are made.
        if !has_agents && (recipe == Recipe::Default || self.is_atari() != Ok(false)) {
            return Ok(());
        }
        let refuse = |name, value: String| {
            let problem = format!("is not read: `{}` is no Atari game", self.env_id());
            Err(TrainerError::setting(name, value, problem))
        };
        if recipe != Recipe::Default {
            return refuse("recipe", recipe.name().to_owned());
        }
        if has_agents {
            let parts = OF_RECIPES.iter().chain(&OF_LEARNING);
            // Some have continuous actions, which are asked for in the same way.
            let mut others = parts.filter(|name| **name != "continuous");
            let given = parts_of_recipe(self.settings);
            if let Some(name) = others.find(|name| given.contains_key(**name)) {
                return refuse(name, shown(&given[*name]));
            }
        }
        Ok(())
    }
}

/// An environment's id as a part of files' names: Gymnasium's may hold `/` and `:`, a mistake anything.
pub(crate) fn name_in_files(env_id: &str) -> String {
    const LONGEST: usize = 80;
    let plain = |letter: char| letter.is_control() || ['/', ':'].contains(&letter);
    env_id.replace(plain, "-").chars().take(LONGEST).collect()
}

fn options(settings: &Settings, autoreset: Autoreset) -> MakeOptions {
    let env = &settings.env;
    let mut options = MakeOptions::new()
        .with("autoreset", autoreset.name())
        .with("preset", env.recipe.name());
    set(&mut options, settings, &OF_RECIPES);
    if env.num_players > 1 {
        options.set("num_players", env.num_players as i64);
    }
    options
}

fn set_folder(options: &mut MakeOptions, name: &str, folder: &Path) {
    options.set(name, folder.to_string_lossy().into_owned());
}

/// What settings of environments say, unless that is left to the recipe.
fn parts_of_recipe(settings: &Settings) -> Table {
    let mut table = Table::new();
    settings.env.write_to(&mut table);
    table.retain(|_, value| value.as_str() != Some("recipe"));
    table
}

/// Passes on what settings say of these names, which Python has, too.
fn set(options: &mut MakeOptions, settings: &Settings, names: &[&str]) {
    let given = parts_of_recipe(settings);
    for &name in names {
        match given.get(name) {
            Some(toml::Value::Boolean(flag)) => options.set(name, *flag),
            Some(toml::Value::Integer(number)) => options.set(name, *number),
            Some(toml::Value::Float(number)) => options.set(name, *number),
            Some(toml::Value::String(text)) => options.set(name, text.as_str()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Algorithm, EnvSettings, FireReset, ObsType, OrRecipe};

    fn names(options: &MakeOptions) -> Vec<&str> {
        let settings = options.settings().iter();
        settings.map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn only_what_is_named_reaches_python_beside_the_recipe() {
        let settings = Settings::defaults(Algorithm::Ppo);
        let always = ["autoreset", "preset"];
        assert_eq!(names(&options(&settings, Autoreset::NextStep)), always);
        let settings = Settings {
            env: EnvSettings {
                recipe: Recipe::Baselines,
                noop_max: OrRecipe::Value(0),
                fire_reset: OrRecipe::Value(FireReset::Off),
                sticky_actions: OrRecipe::Value(0.25),
                continuous: OrRecipe::Value(true),
                continuous_action_threshold: OrRecipe::Value(0.3),
                obs_type: OrRecipe::Value(ObsType::Ram),
                ..settings.env
            },
            ..settings
        };
        let options = options(&settings, Autoreset::NextStep);
        let given = [
            "fire_reset",
            "obs_type",
            "noop_max",
            "sticky_actions",
            "continuous",
            "continuous_action_threshold",
        ];
        assert_eq!(names(&options), [always.as_slice(), &given].concat());
        let value = |name: &str| {
            let mut settings = options.settings().iter();
            let found = settings.find(|(given, _)| given == name);
            found.map(|(_, value)| value.clone())
        };
        assert_eq!(value("autoreset"), Some("next-step".into()));
        assert_eq!(value("preset"), Some("baselines".into()));
        assert_eq!(value("fire_reset"), Some(false.into()));
        assert_eq!(value("noop_max"), Some(0.into()));
        assert_eq!(value("sticky_actions"), Some(0.25.into()));
        assert_eq!(value("continuous"), Some(true.into()));
        assert_eq!(value("continuous_action_threshold"), Some(0.3.into()));
        assert_eq!(value("obs_type"), Some("ram".into()));
    }
}
