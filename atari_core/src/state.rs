//! States as plain data: numbers, little endian, one after the other. Nothing in them runs, and whatever they say, what
//! reads them is left as it was or in a state that a game can be in.
//!
//! Whatever has a state has a `walk`, which visits each of its numbers and says what these can be. The same walk writes a
//! state, checks one and reads it ([`Tape`]). A header stands before the numbers once.

use std::ops::RangeBounds;

/// Changes with every change of what states hold, in any layer.
const VERSION: u32 = 10;

/// Scores, and what rules remember beside them, lie far below: sums of two cannot overflow.
pub(crate) const MOST_POINTS: i32 = 1 << 28;

/// Why bytes are no state; where a state comes from is said by whoever reports it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadState {
    /// The bytes end too early.
    #[error("its bytes end too early")]
    Short,
    /// There are more bytes than a state has.
    #[error("it has {0} bytes too many")]
    Long(usize),
    /// It was saved by another version of this crate, or is no state.
    #[error("it is of version {0}, and known is version {VERSION}: save it again")]
    Version(u32),
    /// It was saved with another ROM or by another recipe.
    #[error("it was saved with {saved}, and here is {here}")]
    Kind {
        /// The first part that differs, as it was.
        saved: String,
        /// The same part here.
        here: String,
    },
    /// An environment that waits for a reset, where none ever does.
    #[error("it is of an ended episode, which same-step mode has not")]
    Ended,
    /// A number is out of range, or does not fit the others.
    #[error("it was damaged: {0} is out of range")]
    Range(&'static str),
}

/// The state of what `walk` goes over. `kind` is what two games must agree in to take each other's: `name=value` parts, one
/// space apart.
pub(crate) fn save(
    kind: &str,
    walk: impl FnOnce(&mut Tape<'_>) -> Result<(), BadState>,
) -> Vec<u8> {
    let mut state = Vec::with_capacity(1024);
    VERSION.write(&mut state);
    (kind.len() as u32).write(&mut state);
    state.extend_from_slice(kind.as_bytes());
    // What is written is not checked, and nothing else fails.
    let _written = walk(&mut Tape::Write(&mut state));
    state
}

/// Whether [`restore`] would take a state.
pub(crate) fn check(
    state: &[u8],
    kind: &str,
    walk: impl FnOnce(&mut Tape<'_>) -> Result<(), BadState>,
) -> Result<(), BadState> {
    let mut tape = Tape::Check(numbers(state, kind)?);
    walk(&mut tape)?;
    match tape {
        Tape::Check(rest @ [_, ..]) => Err(BadState::Long(rest.len())),
        _ => Ok(()),
    }
}

/// Brings what `walk` goes over to a state that [`save`] returned. A state that is refused has changed nothing.
pub(crate) fn restore(
    state: &[u8],
    kind: &str,
    mut walk: impl FnMut(&mut Tape<'_>) -> Result<(), BadState>,
) -> Result<(), BadState> {
    check(state, kind, &mut walk)?;
    walk(&mut Tape::Read(numbers(state, kind)?))
}

/// What follows the header of a state, whose kind must be this one.
fn numbers<'a>(mut state: &'a [u8], kind: &str) -> Result<&'a [u8], BadState> {
    match u32::read(&mut state)? {
        VERSION => {}
        version => return Err(BadState::Version(version)),
    }
    let length = u32::read(&mut state)? as usize;
    let saved = take(&mut state, length)?;
    if saved == kind.as_bytes() {
        return Ok(state);
    }
    let saved = String::from_utf8_lossy(saved);
    let mut saved = saved.split(' ').map(str::to_owned);
    let mut here = kind.split(' ').map(str::to_owned);
    loop {
        let (saved, here) = (saved.next(), here.next());
        if saved != here {
            let nothing = || "nothing".to_owned();
            let (saved, here) = (saved.unwrap_or_else(nothing), here.unwrap_or_else(nothing));
            return Err(BadState::Kind { saved, here });
        }
    }
}

fn take<'a>(state: &mut &'a [u8], count: usize) -> Result<&'a [u8], BadState> {
    let (bytes, rest) = state.split_at_checked(count).ok_or(BadState::Short)?;
    *state = rest;
    Ok(bytes)
}

