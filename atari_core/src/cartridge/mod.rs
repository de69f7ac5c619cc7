//! A ROM as it lies in a cartridge: its bytes, what it is called, and how its banks are switched ([`banks`]).

mod banks;
mod dpc;

use std::path::Path;
use std::sync::Arc;

use md5::{Digest, Md5};

use crate::cpu::{Instruction, Program};
use crate::mapper::Mapper;
use crate::{CoreError, Game, games};
pub(crate) use banks::Banks;
pub(crate) use dpc::Dpc;

/// Room for the largest ROM; shorter ones repeat, so that no address needs a check.
pub(crate) const IMAGE: usize = 0x8000;

/// What a ROM says, wherever the processor may begin to read it.
pub(crate) struct Image {
    pub(crate) bytes: [u8; IMAGE],
    pub(crate) program: Program<IMAGE>,
}

impl Image {
    /// Of a ROM that repeats.
    fn new(rom: &[u8], mapper: Mapper) -> Arc<Self> {
        let byte = |at: usize| rom[at % rom.len()];
        let instruction = |at: usize| {
            let in_bank = at as u32 & 0xfff;
            let bytes = [byte(at), byte(at + 1), byte(at + 2)];
            Instruction::in_piece(bytes, in_bank, &mapper.piece(in_bank))
        };
        let length = rom.len().max(0x1000);
        let instructions: Vec<_> = (0..length).map(instruction).collect();
        Arc::new(Self {
            bytes: std::array::from_fn(byte),
            program: Program::new(&instructions),
        })
    }
}

/// A ROM that was read and is known to fit its bank switching. Shared by every console that plays it.
pub struct Cartridge {
    name: String,
    md5: String,
    length: usize,
    mapper: Mapper,
    image: Arc<Image>,
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
            length: bytes.len(),
            mapper,
            image: Image::new(bytes, mapper),
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

    /// The length of the ROM in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
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

    pub(crate) fn image(&self) -> &Arc<Image> {
        &self.image
    }
}

/// Zeros on the heap, not by way of the stack.
#[allow(clippy::unnecessary_box_returns)]
pub(crate) fn zeros<const N: usize>() -> Box<[u8; N]> {
    match vec![0; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("a vector of N is an array of N"),
    }
}

fn digest(bytes: &[u8]) -> String {
    Md5::digest(bytes)
        .iter()
        .fold(String::new(), |digits, byte| {
            digits + &format!("{byte:02x}")
        })
}
