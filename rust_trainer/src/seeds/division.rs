//! How runs share the machine.

use std::fmt;

use crate::{device::available_cores, settings::Settings};

/// What each of several runs gets of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Runs at work at a time.
    pub jobs: usize,
    /// Threads of libtorch of each.
    pub torch_threads: i32,
    /// Threads or processes that step the environments of each.
    pub env_threads: i64,
    /// Cores that there are.
    pub cores: i64,
}

impl Division {
    /// As many runs at a time as there are cores, or as the threads that the settings name leave room for;
    /// what cores are left over become threads. A run steps its environments and learns in turns, so the
    /// larger of its two numbers of threads is what it needs.
    pub fn of(settings: &Settings, runs: usize, jobs: Option<usize>) -> Self {
        Self::among(available_cores(), settings, runs, jobs)
    }

    /// Writes the threads into `settings`, so that who goes on with the runs divides no other way.
    pub fn fix_threads(&self, settings: &mut Settings) {
        settings.machine.torch_threads = self.torch_threads;
        settings.machine.env_threads = self.env_threads;
    }

    fn among(cores: i64, settings: &Settings, runs: usize, jobs: Option<usize>) -> Self {
        let (torch, env) = (
            i64::from(settings.machine.torch_threads),
            settings.machine.env_threads,
        );
        let room = (cores / torch.max(env).max(1)).max(1) as usize;
        let jobs = jobs.unwrap_or(room).min(runs).max(1);
        let share = (cores / jobs as i64).max(1);
        let or_share = |named: i64| if named == 0 { share } else { named };
        Self {
            jobs,
            torch_threads: or_share(torch) as i32,
            env_threads: or_share(env).min(settings.env.num_envs as i64),
            cores,
        }
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at a time on {} cores, each with {} libtorch and {} environment threads",
            self.jobs, self.cores, self.torch_threads, self.env_threads
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Algorithm;

    #[test]
    fn runs_and_their_threads_fit_the_cores() {
        let mut settings = Settings::defaults(Algorithm::Ppo);
        for cores in 1..=64 {
            for runs in 1..=20 {
                for jobs in [None, Some(1), Some(3)] {
                    let division = Division::among(cores, &settings, runs, jobs);
                    let threads = i64::from(division.torch_threads).max(division.env_threads);
                    let used = division.jobs as i64 * threads;
                    assert!(division.jobs <= runs && threads >= 1);
                    assert!(used <= cores || jobs.is_some_and(|jobs| jobs as i64 > cores));
                    // No more cores are left over than one run would need.
                    assert!(
                        jobs.is_some() || 2 * used > cores || threads == 8,
                        "{division}"
                    );
                }
            }
        }
        settings.machine.torch_threads = 4;
        let division = Division::among(16, &settings, 10, None);
        assert_eq!((division.jobs, division.torch_threads), (4, 4));
        assert_eq!(division.env_threads, 4);
        assert_eq!(Division::among(2, &settings, 10, None).jobs, 1);
        division.fix_threads(&mut settings);
        let of_the_rest = Division::among(64, &settings, 1, Some(1));
        assert_eq!((of_the_rest.torch_threads, of_the_rest.env_threads), (4, 4));
    }
}
