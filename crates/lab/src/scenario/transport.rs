//! `[transport]`: how requests travel.

use super::Overrides;
use super::files::Files;
use super::section::{Section, Value};
use super::text;
use crate::limits::{BANDWIDTHS, PIPELINE_MAX, STREAMS_MAX};
use crate::plan::{Bandwidth, Protocol, Transport, Trust};

/// What the section says, and without one what is usual.
pub(super) fn read(
    section: Option<&Section<'_>>,
    files: &Files<'_>,
    overrides: &Overrides,
) -> Transport {
    let mut transport = Transport::default();
    if let Some(section) = section {
        transport.keep_alive = section.truth("keep_alive").unwrap_or(true);
        transport.protocol = protocol(section);
        transport.trust = Trust {
            ca: section.get("ca").and_then(|value| files.path(&value)),
            insecure: section.truth("insecure").unwrap_or(false),
        };
    }
    if let Some(value) = section.and_then(|section| section.get("bandwidth")) {
        transport.bandwidth = bandwidth(&value).unwrap_or_default();
    }
    if let Some(ca) = &overrides.trust.ca {
        transport.trust.ca = Some(ca.clone());
    }
    transport.trust.insecure |= overrides.trust.insecure;
    transport
}

/// A rate of both directions, or `{ receive = RATE, send = RATE }`.
fn bandwidth(value: &Value<'_>) -> Option<Bandwidth> {
    if !value.is_table() {
        let rate = rate(value);
        return Some(Bandwidth { receive: rate, send: rate });
    }
    let section = value.section()?;
    let direction = |key| section.get(key).and_then(|value| rate(&value));
    let (receive, send) = (direction("receive"), direction("send"));
    section.close();
    Some(Bandwidth { receive, send })
}

fn rate(value: &Value<'_>) -> Option<u64> {
    let rate = text::rate(&value.text()?).filter(|rate| BANDWIDTHS.contains(rate));
    if rate.is_none() {
        value.expected("a rate like \"1 Mbit/s\", from \"8 kbit/s\" to \"10 Gbit/s\"");
    }
    rate
}

fn protocol(section: &Section<'_>) -> Protocol {
    let streams = section.whole("streams", 1..=STREAMS_MAX as u64);
    let pipeline = section.whole("pipeline", 1..=PIPELINE_MAX as u64);
    match (streams, pipeline) {
        (Some(_), Some(_)) => {
            let what = "expected either `streams` (HTTP/2) or `pipeline` (HTTP/1.1); got both";
            section.book.wrong(&section.span, format!("[transport]: {what}"));
            Protocol::Http1 { pipeline: 1 }
        }
        (Some(streams), None) => Protocol::Http2 { streams: streams as usize },
        (None, pipeline) => Protocol::Http1 { pipeline: pipeline.unwrap_or(1) as usize },
    }
}
