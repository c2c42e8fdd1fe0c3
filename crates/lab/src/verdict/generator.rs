//! Whether the generator itself can be trusted: what it says of its own machine.

use super::Judge;
use crate::engine::ServerCpu;
use std::time::Duration;

/// Fewer segments sent again tell nothing.
const RETRANSMITS_MIN: f64 = 10.0;

impl Judge<'_> {
    pub(super) fn clock(&self) -> Option<String> {
        let step = milliseconds(self.findings.clock_step);
        (step > self.plan.validity.clock_step_ms).then(|| {
            format!("the clock of this machine was set by {step:.0} ms while the run went on")
        })
    }

    pub(super) fn ports(&self) -> Option<String> {
        let first = self.measured.errors().first(crate::measure::ErrorClass::Connect)?;
        // EADDRNOTAVAIL, connect(2).
        first.contains("os error 99").then(|| {
            "this machine has no free ports left for connections; keep connections, or use more \
             addresses"
                .to_owned()
        })
    }

    pub(super) fn generator(&self) -> Option<String> {
        let cpus = match &self.findings.generator_cpu {
            Ok(cpus) => cpus,
            Err(error) => {
                return Some(format!("the generator's CPU time could not be read: {error}"));
            }
        };
        let share = |(used, had): &(Duration, Duration)| used.as_secs_f64() / had.as_secs_f64();
        let largest = cpus.iter().map(share).fold(0.0, f64::max);
        let most = self.plan.validity.generator_cpu;
        (largest > most).then(|| {
            format!(
                "the generator may be the bottleneck: one of its threads used {:.0} % of a \
                 core (at most {:.0} %); use more threads",
                largest * 100.0,
                most * 100.0
            )
        })
    }

    pub(super) fn pause(&self) -> Option<String> {
        let longest = milliseconds(self.findings.totals.pause());
        let most = self.plan.validity.pause_ms;
        (longest > most).then(|| {
            format!(
                "a thread of the generator stood still for {longest:.0} ms (at most {most} ms): \
                 this machine had something else to do, and that time is in the latencies"
            )
        })
    }

    pub(super) fn send_lag(&self) -> Option<String> {
        let lag = self.findings.totals.send_lag().percentile_ms(0.99)?;
        let most = self.plan.validity.send_lag_p99_ms;
        (lag > most).then(|| {
            format!(
                "1 % of the operations were sent more than {lag:.3} ms late (at most {most} ms): \
                 the generator did not keep up; use more threads or a lower rate"
            )
        })
    }

    pub(super) fn retransmits(&self) -> Option<String> {
        let host = self.findings.observed.iter().find(|observed| observed.name == "host")?;
        let (again, sent) = (host.total("tcp_sent_again")?, host.total("tcp_sent")?);
        let share = again / sent.max(1.0);
        let is_much = again >= RETRANSMITS_MIN && share > self.plan.validity.retransmits;
        is_much.then(|| {
            format!(
                "this machine sent {again:.0} of {sent:.0} TCP segments again, {:.2} % (at most \
                 {} %): packets were lost, and waiting for them is in the latencies",
                share * 100.0,
                self.plan.validity.retransmits * 100.0
            )
        })
    }

    pub(super) fn server_cpu(&self) -> Option<String> {
        match &self.findings.server_cpu {
            ServerCpu::Lost(error) => {
                Some(format!("the server's CPU time could not be read: {error}"))
            }
            ServerCpu::NotAsked | ServerCpu::Used(_) => None,
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
