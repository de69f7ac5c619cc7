//! Whether what is asked for fits into the memory that is left: said in a line before any of it is taken.

mod limits;
mod needs;

pub(crate) use limits::check_address_space;
use limits::shown;
pub(crate) use needs::{Envs, Need, of_run};

use crate::{error::TrainerError, ranks::launch::ranks_here, settings::Settings};

/// Refuses a run whose `needs` are more together than there is left. They are what it takes at least.
pub(crate) fn check_run(settings: &Settings, needs: &[Need]) -> Result<(), TrainerError> {
    match limits::left() {
        Some(left) => check_against(&left, settings, needs),
        None => Ok(()),
    }
}

fn check_against(
    left: &limits::Left,
    settings: &Settings,
    needs: &[Need],
) -> Result<(), TrainerError> {
    let of_all_ranks = |need: &Need| need.bytes.saturating_mul(ranks_here() as u64);
    let total = needs.iter().map(of_all_ranks).fold(0, u64::saturating_add);
    if total <= left.bytes {
        return Ok(());
    }
    let mut needs: Vec<&Need> = needs.iter().collect();
    needs.retain(|need| of_all_ranks(need) >= total / 20);
    let part = |need: &&Need| format!("{} {}", need.what, shown(of_all_ranks(need)));
    let parts: Vec<_> = needs.iter().map(part).collect();
    let table = settings.table();
    let with_value = |name: &str| {
        let value = table.get(name).map(crate::settings::fields::shown);
        format!("`{name}` ({})", value.unwrap_or_default())
    };
    let mut lower: Vec<&str> = needs.iter().flat_map(|need| need.lower).copied().collect();
    lower.sort_unstable();
    lower.dedup();
    let lower: Vec<_> = lower.into_iter().map(with_value).collect();
    let raise = needs.iter().find_map(|need| need.raise);
    let raise = raise.map(|name| format!(", or raise {}", with_value(name)));
    Err(TrainerError::Usage(format!(
        "the run needs {} of memory at least ({}), and {left}: lower {}{}",
        shown(total),
        parts.join(", "),
        lower.join(" or "),
        raise.unwrap_or_default()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Algorithm;

    #[test]
    fn a_run_that_does_not_fit_is_told_what_takes_most_and_what_helps() {
        let settings = Settings::defaults(Algorithm::Ppo);
        let need = |what, lower, raise, bytes| Need {
            what,
            lower,
            raise,
            bytes,
        };
        let needs = [
            need("environments", &["num_envs"], None, 400_000_000),
            need("a rollout", &["num_envs", "num_steps"], None, 600_000_000),
            need(
                "a minibatch",
                &["num_envs"],
                Some("num_minibatches"),
                100_000_000,
            ),
            need("what does not matter", &["seed"], None, 1_000_000),
        ];
        let left = |bytes| limits::Left {
            bytes,
            whose: "the machine has",
        };
        check_against(&left(1_101_000_000), &settings, &needs).unwrap();
        let error = check_against(&left(1_100_999_999), &settings, &needs);
        assert_eq!(
            error.unwrap_err().to_string(),
            "the run needs 1.1 GB of memory at least (environments 0.4 GB, a rollout 0.6 GB, a minibatch 0.1 GB), and \
             the machine has 1.1 GB left: lower `num_envs` (8) or `num_steps` (128), or raise `num_minibatches` (4)"
        );
    }
}
