//! What networks read of rows that show several agents.

use tch::Tensor;
use vec_env::ObsSpec;

use super::observed::Observed;
use crate::{
    error::TrainerError,
    settings::{AlgorithmSettings, Settings},
};

/// How the first axis of a row is divided: the agent's own observation, those of the others of its environment where the
/// value function reads them, and which agent it is where each has a network of its own. See `vec_env`'s `RowLayout`.
#[derive(Clone, Debug)]
pub struct AgentView {
    /// What the policy reads.
    pub own: ObsSpec,
    /// What the value function reads.
    pub shown: ObsSpec,
    /// Networks: 1, or one for each agent.
    pub num_nets: usize,
}

impl AgentView {
    /// Of rows that show a single agent.
    #[must_use]
    pub fn single(spec: &ObsSpec) -> Self {
        Self {
            own: spec.clone(),
            shown: spec.clone(),
            num_nets: 1,
        }
    }

    /// Of rows of `num_agents` agents, as `settings` ask for them.
    pub(crate) fn of(
        settings: &Settings,
        spec: &ObsSpec,
        num_agents: usize,
    ) -> Result<Self, TrainerError> {
        let (central, shared) = match &settings.algorithm {
            AlgorithmSettings::Ppo(ppo) => (ppo.central_critic, ppo.share_weights),
            _ => (false, true),
        };
        if num_agents == 1 {
            let problem = || "needs an environment in which several agents act at once".to_owned();
            return match (central, shared) {
                (true, _) => Err(TrainerError::setting("central_critic", true, problem())),
                (_, false) => Err(TrainerError::setting("share_weights", false, problem())),
                _ => Ok(Self::single(spec)),
            };
        }
        if !shared && settings.is_on("norm_obs") {
            let problem = "must be true with norm_obs, which would normalize which agent it is";
            return Err(TrainerError::setting(
                "share_weights",
                false,
                problem.to_owned(),
            ));
        }
        let (mut own, mut shown) = (spec.clone(), spec.clone());
        let num_nets = if shared { 1 } else { num_agents };
        if let Some(first) = shown.shape.first_mut() {
            *first -= if shared { 0 } else { num_agents };
            own.shape[0] = *first / if central { num_agents } else { 1 };
        }
        Ok(Self {
            own,
            shown,
            num_nets,
        })
    }

    /// Whether the value function reads more than the policy.
    #[must_use]
    pub fn is_central(&self) -> bool {
        self.own != self.shown
    }

    /// What the policy reads of rows.
    #[must_use]
    pub fn own(&self, rows: &Observed) -> Observed {
        first(rows, &self.own)
    }

    /// What the value function reads of rows.
    #[must_use]
    pub fn shown(&self, rows: &Observed) -> Observed {
        first(rows, &self.shown)
    }

    /// Which agent each row is of, float32 `[rows, agents]`, 1 in one place.
    pub fn agents(&self, rows: &Tensor) -> Tensor {
        let count = self.num_nets as i64;
        rows.narrow(1, rows.size()[1] - count, count)
    }
}

/// The first numbers of rows, as many as an observation of `spec` has; rows that have no more as they are.
fn first(rows: &Observed, spec: &ObsSpec) -> Observed {
    let length = spec.shape.first().map_or(0, |length| *length as i64);
    if rows.rows().0.size().get(1) == Some(&length) {
        return rows.into();
    }
    (&rows.tensor().narrow(1, 0, length)).into()
}
