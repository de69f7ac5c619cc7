//! Where environments come from: `request` says what a run's settings ask for, `make` makes it, on the console in
//! Rust (`native`) or in Python. The rest are environments made of others: in groups that take turns, in a thread of
//! their own, games for two as each player's or against an opponent, such as past selves.

mod against_opponent;
mod checks;
mod env_thread;
mod groups;
mod make;
mod many_agents;
mod native;
mod opponent;
mod opponent_states;
mod own_thread;
mod past_selves;
mod policy_opponent;
mod request;
mod self_play;
mod staged;

pub use against_opponent::AgainstOpponent;
pub use checks::check;
pub(crate) use env_thread::EnvThread;
pub use groups::EnvGroups;
pub use make::{TrainingEnvs, against, env_seed, env_threads, for_evaluation, for_training};
pub(crate) use native::powered_on;
pub use opponent::{Opponent, RandomOpponent, Score, Scores};
pub(crate) use opponent_states::past_selves_in;
pub use past_selves::{DrawnOpponents, PastSelves};
pub use policy_opponent::PolicyOpponent;
pub(crate) use request::name_in_files;
pub use request::{EnvRequest, Recording};
pub(crate) use self_play::write_player;
pub use self_play::{NUM_PLAYERS, SelfPlay};
