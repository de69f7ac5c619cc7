//! [`LiveGame`]: a game that an agent, or a person, plays step by step, every frame of which is handed out.

use std::num::NonZeroU64;

use atari_core::{
    WIDTH,
    rl::{
        AtariEnv,
        game::{EnvAction, EnvStep, FilmedGames, PoweredOn},
        pixels::Palette,
    },
};
use rand_pcg::Pcg64;
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec};

use super::{
    controls::Controls,
    frame::{Caption, Colours, Frame},
    stick::Stick,
};
use crate::{
    data::Observations,
    envs::{self, NUM_PLAYERS},
    error::TrainerError,
    nn::Memory,
    policy::{Outlook, Policy},
    random::seeded_rng,
};

/// Shows a frame.
type Show<'a> = dyn FnMut(&Frame<'_>, &mut Controls) -> Result<(), TrainerError> + 'a;

/// A game that ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// Its number, from 1.
    pub number: u64,
    /// Raw return of each player.
    pub returns: Vec<f64>,
    /// Its length in agent steps.
    pub steps: i64,
    /// Its length in frames of the console, those before the first step included.
    pub frames: i64,
    /// A person had the stick in some of its steps.
    pub by_human: bool,
}

/// A game in play.
pub(crate) struct LiveGame<'policy> {
    env: AtariEnv,
    policy: &'policy dyn Policy,
    memory: Memory,
    rng: Pcg64,
    greedy: bool,
    /// Decides the first game; those that follow go on from it.
    seed: Option<u64>,
    observations: Observations,
    obs_spec: ObsSpec,
    colours: Box<Colours>,
    caption: Caption,
    by_human: bool,
}

impl<'policy> LiveGame<'policy> {
    /// A game on a console that was switched on, for a policy that learned from observations and actions of these
    /// kinds: those of one player in a game for two, whose both sides it plays.
    ///
    /// # Errors
    /// The game has other observations or actions.
    pub fn new(
        policy: &'policy dyn Policy,
        powered_on: &PoweredOn,
        (obs_spec, action_space): (&ObsSpec, &ActionSpace),
        seed: u64,
        greedy: bool,
    ) -> Result<Self, TrainerError> {
        let mut env = AtariEnv::new(powered_on);
        let every = NonZeroU64::MIN;
        env.film(FilmedGames {
            every,
            unfinished: true,
        });
        check(&env, obs_spec, action_space)?;
        let num_players = env.num_players();
        let game = env.console().game();
        let rgb = Palette::of(game).rgb_of(&std::array::from_fn::<u8, 256, _>(|entry| entry as u8));
        let mut colours = Box::new([[0; 3]; 256]);
        colours.copy_from_slice(rgb.as_chunks().0);
        Ok(Self {
            memory: policy.new_memory(num_players),
            observations: Observations::new(obs_spec, (1, num_players), 1, policy.device())?,
            caption: Caption {
                game: game.name.to_owned(),
                ..Caption::default()
            },
            obs_spec: obs_spec.clone(),
            seed: Some(envs::env_seed(seed)),
            rng: seeded_rng(seed),
            policy,
            greedy,
            colours,
            by_human: false,
            env,
        })
    }

    /// Begins a game, that of this number from 0; [`LiveGame::advance`] shows it.
    pub fn begin(&mut self, number: u64) {
        self.env.reset(self.seed.take(), false);
        self.memory = self.policy.new_memory(self.env.num_players());
        self.caption.number = number + 1;
        self.caption.score = vec![0.0; self.env.num_players()];
        self.by_human = false;
    }

    /// Takes a step and shows its frames, and those before it that none has shown; also what the agent makes of it, where
    /// that is wanted. What became of the game where it ended.
    pub fn advance(
        &mut self,
        controls: &mut Controls,
        show: &mut Show<'_>,
    ) -> Result<Option<Ended>, TrainerError> {
        self.show_frames(controls, None, None, show)?;
        self.observe();
        let obs = self.observations.row(0);
        let outlook = controls
            .values
            .then(|| self.policy.outlook(&obs, &self.memory));
        // The agent draws whoever plays: what it does after it got the stick back depends on its random numbers alone.
        let chosen = self
            .policy
            .act(&obs, &mut self.memory, &mut self.rng, self.greedy);
        self.caption.is_human = controls.is_human;
        self.by_human |= controls.is_human;
        let action = self.action(&chosen, controls);
        let step = self.env.step(action)?;
        for (score, reward) in self.caption.score.iter_mut().zip(step.raw_reward) {
            *score += f64::from(reward);
        }
        let pressed = match action {
            EnvAction::Index(index) | EnvAction::Pair([index, _]) => Some(index),
            EnvAction::Polar(_) => None,
        };
        self.show_frames(controls, outlook.as_ref(), pressed, show)?;
        Ok(self.ended(&step))
    }

