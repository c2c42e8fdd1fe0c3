//! What `stats` and its sub-reports tell ("Statistics" in protocol.txt): those figures of
//! memcached's that mean the same here, under its names. What has no meaning here is left out.

use crate::figures::{Shared, unix_seconds};
use crate::limits::{DUMP_BYTES_MAX, LISTEN_BACKLOG, SIZES_ITEMS_MAX};
use crate::session::VERSION;
use cache::{Cache, Figures};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::Ordering;
use wire::memcached::{Refusal, Report, answer};

/// Sizes are told in steps of so many bytes, as memcached does.
const SIZE_STEP: usize = 32;

/// To `stats detail on`: it would be followed by figures that are none.
const NO_PREFIXES: &[u8] = b"SERVER_ERROR nothing is counted by prefix of keys\r\n";

/// Appends all of the answer.
pub(crate) fn write(
    report: &Report<'_>,
    cache: Option<&Cache>,
    shared: &Shared,
    out: &mut Vec<u8>,
) {
    let mut page = Page { out };
    match report {
        Report::General => {
            general(&mut page, shared);
            cache.into_iter().for_each(|cache| counts(&mut page, &cache.figures()));
        }
        Report::Settings => settings(&mut page, cache, shared),
        Report::Items => {
            cache.into_iter().for_each(|cache| items(&mut page, &cache.figures()));
        }
        Report::Slabs => {
            cache.into_iter().for_each(|cache| slabs(&mut page, &cache.figures()));
        }
        Report::Sizes => {
            cache.into_iter().for_each(|cache| sizes(&mut page, cache));
        }
        Report::Connections => connections(&mut page, shared),
        Report::CacheDump { class, limit } => {
            cache.into_iter().for_each(|cache| dump(page.out, cache, *class, *limit as usize));
        }
        Report::Reset => {
            cache.into_iter().for_each(Cache::reset_figures);
            shared.reset();
            return out.extend_from_slice(answer::RESET);
        }
        Report::Detail(b"on") => return out.extend_from_slice(NO_PREFIXES),
        Report::Detail(b"off") => return out.extend_from_slice(answer::OK),
        Report::Detail(_) => {}
        // Sizes are looked at when they are asked for, and at no other time.
        Report::Other(b"sizes_enable") => page.line("sizes_status", "enabled"),
        Report::Other(b"sizes_disable") => {
            page.line("sizes_status", "enabled");
            page.line("sizes_error", "nothing_to_disable");
        }
        Report::Other(_) => return out.extend_from_slice(Refusal::Error.line()),
    }
    out.extend_from_slice(answer::END);
}

struct Page<'a> {
    out: &'a mut Vec<u8>,
}

impl Page<'_> {
    fn line(&mut self, name: &str, value: impl Display) {
        answer::statistic(self.out, name, value.to_string().as_bytes());
    }

    fn lines(&mut self, figures: &[(&str, u64)]) {
        for (name, value) in figures {
            self.line(name, value);
        }
    }
}

fn general(page: &mut Page<'_>, shared: &Shared) {
    let face = shared.since_reset();
    page.line("pid", std::process::id());
    page.line("uptime", shared.seconds());
    page.line("time", unix_seconds());
    page.line("version", VERSION);
    page.line("sarsen_version", env!("CARGO_PKG_VERSION"));
    page.line("pointer_size", usize::BITS);
    if let Some((user, system)) = processor_times() {
        page.line("rusage_user", user);
        page.line("rusage_system", system);
    }
    let limits = shared.limits;
    page.lines(&[
        ("max_connections", limits.connections_max as u64),
        ("curr_connections", face.connections),
        ("total_connections", face.accepted),
        ("rejected_connections", face.rejected),
        ("bytes_read", face.bytes_received),
        ("bytes_written", face.bytes_sent),
        ("response_obj_oom", face.answers_closed),
        ("read_buf_bytes", face.kept_bytes),
        ("read_buf_oom", face.memory_closed - face.answers_closed),
        ("store_no_memory", face.values_refused),
        ("idle_kicks", face.idle_closed),
        ("accepting_conns", u64::from(shared.is_accepting.load(Ordering::Relaxed))),
        ("listen_disabled_num", face.accept_failures),
        ("time_in_listen_disabled_us", face.accept_paused_us),
        ("threads", shared.bells.len() as u64),
        ("conn_yields", face.yields),
    ]);
}

fn counts(page: &mut Page<'_>, figures: &Figures) {
    page.lines(&[
        ("cmd_get", figures.cmd_get),
        ("cmd_set", figures.cmd_set),
        ("cmd_flush", figures.cmd_flush),
        ("cmd_touch", figures.cmd_touch),
        ("cmd_meta", figures.cmd_meta),
        ("get_hits", figures.get_hits),
        ("get_misses", figures.get_misses),
        ("get_expired", figures.get_expired),
        ("get_flushed", figures.get_flushed),
        ("delete_misses", figures.delete_misses),
        ("delete_hits", figures.delete_hits),
        ("incr_misses", figures.incr_misses),
        ("incr_hits", figures.incr_hits),
        ("decr_misses", figures.decr_misses),
        ("decr_hits", figures.decr_hits),
        ("cas_misses", figures.cas_misses),
        ("cas_hits", figures.cas_hits),
        ("cas_badval", figures.cas_badval),
        ("touch_hits", figures.touch_hits),
        ("touch_misses", figures.touch_misses),
        ("store_too_large", figures.store_too_large),
        ("limit_maxbytes", figures.limit_maxbytes),
        ("hash_bytes", figures.hash_bytes),
        ("bytes", figures.bytes),
        ("curr_items", figures.curr_items),
        ("total_items", figures.total_items),
        ("expired_unfetched", figures.expired_unfetched),
        ("evicted_unfetched", figures.evicted_unfetched),
        ("evictions", figures.evictions),
        ("reclaimed", figures.reclaimed),
    ]);
}

