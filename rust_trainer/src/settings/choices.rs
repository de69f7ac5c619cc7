//! The settings that are a choice from a list, and how a command line and a file spell them.

use std::{fmt, str::FromStr};

use toml::Value;
use vec_env::AutoresetMode;

use super::fields::SettingType;

/// Makes an enum of settings whose variants have the names of their values.
macro_rules! choices {
    ($(#[$about:meta])+ pub enum $Name:ident {
        $( $(#[$meta:meta])+ $Choice:ident = $name:literal, )*
    }) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $Name {
            $( $(#[$meta])+ #[value(name = $name)] $Choice, )*
        }

        impl $Name {
            /// The name in files, on the command line, and in Python.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$Choice => $name, )* }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::settings::fields::SettingType for $Name {
            fn possible_values() -> Vec<clap::builder::PossibleValue> {
                <Self as clap::ValueEnum>::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value).collect()
            }

            fn to_value(&self) -> toml::Value {
                self.name().into()
            }

            fn from_value(value: &toml::Value) -> Result<Self, String> {
                let named = value.as_str().and_then(|name| <Self as clap::ValueEnum>::from_str(name, false).ok());
                named.ok_or_else(|| format!("must be one of {}", [$($name),*].join(", ")))
            }
        }
    };
}
pub(super) use choices;

choices! {
    /// What steps the environments; see `atari_wrappers.make_vec`.
    pub enum Backend {
        /// The first that can serve: `native` for games proved equal to ALE's, `ale`, `async` for images where there are
        /// cores enough, `sync`.
        Auto = "auto",
        /// ALE's C++ vector environment.
        Ale = "ale",
        /// Atari games on the console in Rust, without Python.
        Native = "native",
        /// Environments in this process, one after another.
        Sync = "sync",
        /// Environments in worker processes.
        Async = "async",
    }
}

choices! {
    /// When an ended episode gives way to the next; see [`vec_env::AutoresetMode`].
    pub enum Autoreset {
        /// In the step that ends it.
        SameStep = "same-step",
        /// In the step after, whose action counts for nothing, and which is learned from like any other.
        NextStep = "next-step",
    }
}

impl Autoreset {
    /// The same as environments have it.
    #[must_use]
    pub fn mode(self) -> AutoresetMode {
        match self {
            Self::SameStep => AutoresetMode::SameStep,
            Self::NextStep => AutoresetMode::NextStep,
        }
    }
}

choices! {
    /// What an Atari game shows.
    pub enum ObsType {
        /// Its screen, preprocessed by the recipe.
        Screen = "screen",
        /// The 128 bytes of the console's memory: small, and quick to learn from on a CPU.
        Ram = "ram",
    }
}

choices! {
    /// Number format of the network's forward and backward pass; weights are always kept in 32 bits.
    pub enum Precision {
        /// 32-bit floating point.
        Fp32 = "fp32",
        /// The same, with factors of products rounded to 10 bits of mantissa: faster, on a CUDA device.
        Tf32 = "tf32",
        /// bfloat16: faster where the processor has instructions for it, 8 bits of mantissa.
        Bf16 = "bf16",
        /// tf32 on a CUDA device, bf16 on a processor that is faster in it, else fp32.
        Auto = "auto",
    }
}

choices! {
    /// How games are preprocessed: the field's recipes, by the library that defines each.
    pub enum Recipe {
        /// ALE's; a lost life ends an episode, and the game goes on.
        Default = "default",
        /// Stable-Baselines3's.
        Baselines = "baselines",
        /// `CleanRL`'s.
        Cleanrl = "cleanrl",
        /// `AtariPreprocessing` and `FrameStackObservation`.
        Gymnasium = "gymnasium",
        /// `AtariVectorEnv`.
        Ale = "ale",
        /// `EnvPool`'s.
        Envpool = "envpool",
    }
}

choices! {
    /// What experiments are logged to, beside the run's own files.
    pub enum Track {
        /// Nothing else.
        None = "none",
        /// trackio, on this machine or in a Space.
        Trackio = "trackio",
        /// Weights & Biases.
        Wandb = "wandb",
        /// `MLflow`.
        Mlflow = "mlflow",
    }
}

choices! {
    /// How the past self is drawn that a game is played against.
    pub enum OpponentDraw {
        /// Each as often as any other.
        Uniform = "uniform",
        /// Always the newest.
        Latest = "latest",
        /// By the square of its share of the points against the learner: `AlphaStar`'s prioritized fictitious self-play.
        Prioritized = "prioritized",
    }
}

choices! {
    /// The initial weights of a network.
    pub enum Init {
        /// Orthogonal, with a gain for each layer (Saxe et al. 2014); biases zero.
        Orthogonal = "orthogonal",
        /// `PyTorch`'s default: weights and biases uniform up to 1/√inputs.
        Uniform = "uniform",
    }
}

choices! {
    /// The network that turns observations into features.
    pub enum Net {
        /// `nature` for images, `mlp` for flat observations.
        Auto = "auto",
        /// The CNN of Mnih et al. 2015, for images.
        Nature = "nature",
        /// The residual network of Espeholt et al. 2018, for images.
        Impala = "impala",
        /// Two hidden layers, for flat observations.
        Mlp = "mlp",
    }
}

choices! {
    /// What a network learns of the returns of an action.
    pub enum Distributional {
        /// Their mean.
        None = "none",
        /// Probabilities of fixed returns (Bellemare et al. 2017).
        C51 = "c51",
        /// Quantiles (Dabney et al. 2018).
        Quantile = "quantile",
        /// Quantiles at fractions that are drawn (IQN: Dabney et al. 2018, "Implicit quantile networks").
        Iqn = "iqn",
    }
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
        let choice = match text.split_once(':') {
            None if text == "auto" => Some(Self::Auto),
            None if text == "cpu" => Some(Self::Cpu),
            None if text == "cuda" => Some(Self::Cuda(0)),
            Some(("cuda", digits)) => digits.parse().ok().map(Self::Cuda),
            _ => None,
        };
        choice.ok_or_else(|| "must be auto, cpu, cuda or cuda:N".to_owned())
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

impl SettingType for DeviceChoice {
    fn to_value(&self) -> Value {
        self.to_string().into()
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        value.as_str().unwrap_or_default().parse()
    }
}
