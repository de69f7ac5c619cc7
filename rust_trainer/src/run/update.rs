//! An update: learning, what all ranks hear of one another at its end, and its row in the report.

use std::{
    mem,
    time::{Duration, Instant},
};

use super::{Run, Times, checkpoints::Counters, wait::GracePeriod};
use crate::{
    algorithms::Learning, device, error::TrainerError, ranks::RankReport, stop::StopRequest,
};

impl Times {
    pub(super) fn start() -> Self {
        Self {
            cpu: device::cpu_time(),
            ..Self::default()
        }
    }
}

impl Run {
    /// Lets the algorithm learn; whether an update is done. One that a stop does not wait for is broken off
    /// where the run can go on from before it, or from its middle.
    pub(super) fn learn(
        &mut self,
        grace_period: &mut GracePeriod<'_>,
    ) -> Result<bool, TrainerError> {
        let learning = Instant::now();
        let may_break_off = self.may_break_off();
        self.is_learning = true;
        let learned = self
            .algorithm
            .learn(&mut || may_break_off && grace_period.is_over())?;
        self.is_learning = learned == Learning::BrokenOff;
        self.times.learn += learning.elapsed();
        for notice in self.algorithm.notices() {
            self.report.message(&notice);
        }
        let Learning::Done(metrics) = learned else {
            return Ok(false);
        };
        self.learned = Counters {
            step: self.step_count,
            update: self.learned.update + 1,
            updated_at: self.step_count,
            seconds: self.report.seconds(),
            worker_restarts: self.restarts.total,
            ..self.learned
        };
        self.at_boundary = true;
        let times = mem::replace(&mut self.times, Times::start());
        let waited = self.ranks.take_waited();
        self.meet(&times, waited, grace_period.stop)?;
        self.learned.worker_restarts = self.met.worker_restarts;
        self.count_rows();
        let cpu = self.times.cpu.saturating_sub(times.cpu);
        let busiest = self.met.busy.iter().copied().fold(0.0, f64::max);
        let mut scalars = vec![("update", self.learned.update as f64)];
        scalars.extend(metrics.0);
        scalars.extend([
            ("seconds_acting", times.act.as_secs_f64()),
            ("seconds_stepping", times.env.as_secs_f64()),
            ("seconds_learning", times.learn.as_secs_f64()),
            ("seconds_cpu", cpu.as_secs_f64()),
            // Of one process, too: the run may go on with several.
            ("seconds_waiting", waited.as_secs_f64()),
            ("seconds_busiest_rank", busiest),
            ("worker_restarts", self.met.worker_restarts as f64),
        ]);
        self.report.update(self.learned.step, &scalars)?;
        Ok(true)
    }

    /// Hears from all ranks at the end of an update: their games are recorded, whoever was asked to stop has
    /// all of them stop, and one that the others wait for is named.
    fn meet(
        &mut self,
        times: &Times,
        waited: Duration,
        stop: &StopRequest,
    ) -> Result<(), TrainerError> {
        let worked = (times.act + times.env + times.learn).saturating_sub(waited);
        self.met = self.ranks.meet(RankReport {
            signal: stop.signal(),
            games: mem::take(&mut self.games),
            worker_restarts: self.restarts.total,
            busy: vec![worked.as_secs_f64()],
            keeps: self.is_time_to_keep(),
        })?;
        if self.ranks.is_alone() {
            return Ok(());
        }
        let mut games = self.met.games.drain(..);
        games.try_for_each(|game| self.report.episode(game))?;
        drop(games);
        let elsewhere = self.met.worker_restarts.saturating_sub(self.restarts.total);
        if elsewhere > self.restarted_elsewhere {
            let count = elsewhere - self.restarted_elsewhere;
            let message = format!("restarts of workers that failed at other ranks: {count}");
            self.report.message(&message);
            self.restarted_elsewhere = elsewhere;
        }
        if let Some((rank, seconds, others)) = self.work_times.note(&self.met.busy) {
            let name = self.ranks.name(rank);
            self.report.message(&format!(
                "{name} is slower than the rest, who wait for it: {seconds:.1} s of work in the last 100 \
                 updates, the others {others:.1} s"
            ));
        }
        Ok(())
    }

    /// Whether the run stops here: with several ranks by what they said at the end of the update.
    pub(super) fn is_stop_agreed(&self, stop: &StopRequest) -> bool {
        if self.ranks.is_alone() {
            return stop.is_asked();
        }
        if self.met.signal != 0 {
            stop.ask_by(self.met.signal);
        }
        self.met.signal != 0
    }

    /// Notes how many rows the tables have: a run that goes on misses those that are lost.
    pub(super) fn count_rows(&mut self) {
        self.learned.games = self.report.games.played;
        self.learned.evaluations = self.report.evaluations().len() as u64;
    }
}