/// Seconds that the process has used, in the user's mode and in the system's: fields 14 and 15 of
/// proc_pid_stat(5), in hundredths of a second on every Linux.
fn processor_times() -> Option<(String, String)> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name before may hold anything but this.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut seconds = || {
        let ticks: u64 = fields.next()?.parse().ok()?;
        Some(format!("{}.{:02}0000", ticks / 100, ticks % 100))
    };
    Some((seconds()?, seconds()?))
}

fn settings(page: &mut Page<'_>, cache: Option<&Cache>, shared: &Shared) {
    let limits = shared.limits;
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    if let Some(cache) = cache {
        page.line("maxbytes", cache.memory_bytes());
        // memcached's own counts what it keeps of an item, too.
        page.line("item_size_max", cache.value_bytes_max());
    }
    page.line("maxconns", limits.connections_max);
    page.line("udpport", 0);
    page.line("verbosity", 0);
    page.line("evictions", "on");
    page.line("num_threads", shared.bells.len());
    page.line("stat_key_prefix", ":");
    page.line("detail_enabled", "no");
    page.line("cas_enabled", "yes");
    page.line("tcp_backlog", LISTEN_BACKLOG);
    page.line("binding_protocol", "ascii");
    page.line("auth_enabled_sasl", "no");
    page.line("auth_enabled_ascii", yes_no(limits.is_locked));
    page.line("maxconns_fast", "yes");
    page.line("flush_enabled", "yes");
    page.line("dump_enabled", "yes");
    page.line("lru_segmented", "yes");
    page.line("idle_timeout", limits.idle_timeout_s.unwrap_or(0));
    page.line("ssl_enabled", "no");
}

/// The queues of the cache stand for memcached's classes of size: 1 has what is new, 2 what was
/// used again.
fn items(page: &mut Page<'_>, figures: &Figures) {
    for (class, queue) in (1..).zip(&figures.queues).filter(|(_, queue)| queue.items > 0) {
        page.line(&format!("items:{class}:number"), queue.items);
        page.line(&format!("items:{class}:mem_requested"), queue.bytes);
        page.line(&format!("items:{class}:evicted"), queue.evicted);
        page.line(&format!("items:{class}:reclaimed"), queue.reclaimed);
        page.line(&format!("items:{class}:evicted_unfetched"), queue.evicted_unfetched);
    }
}

fn slabs(page: &mut Page<'_>, figures: &Figures) {
    let queues = || (1..).zip(&figures.queues).filter(|(_, queue)| queue.items > 0);
    for (class, queue) in queues() {
        page.line(&format!("{class}:total_pages"), queue.pages);
        page.line(&format!("{class}:used_chunks"), queue.items);
        page.line(&format!("{class}:mem_requested"), queue.bytes);
    }
    // Clients take every other line apart at its colon.
    page.line("active_slabs", queues().count());
    page.line("total_malloced", figures.pages_allocated * figures.page_bytes);
}

fn connections(page: &mut Page<'_>, shared: &Shared) {
    let now = shared.seconds();
    for connection in shared.connections() {
        let number = connection.number;
        let used = connection.used.load(Ordering::Relaxed);
        page.line(&format!("{number}:addr"), &connection.peer);
        page.line(&format!("{number}:listen_addr"), &connection.place);
        page.line(&format!("{number}:secs_since_last_cmd"), now.saturating_sub(used));
    }
}

/// `stats sizes`: how many items take how much.
fn sizes(page: &mut Page<'_>, cache: &Cache) {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    let mut left = SIZES_ITEMS_MAX;
    cache.walk(|item| {
        *counts.entry(item.bytes.next_multiple_of(SIZE_STEP)).or_default() += 1;
        left -= 1;
        left > 0
    });
    if left == 0 {
        page.line("sizes_status", "cut");
    }
    for (size, count) in counts {
        page.line(&size.to_string(), count);
    }
}

/// `stats cachedump`: keys of a class, with the length of their values and when they expire; keys
/// that would break the lines are left out.
fn dump(out: &mut Vec<u8>, cache: &Cache, class: u32, limit: usize) {
    let mut left = if limit == 0 { usize::MAX } else { limit };
    let end = out.len() + DUMP_BYTES_MAX;
    cache.walk(|item| {
        let is_plain = item.key.iter().all(|byte| *byte > b' ');
        if u32::from(item.class) != class || !is_plain {
            return true;
        }
        out.extend_from_slice(b"ITEM ");
        out.extend_from_slice(item.key);
        let expires = item.expires.second().unwrap_or(0);
        let rest = format!(" [{} b; {expires} s]\r\n", item.value_bytes);
        out.extend_from_slice(rest.as_bytes());
        left -= 1;
        left > 0 && out.len() < end
    });
}
