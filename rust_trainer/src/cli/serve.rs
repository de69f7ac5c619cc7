//! `serve` and `serve-policy`: environments and policies over a socket. Python's packages serve them, and say what the
//! commands take.

use python_shim::Value;

use super::output::EXIT_OK;
use crate::error::TrainerError;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct ServeArgs {
    /// What is served, and how: `--help` lists it
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<String>,
}

pub(super) fn serve(command: &str, args: &ServeArgs) -> Result<i32, TrainerError> {
    let given = [
        ("command", command.into()),
        ("arguments", args.arguments.clone().into()),
    ];
    match python_shim::call("rust_trainer.commands", "serve", &given)? {
        Value::Int(status) => Ok(status as i32),
        _ => Ok(EXIT_OK),
    }
}
