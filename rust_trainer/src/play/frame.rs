//! [`Frame`]: what is shown at a time.

use atari_core::{Action, WIDTH};

use crate::policy::Outlook;

/// Red, green and blue of each palette entry.
pub(super) type Colours = [[u8; 3]; 256];

/// A frame of the console, and what is known beside it.
pub(crate) struct Frame<'a> {
    /// Palette entries, `[height, WIDTH]`.
    pub screen: &'a [u8],
    pub colours: &'a Colours,
    pub caption: &'a Caption,
    /// What the agent makes of the observation by which it chose; `None` before the first, and where nobody asks.
    pub outlook: Option<&'a Outlook>,
    /// What the outlook's actions are.
    pub actions: &'static [Action],
    /// Which of them is pressed.
    pub pressed: Option<usize>,
}

impl Frame<'_> {
    /// Lines of the picture.
    pub fn height(&self) -> usize {
        self.screen.len() / WIDTH
    }
}

#[cfg(test)]
impl<'a> Frame<'a> {
    /// One that nobody has an outlook on.
    pub fn of(screen: &'a [u8], colours: &'a Colours, caption: &'a Caption) -> Self {
        Self {
            screen,
            colours,
            caption,
            outlook: None,
            actions: &[],
            pressed: None,
        }
    }
}

/// Which game it is and how it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caption {
    /// The game, such as `space_invaders`.
    pub game: String,
    /// Its number, from 1.
    pub number: u64,
    /// Points of the player, and of the other one in a game for two.
    pub score: Vec<f64>,
    /// A person has the stick.
    pub is_human: bool,
    /// Nothing moves.
    pub is_paused: bool,
}

impl Caption {
    /// How the game stands: `Pong  game 1  score 12`.
    pub fn text(&self) -> String {
        let (title, score) = (self.title(), self.score_with(" : "));
        format!("{title}  game {}  score {score}", self.number)
    }

    /// The points of each player.
    pub fn score_with(&self, between: &str) -> String {
        let points = self.score.iter().map(|points| format!("{points:.0}"));
        points.collect::<Vec<_>>().join(between)
    }

    /// The game as people write it.
    pub fn title(&self) -> String {
        let words = self.game.split('_').map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(letters).collect::<String>()
            })
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Who plays.
    pub fn player(&self) -> &'static str {
        match (self.is_human, self.is_paused) {
            (true, false) => "you play",
            (true, true) => "you play, paused",
            (false, false) => "the agent plays",
            (false, true) => "the agent plays, paused",
        }
    }
}