    fn show_frames(
        &mut self,
        controls: &mut Controls,
        outlook: Option<&Outlook>,
        pressed: Option<usize>,
        show: &mut Show<'_>,
    ) -> Result<(), TrainerError> {
        let size = self.env.console().height() * WIDTH;
        for screen in self.env.take_film().pictures.chunks_exact(size) {
            let frame = Frame {
                screen,
                colours: &self.colours,
                caption: &self.caption,
                outlook,
                actions: self.env.actions(),
                pressed,
            };
            show(&frame, controls)?;
        }
        Ok(())
    }

    /// Writes what each player observes to where the network reads it.
    fn observe(&mut self) {
        let mut row = self.observations.lend(0);
        if self.env.num_players() == 1 {
            self.env.write_obs(&mut row);
            return;
        }
        let mut seen = vec![0; self.env.obs_shape().iter().product()];
        self.env.write_obs(&mut seen);
        let seen = seen.chunks_exact(seen.len() / NUM_PLAYERS);
        let rows = row.chunks_exact_mut(self.obs_spec.num_bytes());
        for (player, (seen, row)) in seen.zip(rows).enumerate() {
            envs::write_player(player, Dtype::Uint8, seen, row);
        }
    }

    /// What is done: what the agent has chosen, or a person in its place, who is the first of two players.
    fn action(&self, chosen: &ActionBatch, controls: &Controls) -> EnvAction {
        let stick = controls.is_human.then_some(controls.stick);
        match chosen {
            ActionBatch::Discrete(actions) => {
                let first = stick.map_or(actions[0] as usize, |stick| {
                    stick.index_in(self.env.actions())
                });
                match actions.get(1) {
                    Some(&second) => EnvAction::Pair([first, second as usize]),
                    None => EnvAction::Index(first),
                }
            }
            ActionBatch::Continuous(numbers) => {
                let [radius, angle, fire] = [0, 1, 2].map(|at: usize| numbers[at]);
                EnvAction::Polar(stick.map_or([radius, angle, fire], Stick::polar))
            }
        }
    }

    fn ended(&self, step: &EnvStep) -> Option<Ended> {
        let record = &step.record;
        (record.game_terminated || record.game_truncated).then(|| Ended {
            number: self.caption.number,
            returns: record.episode_return[..self.env.num_players()].to_vec(),
            steps: record.episode_length,
            frames: record.episode_frames,
            by_human: self.by_human,
        })
    }
}

/// Refuses a game that a policy cannot play: it has other observations or actions than it learned from.
fn check(env: &AtariEnv, obs_spec: &ObsSpec, actions: &ActionSpace) -> Result<(), TrainerError> {
    let game = env.console().game().name;
    let (mut shape, mut has) = (env.obs_shape(), env.action_space());
    if env.num_players() == NUM_PLAYERS {
        shape.remove(0);
        shape[0] += 1; // who the player is
        has = match has {
            ActionSpace::MultiDiscrete { nvec } => ActionSpace::Discrete { n: nvec[0] },
            other => other,
        };
    }
    let refuse = |what: String| {
        Err(TrainerError::Usage(format!(
            "the agent cannot play {game}: {what}"
        )))
    };
    if shape != obs_spec.shape {
        return refuse(format!(
            "it observes {:?}, the game shows {shape:?}",
            obs_spec.shape
        ));
    }
    if has != *actions {
        return refuse(format!(
            "it chooses from {} actions, the game has {}",
            count(actions),
            count(&has)
        ));
    }
    Ok(())
}

fn count(space: &ActionSpace) -> String {
    match space {
        ActionSpace::Discrete { n } => n.to_string(),
        _ => "continuous".to_owned(),
    }
}
