//! Saved states as plain bytes: numbers, little-endian, one after the other. Nothing in them runs.

/// Why bytes are no state; where a state comes from is said by whoever reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadState {
    /// The bytes end too early.
    #[error("its bytes end too early")]
    Short,
    /// There are more bytes than a state has.
    #[error("it has {0} bytes too many")]
    Long(usize),
    /// It was saved by a console of another game or version.
    #[error("its console is of another game or version")]
    Console,
    /// It was saved by another game, recipe or version.
    #[error("it is of another game, recipe or version")]
    Kind,
    /// A number is out of range.
    #[error("it was damaged: a number is out of range")]
    Range,
}

/// Appends numbers to bytes.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Bytes whose number is not known beforehand.
    pub(crate) fn counted(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.bytes(bytes);
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

/// Takes numbers off bytes in the order in which a [`Writer`] put them there.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], BadState> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(BadState::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn counted(&mut self) -> Result<&'a [u8], BadState> {
        let count = self.u32()?;
        self.bytes(count as usize)
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
            _ => Err(BadState::Range),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, BadState> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number up to `greatest`.
    pub(crate) fn count(&mut self, greatest: usize) -> Result<usize, BadState> {
        let count = self.u32()? as usize;
        if count > greatest {
            return Err(BadState::Range);
        }
        Ok(count)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, BadState> {
        Ok(i64::from_le_bytes(self.array()?))
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