/// What a walk takes along, and does at each number.
pub(crate) enum Tape<'a> {
    /// Appends it to a state.
    Write(&'a mut Vec<u8>),
    /// Takes what it would become off a state, and leaves it as it is.
    Check(&'a [u8]),
    /// Takes it off a state that was checked.
    Read(&'a [u8]),
}

impl Tape<'_> {
    /// Whether numbers change: what follows from them must, too.
    pub(crate) fn reads(&self) -> bool {
        matches!(self, Self::Read(_))
    }

    /// Visits a number, and returns it: of a state that is checked or read, the one that is there.
    pub(crate) fn number<T: Number>(&mut self, place: &mut T) -> Result<T, BadState> {
        match self {
            Self::Write(state) => place.write(state),
            Self::Check(state) => return T::read(state),
            Self::Read(state) => *place = T::read(state)?,
        }
        Ok(*place)
    }

    /// Visits a number that must lie in a range.
    pub(crate) fn within<T: Number + PartialOrd>(
        &mut self,
        place: &mut T,
        range: impl RangeBounds<T>,
        what: &'static str,
    ) -> Result<T, BadState> {
        let number = self.number(place)?;
        self.check(range.contains(&number), what)?;
        Ok(number)
    }

    /// Visits a sum that can go on growing: far from where 64 bits end.
    pub(crate) fn sum(&mut self, place: &mut i64) -> Result<i64, BadState> {
        self.within(place, -(1 << 62)..1 << 62, "a count")
    }

    /// Visits a count that can go on growing, likewise.
    pub(crate) fn count(&mut self, place: &mut i64) -> Result<i64, BadState> {
        self.within(place, 0..1 << 62, "a count")
    }

    /// Visits bytes, which may be any.
    pub(crate) fn bytes(&mut self, place: &mut [u8]) -> Result<(), BadState> {
        match self {
            Self::Write(state) => state.extend_from_slice(place),
            Self::Check(state) => drop(take(state, place.len())?),
            Self::Read(state) => place.copy_from_slice(take(state, place.len())?),
        }
        Ok(())
    }

    /// Fails where numbers of a state are not as they must be.
    pub(crate) fn check(&self, holds: bool, what: &'static str) -> Result<(), BadState> {
        if holds || matches!(self, Self::Write(_)) {
            Ok(())
        } else {
            Err(BadState::Range(what))
        }
    }
}

/// A number as bytes, or several.
pub(crate) trait Number: Copy {
    /// Appends it.
    fn write(self, state: &mut Vec<u8>);

    /// Takes it off the beginning.
    fn read(state: &mut &[u8]) -> Result<Self, BadState>;
}

macro_rules! numbers {
    ($($number:ty)+) => { $(
        impl Number for $number {
            fn write(self, state: &mut Vec<u8>) {
                state.extend_from_slice(&self.to_le_bytes());
            }

            fn read(state: &mut &[u8]) -> Result<Self, BadState> {
                let (bytes, rest) = state.split_first_chunk().ok_or(BadState::Short)?;
                *state = rest;
                Ok(Self::from_le_bytes(*bytes))
            }
        }
    )+ };
}

numbers!(u8 u16 u32 i32 i64 u128 f32 f64);

impl Number for bool {
    fn write(self, state: &mut Vec<u8>) {
        u8::from(self).write(state);
    }

    fn read(state: &mut &[u8]) -> Result<Self, BadState> {
        match u8::read(state)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadState::Range("a flag")),
        }
    }
}

/// A place in a table: 32 bits wherever it is saved.
impl Number for usize {
    fn write(self, state: &mut Vec<u8>) {
        (self as u32).write(state);
    }

    fn read(state: &mut &[u8]) -> Result<Self, BadState> {
        Ok(u32::read(state)? as Self)
    }
}

impl<T: Number + Default, const N: usize> Number for [T; N] {
    fn write(self, state: &mut Vec<u8>) {
        for number in self {
            number.write(state);
        }
    }

    fn read(state: &mut &[u8]) -> Result<Self, BadState> {
        let mut numbers = [T::default(); N];
        for number in &mut numbers {
            *number = T::read(state)?;
        }
        Ok(numbers)
    }
}

/// As long whether it is there or not.
impl<T: Number + Default + PartialEq> Number for Option<T> {
    fn write(self, state: &mut Vec<u8>) {
        self.is_some().write(state);
        self.unwrap_or_default().write(state);
    }

    fn read(state: &mut &[u8]) -> Result<Self, BadState> {
        let (is_some, number) = (bool::read(state)?, T::read(state)?);
        if !is_some && number != T::default() {
            return Err(BadState::Range("what is not there"));
        }
        Ok(is_some.then_some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_in_one_way() {
        let mut state = Vec::new();
        None::<u32>.write(&mut state);
        assert_eq!(Option::<u32>::read(&mut &*state), Ok(None));
        state[1] = 1;
        assert!(Option::<u32>::read(&mut &*state).is_err());
    }
}
