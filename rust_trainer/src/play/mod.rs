//! A trained agent plays to be watched: in a window, in the terminal, or into a file.
//!
//! `game` plays, on the console in Rust, and hands out each frame of it with what the agent makes of it. A [`Display`]
//! shows frames: `window` and `terminal` at the game's own speed, hearing keys; `gif`, `pictures` and `video` as fast as
//! they are written. `canvas` makes a frame larger and puts the `panel` of the agent's numbers beside it; `stick` is the
//! joystick of a person who takes over.

mod canvas;
mod controls;
mod frame;
mod game;
mod gif;
mod panel;
mod pictures;
mod stick;
mod terminal;
mod video;
mod window;

use std::path::{Path, PathBuf};

pub(crate) use controls::Controls;
pub(crate) use game::{Ended, LiveGame};

use crate::{error::TrainerError, stop::StopRequest};
use frame::{Caption, Frame};

/// Frames that the console shows in a second.
const FRAMES_PER_SECOND: f64 = 60.0;

/// Where frames go.
pub(crate) trait Display {
    /// Shows the next frame. What a user asks for meanwhile is in `controls` then.
    fn show(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError>;

    /// Shows it a moment longer, where play stands still.
    fn hold(&mut self, _: &Frame<'_>, _: &mut Controls) -> Result<(), TrainerError> {
        Ok(())
    }

    /// Ends what is shown; says what is there now, if anything is.
    fn finish(self: Box<Self>) -> Result<Option<String>, TrainerError> {
        Ok(None)
    }
}

/// Where a game is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A window of the desktop.
    Window,
    /// The terminal.
    Terminal,
    /// A film with that name, which ends in `.mp4`.
    Video(PathBuf),
    /// A picture that moves; its name ends in `.gif`.
    Gif(PathBuf),
    /// A folder for a PNG of each frame.
    Pictures(PathBuf),
}

/// How large a file's pictures are, and which frames are in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filming {
    /// Lines for each of the console's; `None` for the display's own choice.
    pub scale: Option<usize>,
    /// Times as fast as the console.
    pub speed: f64,
}

impl Target {
    /// Whether somebody looks on, with keys at hand.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Window | Self::Terminal)
    }

    /// The display.
    pub fn open(&self, filming: Filming) -> Result<Box<dyn Display>, TrainerError> {
        Ok(match self {
            Self::Window => Box::new(window::Window::default()),
            Self::Terminal => Box::new(terminal::InTerminal::default()),
            Self::Video(path) => Box::new(video::Video::new(path, filming)?),
            Self::Gif(path) => Box::new(gif::Gif::create(path, filming)?),
            Self::Pictures(folder) => Box::new(pictures::Pictures::create(folder, filming)?),
        })
    }
}

/// Which frames are shown, counted over all games.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The first one.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Cut {
    /// From the frame `first` on, and so many seconds of the console; `None`: all of them.
    pub fn of(first: u64, seconds: Option<f64>) -> Self {
        let count = |seconds: f64| (seconds * FRAMES_PER_SECOND).round() as u64;
        Self {
            first,
            count: seconds.map_or(u64::MAX, count),
        }
    }
}

/// Plays up to `num_games` games, until all frames of the `cut` are shown, the user leaves, or a stop is asked for.
pub(crate) fn play(
    game: &mut LiveGame<'_>,
    num_games: Option<u64>,
    cut: Cut,
    display: &mut dyn Display,
    controls: &mut Controls,
    stop: &StopRequest,
    mut on_game: impl FnMut(&Ended) -> Result<(), TrainerError>,
) -> Result<(), TrainerError> {
    let (mut number, mut frames) = (0, 0);
    while num_games.is_none_or(|count| number < count) {
        game.begin(number);
        loop {
            let ended = game.advance(controls, &mut |frame, controls| {
                let is_in = frames >= cut.first && frames - cut.first < cut.count;
                frames += 1;
                if is_in {
                    display.show(frame, controls)?;
                    while controls.holds() && !stop.is_asked() {
                        // The stick is handed over at once, and not with the next step.
                        let caption = Caption {
                            is_human: controls.is_human,
                            is_paused: true,
                            ..frame.caption.clone()
                        };
                        display.hold(
                            &Frame {
                                caption: &caption,
                                ..*frame
                            },
                            controls,
                        )?;
                    }
                }
                Ok(())
            })?;
            let is_cut = frames.saturating_sub(cut.first) >= cut.count;
            if controls.leaves || is_cut || stop.is_asked() {
                return Ok(());
            }
            if let Some(ended) = ended {
                on_game(&ended)?;
                break;
            }
        }
        number += 1;
    }
    Ok(())
}

/// Plays the first `seconds` of a game and writes a GIF; `false` where a stop was asked for meanwhile, and there is none.
pub(crate) fn clip(
    game: &mut LiveGame<'_>,
    seconds: f64,
    path: &Path,
    stop: &StopRequest,
) -> Result<bool, TrainerError> {
    let filming = Filming {
        scale: None,
        speed: 1.0,
    };
    let mut gif = Target::Gif(path.to_owned()).open(filming)?;
    let cut = Cut::of(0, Some(seconds));
    let mut controls = Controls::new(false, false, filming.speed);
    play(game, Some(1), cut, &mut *gif, &mut controls, stop, |_| {
        Ok(())
    })?;
    Ok(!stop.is_asked() && gif.finish()?.is_some())
}

/// Refuses to write over a file.
fn refuse_existing(path: &Path) -> Result<(), TrainerError> {
    if path.exists() {
        let path = path.display();
        return Err(TrainerError::Usage(format!(
            "`{path}` exists; choose another name"
        )));
    }
    Ok(())
}
