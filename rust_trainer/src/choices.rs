//! The settings that are a choice from a list, and how a command line and a file spell them.

use std::{fmt, str::FromStr};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The learning algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Proximal policy optimization.
    Ppo,
    /// Advantage actor-critic, the synchronous A3C.
    A2c,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ppo => "PPO",
            Self::A2c => "A2C",
        })
    }
}

/// What steps the environments; see `atari_wrappers.make_vec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// `ale` where it can serve what is asked, `sync` otherwise.
    Auto,
    /// ALE's C++ vector environment.
    Ale,
    /// Environments in this process, one after another.
    Sync,
    /// Environments in worker processes.
    Async,
}

impl Backend {
    /// The name in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ale => "ale",
            Self::Sync => "sync",
            Self::Async => "async",
        }
    }
}

/// Number format of the network's forward and backward pass; weights are always kept in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    Fp32,
    /// bfloat16: faster where the processor has instructions for it, 8 bits of mantissa.
    Bf16,
}

/// Where the network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device if there is one, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this index.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let index = |digits: &str| {
            digits
                .parse()
                .map_err(|_| format!("`{digits}` is not a device index"))
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", digits)) => index(digits).map(Self::Cuda),
            _ => Err("expected `auto`, `cpu`, `cuda` or `cuda:N`".to_owned()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Cpu => write!(f, "cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl Serialize for DeviceChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
