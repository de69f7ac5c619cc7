//! [`PoweredOn`]: a console with a game in it as the first game finds it, made once for all environments of a batch.

use std::sync::Arc;

use crate::{
    Action, Cartridge, Console, CoreError, MersenneTwister, StartDraws, rl::recipe::Recipe,
};

/// With what a game for two is loaded before a seed is given.
pub(super) const FIRST_SEED: u32 = 1;

/// A console as the first game by a recipe finds it: switched on, mode and difficulty set. Emulators of one game share it,
/// so that a seed costs a copy and not a start.
#[derive(Clone)]
pub struct PoweredOn(pub(super) Arc<Consoles>);

pub(super) struct Consoles {
    /// Checked: every part is in its range.
    pub(super) recipe: Recipe,
    pub(super) powered_on: Console,
    /// How a game for one begins. One for two is loaded with its seed.
    pub(super) for_one: Option<ForOne>,
}

/// How a game for one begins.
pub(super) struct ForOne {
    /// With which an emulator begins whose ROM is loaded with random numbers.
    pub(super) off: Console,
    /// After its first reset, which is the same each time where random numbers play no part in it.
    pub(super) first_game: Console,
    /// Frames for which it is drawn whether an action is repeated: in loading a ROM, and in beginning the first game.
    pub(super) load_draws: u32,
    pub(super) first_draws: u32,
    /// How games begin that random numbers play a part in.
    pub(super) randomness: Randomness,
}

/// Which part random numbers play in how a game begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Randomness {
    None,
    /// Sticky actions change what is pressed.
    StickyActions,
    /// They say for how long SELECT is pressed, and are drawn whether actions are sticky or not.
    Presses,
}

impl PoweredOn {
    /// Switches a console on.
    ///
    /// # Errors
    /// The ROM is no game of the table, or one that is not proved equal to ale-py's; the game has no such mode or difficulty;
    /// or a part of the recipe is out of its range.
    pub fn new(cartridge: &Arc<Cartridge>, recipe: &Recipe) -> Result<Self, CoreError> {
        let game = cartridge.game()?;
        if let Some(reason) = game.unproved {
            let game = game.name;
            return Err(CoreError::Unproved { game, reason });
        }
        Self::of(Console::off(cartridge.clone(), game, None)?, recipe)
    }

    /// The same of a console that was never switched on.
    pub(in crate::rl) fn of(off: Console, recipe: &Recipe) -> Result<Self, CoreError> {
        recipe.check().map_err(CoreError::Recipe)?;
        let mut twister = MersenneTwister::new(0);
        let (mut powered_on, mut draws) = (off.clone(), StartDraws::new(&mut twister, 0.0));
        powered_on.load(None, &mut draws);
        let load_draws = draws.frames;
        choose(&mut powered_on, recipe.mode, recipe.difficulty)?;
        let (mut first_game, mut draws) = (powered_on.clone(), StartDraws::new(&mut twister, 0.0));
        first_game.reset_with(&mut draws);
        let randomness = if draws.presses > 0 {
            Randomness::Presses
        } else if draws.frames > 0 && recipe.sticky_actions > 0.0 {
            Randomness::StickyActions
        } else {
            Randomness::None
        };
        let for_one = ForOne {
            off,
            first_game,
            load_draws,
            first_draws: draws.frames,
            randomness,
        };
        Ok(Self(Arc::new(Consoles {
            recipe: recipe.clone(),
            powered_on,
            for_one: Some(for_one),
        })))
    }

    /// Switches a console on for two players, in the mode that `PettingZoo` plays unless the recipe has another.
    ///
    /// # Errors
    /// The ROM is no game for two of the table, or one that is not proved equal to `multi_agent_ale_py`'s; the game has no
    /// such mode or difficulty for two; or a part of the recipe is out of its range, or its actions are polar.
    pub fn for_two(cartridge: &Arc<Cartridge>, recipe: &Recipe) -> Result<Self, CoreError> {
        let game = cartridge.game_for_two()?;
        if let Some(reason) = game.unproved {
            let game = game.name;
            return Err(CoreError::UnprovedForTwo { game, reason });
        }
        recipe.check().map_err(CoreError::Recipe)?;
        if recipe.continuous {
            let problem = "num_players=2 goes with button actions, not with continuous=true";
            return Err(CoreError::Recipe(problem.to_owned()));
        }
        let mut powered_on = Console::for_two(cartridge.clone(), game, FIRST_SEED)?;
        let default = game.default_mode.or(game.modes.first().copied());
        choose(&mut powered_on, recipe.mode.or(default), recipe.difficulty)?;
        Ok(Self(Arc::new(Consoles {
            recipe: recipe.clone(),
            powered_on,
            for_one: None,
        })))
    }

    /// Players of the game: 1 or 2.
    #[must_use]
    pub fn num_players(&self) -> usize {
        if self.0.for_one.is_some() { 1 } else { 2 }
    }

    /// The console.
    #[must_use]
    pub fn console(&self) -> &Console {
        &self.0.powered_on
    }

    /// How its games become episodes.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.0.recipe
    }

    /// The actions that the recipe gives an agent, in order.
    #[must_use]
    pub fn actions(&self) -> &'static [Action] {
        let (game, recipe) = (self.console().game(), self.recipe());
        if recipe.continuous || recipe.full_action_space {
            game.all_actions()
        } else {
            game.actions
        }
    }
}

/// Chooses what is named, for the games that begin from now on.
fn choose(
    console: &mut Console,
    mode: Option<u32>,
    difficulty: Option<u32>,
) -> Result<(), CoreError> {
    if let Some(mode) = mode {
        console.set_mode(mode)?;
    }
    if let Some(difficulty) = difficulty {
        console.set_difficulty(difficulty)?;
    }
    Ok(())
}
