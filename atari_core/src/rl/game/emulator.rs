//! One game on its console, frame by frame, with sticky actions. No rules here.

use super::powered_on::{FIRST_SEED, ForOne, PoweredOn, Randomness};
use crate::{
    Action, Console, MersenneTwister, StartDraws,
    state::{BadState, Number, Tape},
};

/// What is pressed for a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pressed {
    /// A second player's is pressed in a game for two alone.
    pub(super) actions: [Action; 2],
    /// How far a paddle turns in a game for one, 0 to 1.
    pub(super) strength: f32,
}

impl Pressed {
    /// The same by all who play.
    pub(super) fn by_all(action: Action) -> Self {
        Self {
            actions: [action; 2],
            strength: 1.0,
        }
    }
}

pub(super) struct Emulator {
    powered_on: PoweredOn,
    pub(super) num_players: usize,
    /// The next game is the first on the console that was switched on.
    is_first: bool,
    /// With what a game for two is loaded then.
    seed: u32,
    pub(super) console: Console,
    /// Frames since the game began.
    pub(super) frames: i64,
    /// Probability, per frame, that the action before is repeated, as ALE compares it: from a float32.
    sticky: f64,
    /// Whether a number is drawn for each frame, or in a game for two one for each player.
    draws: bool,
    twister: MersenneTwister,
    held: Pressed,
}

impl Emulator {
    pub(super) fn new(powered_on: PoweredOn) -> Self {
        let (for_one, recipe) = (powered_on.0.for_one.as_ref(), powered_on.recipe());
        let draws_presses = for_one.is_some_and(|game| game.randomness == Randomness::Presses);
        Self {
            console: powered_on.console().clone(),
            draws: recipe.sticky_actions > 0.0 || draws_presses,
            sticky: f64::from(recipe.sticky_actions),
            num_players: powered_on.num_players(),
            powered_on,
            is_first: true,
            seed: FIRST_SEED,
            frames: 0,
            twister: MersenneTwister::new(0),
            held: Pressed::by_all(Action::Noop),
        }
    }

    /// Switches the console on anew, with random numbers from `seed`: some games remember those before them.
    pub(super) fn load(&mut self, seed: u32) {
        self.is_first = true;
        self.twister = MersenneTwister::new(seed);
        let consoles = self.powered_on.0.clone();
        match &consoles.for_one {
            // Those of `multi_agent_ale_py` have 31 bits, and 0 is the time.
            None => self.seed = (seed & 0x7fff_ffff).max(FIRST_SEED),
            Some(game) if game.randomness == Randomness::StickyActions => {
                let mut draws = StartDraws::new(&mut self.twister, self.sticky);
                self.console.clone_from(&game.off);
                self.console.load(None, &mut draws);
                self.console.mode = consoles.powered_on.mode;
                self.console.difficulty = consoles.powered_on.difficulty;
            }
            Some(game) => self.pass(game.load_draws),
        }
    }

    /// Passes over what is drawn for some frames.
    fn pass(&mut self, frames: u32) {
        for _ in 0..frames {
            self.twister.next_f64();
        }
    }

    pub(super) fn new_game(&mut self) {
        self.held = Pressed::by_all(Action::Noop);
        let consoles = self.powered_on.0.clone();
        if let Some(game) = &consoles.for_one {
            self.begin(game, &consoles.powered_on);
            // Not always 0: frames in which the start of a game chooses its mode are the game's for ALE.
            self.frames = self.console.episode_frame_number().into();
            return;
        }
        if std::mem::take(&mut self.is_first) {
            self.console.clone_from(&consoles.powered_on);
            self.console.load_for_two(self.seed);
        }
        self.console.reset();
        self.frames = 0; // as PettingZoo counts
    }

    /// Begins a game for one.
    fn begin(&mut self, game: &ForOne, powered_on: &Console) {
        if std::mem::take(&mut self.is_first) {
            match game.randomness {
                Randomness::None => {
                    self.console.clone_from(&game.first_game);
                    self.pass(game.first_draws);
                    return;
                }
                Randomness::StickyActions => {}
                Randomness::Presses => self.console.clone_from(powered_on),
            }
        }
        let mut draws = StartDraws::new(&mut self.twister, self.sticky);
        self.console.reset_with(&mut draws);
    }

    /// Emulates a frame and returns its rewards, of which a game for one has the first. Without `draw` the screen
    /// stays as it was.
    pub(super) fn act(&mut self, wanted: Pressed, draw: bool) -> [i32; 2] {
        self.frames += 1;
        if self.num_players == 2 {
            // Each player's sticks or not, the first one's drawn first.
            for (held, action) in self.held.actions.iter_mut().zip(wanted.actions) {
                if !self.draws || self.twister.next_f64() >= self.sticky {
                    *held = action;
                }
            }
            return self.console.act_both(self.held.actions, draw);
        }
        if !self.draws || self.twister.next_f64() >= self.sticky {
            self.held = wanted;
        }
        let [action, _] = self.held.actions;
        [self.console.act_paddle(action, self.held.strength, draw), 0]
    }

    /// Lives left, one number for both of a game for two; 0 where the game has none.
    pub(super) fn lives(&self) -> i32 {
        match self.num_players {
            2 => (self.console.game().lives_of_both)(self.console.lives_of_both()),
            _ => self.console.lives(),
        }
    }

    pub(super) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        self.console.walk(tape)?;
        tape.count(&mut self.frames)?;
        self.twister.walk(tape)?;
        tape.number(&mut self.held.actions)?;
        let strength = &mut self.held.strength;
        tape.within(strength, 0.0..=1.0, "how far a paddle turns")?;
        if tape.reads() {
            self.is_first = false;
        }
        Ok(())
    }
}

impl Number for Action {
    fn write(self, state: &mut Vec<u8>) {
        (self as usize).write(state);
    }

    fn read(state: &mut &[u8]) -> Result<Self, BadState> {
        let action = Self::from_index(usize::read(state)?);
        action.ok_or(BadState::Range("an action"))
    }
}
