//! How a mode is chosen before a game begins, after RESET was held. The frames between the presses count as the game's.

use super::ram::Ram;
use crate::action::Action;

/// How a mode is chosen.
#[derive(Clone, Copy, Debug)]
pub enum Select {
    /// SELECT is pressed until RAM shows the mode.
    Switch(Switch),
    /// SELECT is pressed until RAM shows one part of the mode, then the stick is held to the right until it shows the
    /// other. RESET is held before either.
    Stick {
        /// Frames for which SELECT is held each time.
        select_frames: u16,
        /// Whether RAM shows the part that SELECT chooses.
        shows: fn(Ram, i32) -> bool,
        /// Whether RAM shows the part that the stick chooses.
        points: fn(Ram, i32) -> bool,
    },
    /// SELECT opens a menu of options, each in a row of its own and either set (by the stick to the right) or not (to
    /// the left).
    Menu {
        /// The byte of RAM that holds the row that is pointed at.
        row: u8,
        /// The byte of RAM that shows what is set.
        byte: u8,
        /// Each option's row, its bit of the mode, and its bit of that byte.
        options: &'static [(u8, u32, u8)],
        /// What is pressed for a frame once RESET has closed the menu, if anything.
        then: Option<Action>,
    },
}

/// How SELECT is pressed until RAM shows the mode; a frame in which nothing is touched follows each press.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Frames for which RESET is held before.
    pub reset_frames: u16,
    /// Frames that pass untouched after that, and count as the game's.
    pub idle_frames: u16,
    /// Frames for which SELECT is held once before RAM is looked at; 0 for not at all.
    pub first_press: u16,
    /// How long SELECT is held each time after that.
    pub held: Held,
    /// When RAM shows a mode.
    pub shows: Shown,
}

/// How long SELECT is held.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    /// For so many frames each time.
    Frames(u16),
    /// For 2 to 257 frames, which one of ALE's random numbers decides; a frame in which an agent could act follows.
    Random,
}

/// When RAM shows a mode.
#[derive(Clone, Copy, Debug)]
pub enum Shown {
    /// When the byte at an address is what stands for the mode.
    At(u8, fn(i32) -> i32),
    /// By a rule of the game's own.
    If(fn(Ram, i32) -> bool),
}

impl Shown {
    pub(crate) fn by(self, ram: Ram, mode: i32) -> bool {
        match self {
            Shown::At(address, stands_for) => ram.at(address) == stands_for(mode),
            Shown::If(shows) => shows(ram, mode),
        }
    }
}

/// SELECT is held for some frames each time, until a byte of RAM is the mode.
pub(super) const fn select(frames: u16, address: u8) -> Select {
    Select::Switch(switch(frames, address))
}

/// The same until the byte is what stands for the mode.
pub(super) const fn select_as(frames: u16, address: u8, stands_for: fn(i32) -> i32) -> Select {
    Select::Switch(Switch {
        shows: Shown::At(address, stands_for),
        ..switch(frames, address)
    })
}

/// The same until a rule of the game's own finds the mode in RAM.
pub(super) const fn select_if(frames: u16, shows: fn(Ram, i32) -> bool) -> Select {
    Select::Switch(Switch {
        shows: Shown::If(shows),
        ..switch(frames, 0)
    })
}

/// What [`select`] has, for games that differ in more.
pub(super) const fn switch(frames: u16, address: u8) -> Switch {
    Switch {
        reset_frames: 4,
        idle_frames: 0,
        first_press: 0,
        held: Held::Frames(frames),
        shows: Shown::At(address, |mode| mode),
    }
}

/// `N` modes in a row.
pub(super) const fn modes_from<const N: usize>(first: u32) -> [u32; N] {
    let mut modes = [first; N];
    let mut index = 1;
    while index < N {
        modes[index] = modes[index - 1] + 1;
        index += 1;
    }
    modes
}
