//! A ROM as it lies in a cartridge: its bytes, what it is called, and how its banks are switched ([`banks`]).

mod banks;
mod dpc;

use std::path::Path;
use std::sync::Arc;

use md5::{Digest, Md5};

use crate::error::CoreError;
use crate::games::{self, Game};
use crate::mapper::Mapper;
pub(crate) use banks::Banks;

/// Room for the largest ROM; shorter ones repeat, so that no address needs a check.
pub(crate) type Image = [u8; IMAGE];
const IMAGE: usize = 0x8000;

/// A ROM that was read and is known to fit its bank switching. Shared by every console that plays it.
pub struct Cartridge {
    name: String,
    md5: String,
    rom: Vec<u8>,
    mapper: Mapper,
}

impl Cartridge {
    /// Reads a ROM; the table of games says by its MD5 how it is switched.
    ///
    /// # Errors
    /// The file cannot be read, or no game has its MD5.
    pub fn load(path: &Path) -> Result<Arc<Self>, CoreError> {
        let bytes = std::fs::read(path).map_err(|source| CoreError::Read {
            path: path.display().to_string(),
            source,
        })?;
        let name = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Self::from_bytes(&name, &bytes)
    }

    /// A ROM from memory; the table of games says by its MD5 how it is switched.
    ///
    /// # Errors
    /// No game has its MD5.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Arc<Self>, CoreError> {
        let md5 = digest(bytes);
        let game = games::by_md5(&md5)
            .or_else(|| games::two::by_md5(&md5))
            .ok_or_else(|| CoreError::Unknown {
                name: name.to_owned(),
                md5,
            })?;
        Self::with_mapper(name, bytes, game.mapper)
    }

    /// A ROM that the table of games need not know.
    ///
    /// # Errors
    /// The length is not one that `mapper` has.
    pub fn with_mapper(name: &str, bytes: &[u8], mapper: Mapper) -> Result<Arc<Self>, CoreError> {
        if !mapper.fits(bytes.len()) {
            return Err(CoreError::Length {
                name: name.to_owned(),
                length: bytes.len(),
                mapper,
            });
        }
        Ok(Arc::new(Self {
            name: name.to_owned(),
            md5: digest(bytes),
            rom: bytes.to_vec(),
            mapper,
        }))
    }

    /// What it is called: the file's name without its ending.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// MD5 of the ROM, in hexadecimal digits.
    #[must_use]
    pub fn md5(&self) -> &str {
        &self.md5
    }

    /// How its banks are switched.
    #[must_use]
    pub fn mapper(&self) -> Mapper {
        self.mapper
    }

    /// The bytes of the ROM.
    pub(crate) fn rom(&self) -> &[u8] {
        &self.rom
    }

    /// The game that it is.
    ///
    /// # Errors
    /// The table of games does not know it.
    pub fn game(&self) -> Result<&'static Game, CoreError> {
        games::by_md5(&self.md5).ok_or_else(|| CoreError::Unknown {
            name: self.name.clone(),
            md5: self.md5.clone(),
        })
    }

    /// The game for two that it is, or has among its modes.
    ///
    /// # Errors
    /// None is known.
    pub fn game_for_two(&self) -> Result<&'static Game, CoreError> {
        let game = games::two::by_md5(&self.md5);
        game.ok_or_else(|| CoreError::NotForTwo(self.name.clone()))
    }
}

fn digest(bytes: &[u8]) -> String {
    Md5::digest(bytes)
        .iter()
        .fold(String::new(), |digits, byte| {
            digits + &format!("{byte:02x}")
        })
}
