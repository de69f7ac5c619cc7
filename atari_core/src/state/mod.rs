//! States as plain data: numbers, little endian, one after the other. Nothing in them runs, and whatever they say, what
//! reads them is left as it was or in a state that a game can be in.
//!
//! Each layer writes its own numbers behind those of the layer around it: a batch those of its environments, these
//! those of their consoles (`console`). A header stands before them once ([`Writer::new`]).

mod chips;
mod console;

pub(crate) use console::{ConsoleState, MOST_POINTS};

/// Changes with every change of what states hold, in any layer.
const VERSION: u32 = 8;

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
    #[error("it is of version {0}, and known is version {VERSION}: save it anew")]
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

/// Fails where a number is not as it must be.
pub(crate) fn check(holds: bool, what: &'static str) -> Result<(), BadState> {
    if holds {
        Ok(())
    } else {
        Err(BadState::Range(what))
    }
}

/// Goes over the numbers of a state, one way or the other, so that their order stands in one place.
pub(crate) trait Tape {
    fn bytes(&mut self, numbers: &mut [u8]) -> Result<(), BadState>;

    fn byte(&mut self, number: &mut u8) -> Result<(), BadState> {
        self.bytes(std::slice::from_mut(number))
    }

    fn flag(&mut self, value: &mut bool) -> Result<(), BadState> {
        let mut byte = u8::from(*value);
        self.byte(&mut byte)?;
        *value = byte != 0;
        check(byte < 2, "a flag")
    }

    fn half(&mut self, value: &mut u16) -> Result<(), BadState> {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes)?;
        *value = u16::from_le_bytes(bytes);
        Ok(())
    }

    fn word(&mut self, value: &mut u32) -> Result<(), BadState> {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes)?;
        *value = u32::from_le_bytes(bytes);
        Ok(())
    }

    fn int(&mut self, value: &mut i32) -> Result<(), BadState> {
        let mut word = value.cast_unsigned();
        self.word(&mut word)?;
        *value = word.cast_signed();
        Ok(())
    }
}

/// Appends numbers to bytes.
#[derive(Debug)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    /// Begins a state. `kind` is what two games must agree in to take each other's: `name=value` parts, one space apart.
    pub(crate) fn new(kind: &str) -> Self {
        let mut state = Self(Vec::with_capacity(1024));
        state.u32(VERSION);
        state.u32(kind.len() as u32);
        state.bytes(kind.as_bytes());
        state
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.bytes(&[u8::from(value)]);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u128(&mut self, value: u128) {
        self.bytes(&value.to_le_bytes());
    }
}

impl Tape for Writer {
    fn bytes(&mut self, numbers: &mut [u8]) -> Result<(), BadState> {
        Writer::bytes(self, numbers);
        Ok(())
    }
}

/// Takes numbers off bytes in the order in which a [`Writer`] put them there.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Opens a state, whose kind must be this one.
    pub(crate) fn new(state: &'a [u8], kind: &str) -> Result<Self, BadState> {
        let mut state = Self(state);
        match state.u32()? {
            VERSION => {}
            version => return Err(BadState::Version(version)),
        }
        let length = state.u32()? as usize;
        let saved = state.bytes(length)?;
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

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], BadState> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(BadState::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadState> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(BadState::Short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, BadState> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(BadState::Range("a flag")),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, BadState> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number up to `greatest`.
    pub(crate) fn index(&mut self, greatest: usize) -> Result<usize, BadState> {
        let index = self.u32()? as usize;
        check(index <= greatest, "a place")?;
        Ok(index)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, BadState> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// A sum that can go on growing: far from where 64 bits end.
    pub(crate) fn sum(&mut self) -> Result<i64, BadState> {
        let sum = self.i64()?;
        check(sum.unsigned_abs() < 1 << 62, "a count")?;
        Ok(sum)
    }

    /// A count that can go on growing, likewise.
    pub(crate) fn count(&mut self) -> Result<i64, BadState> {
        let count = self.sum()?;
        check(count >= 0, "a count")?;
        Ok(count)
    }

    pub(crate) fn u128(&mut self) -> Result<u128, BadState> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    /// Nothing may be left over.
    pub(crate) fn end(self) -> Result<(), BadState> {
        match self.0.len() {
            0 => Ok(()),
            count => Err(BadState::Long(count)),
        }
    }
}

impl Tape for Reader<'_> {
    fn bytes(&mut self, numbers: &mut [u8]) -> Result<(), BadState> {
        numbers.copy_from_slice(Reader::bytes(self, numbers.len())?);
        Ok(())
    }
}
