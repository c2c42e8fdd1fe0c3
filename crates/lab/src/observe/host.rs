//! This machine as `/proc` shows it. It knows no process and no interval.

use super::process::field_kib;
use super::source::Gauged;
use crate::limits::DEVICES_MAX;
use rustix::param::clock_ticks_per_second;
use std::fs;
use std::path::Path;

/// This machine; its devices are those at the start.
pub(super) struct HostSource {
    disks: Vec<String>,
    networks: Vec<String>,
}

/// States of CPUs in the order of `/proc/stat`, with the columns that they belong to.
const CPU: [(&str, &[usize]); 5] = [
    ("cpu_user", &[0, 1]),
    ("cpu_system", &[2, 5, 6]),
    ("cpu_idle", &[3]),
    ("cpu_iowait", &[4]),
    ("cpu_steal", &[7]),
];

/// A counter of a device: its name, the unit of its growth in a second and of its sum, its place in
/// the line of the device, and what one is in that unit.
type Field = (&'static str, &'static str, &'static str, usize, f64);

/// In `/proc/diskstats`, after the name.
const DISK: [Field; 6] = [
    ("reads", "per_second", "", 0, 1.0),
    ("read", "bytes_per_second", "bytes", 2, 512.0),
    ("writes", "per_second", "", 4, 1.0),
    ("written", "bytes_per_second", "bytes", 6, 512.0),
    ("busy", "share", "seconds", 9, 0.001),
    ("in_flight", "mean", "seconds", 10, 0.001),
];

/// In `/proc/net/dev`, after the name.
const NETWORK: [Field; 6] = [
    ("received", "bytes_per_second", "bytes", 0, 1.0),
    ("packets_received", "per_second", "", 1, 1.0),
    ("receive_drops", "per_second", "", 3, 1.0),
    ("sent", "bytes_per_second", "bytes", 8, 1.0),
    ("packets_sent", "per_second", "", 9, 1.0),
    ("send_drops", "per_second", "", 11, 1.0),
];

impl HostSource {
    pub(super) fn new() -> Self {
        let disks = lines_by_name(&read("/proc/diskstats"), 2);
        let is_disk = |name: &&String| {
            let is_virtual = name.starts_with("loop") || name.starts_with("ram");
            !is_virtual && Path::new("/sys/block").join(name).exists()
        };
        let names = |lines: &[(String, Vec<f64>)]| -> Vec<String> {
            lines.iter().map(|(name, _)| name.clone()).collect()
        };
        Self {
            disks: names(&disks).iter().filter(is_disk).take(DEVICES_MAX).cloned().collect(),
            networks: names(&networks()).into_iter().take(DEVICES_MAX).collect(),
        }
    }

    pub(super) fn columns(&self) -> Vec<Gauged> {
        let mut columns: Vec<Gauged> =
            CPU.iter().map(|(name, _)| Gauged::counter(*name, "cores", "seconds")).collect();
        columns.extend([
            Gauged::gauge("running", "threads"),
            Gauged::gauge("blocked", "threads"),
            Gauged::counter("switches", "per_second", ""),
            Gauged::gauge("memory_used", "bytes"),
            Gauged::gauge("memory_available", "bytes"),
            Gauged::gauge("swap_used", "bytes"),
            Gauged::counter("tcp_sent", "segments_per_second", "segments"),
            Gauged::counter("tcp_sent_again", "segments_per_second", "segments"),
            Gauged::counter("tcp_listen_drops", "per_second", ""),
        ]);
        for (prefix, names, fields) in
            [("disk", &self.disks, &DISK), ("net", &self.networks, &NETWORK)]
        {
            for name in names {
                columns.extend(fields.iter().map(|(field, unit, total_unit, ..)| {
                    Gauged::counter(format!("{prefix}_{name}_{field}"), unit, total_unit)
                }));
            }
        }
        columns
    }

    pub(super) fn read(&self) -> Vec<Option<f64>> {
        let stat = read("/proc/stat");
        let mut values = cpu(&stat);
        let of_stat = |name: &str| line_number(&stat, name);
        values.extend([of_stat("procs_running"), of_stat("procs_blocked"), of_stat("ctxt")]);
        values.extend(memory(&read("/proc/meminfo")));
        let snmp = read("/proc/net/snmp");
        values.push(table(&snmp, "Tcp:", "OutSegs"));
        values.push(table(&snmp, "Tcp:", "RetransSegs"));
        values.push(table(&read("/proc/net/netstat"), "TcpExt:", "ListenDrops"));
        let disks = lines_by_name(&read("/proc/diskstats"), 2);
        devices(&mut values, &self.disks, &disks, &DISK);
        devices(&mut values, &self.networks, &networks(), &NETWORK);
        values
    }
}

/// What a network's link carries each way, in bytes a second. Nothing if the kernel does not know,
/// as of loopback.
pub fn link_bytes_per_second(network: &str) -> Option<f64> {
    let megabits: f64 = read(&format!("/sys/class/net/{network}/speed")).trim().parse().ok()?;
    (megabits > 0.0).then_some(megabits * 125_000.0)
}

/// Nothing where it cannot be read: the columns of it are gaps.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn cpu(stat: &str) -> Vec<Option<f64>> {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<f64> =
        line.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let tick = 1.0 / clock_ticks_per_second() as f64;
    let sum = |(_, places): &(&str, &[usize])| {
        let ticks: Option<f64> = places.iter().map(|place| fields.get(*place).copied()).sum();
        ticks.map(|ticks| ticks * tick)
    };
    CPU.iter().map(sum).collect()
}

/// Used, available, and used swap, in bytes.
fn memory(text: &str) -> [Option<f64>; 3] {
    let bytes = |name: &str| field_kib(text, name).map(|bytes| bytes as f64);
    let less = |a: Option<f64>, b: Option<f64>| Some(a? - b?);
    let available = bytes("MemAvailable:");
    [less(bytes("MemTotal:"), available), available, less(bytes("SwapTotal:"), bytes("SwapFree:"))]
}

/// The number of a line that begins with a name.
fn line_number(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start().split(' ').next()?.parse().ok()
}

/// A value of a table of two lines, names above numbers, that begin with the same word.
fn table(text: &str, table: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(table));
    let place = lines.next()?.split_ascii_whitespace().position(|field| field == name)?;
    lines.next()?.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// Lines of numbers after a name, which stands at a place of the line.
fn lines_by_name(text: &str, place: usize) -> Vec<(String, Vec<f64>)> {
    let one = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(place);
        let name = fields.next()?.to_owned();
        Some((name, fields.filter_map(|field| field.parse().ok()).collect()))
    };
    text.lines().filter_map(one).collect()
}

fn networks() -> Vec<(String, Vec<f64>)> {
    parse_networks(&read("/proc/net/dev"))
}

/// The name ends with a colon, after which there need be no space.
fn parse_networks(text: &str) -> Vec<(String, Vec<f64>)> {
    let one = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers = numbers.split_ascii_whitespace().filter_map(|field| field.parse().ok());
        Some((name.trim().to_owned(), numbers.collect()))
    };
    text.lines().filter_map(one).collect()
}

fn devices(
    values: &mut Vec<Option<f64>>,
    names: &[String],
    lines: &[(String, Vec<f64>)],
    columns: &[Field],
) {
    for name in names {
        let line = lines.iter().find(|(found, _)| found == name).map(|(_, numbers)| numbers);
        values.extend(columns.iter().map(|(_, _, _, place, factor)| {
            line.and_then(|numbers| numbers.get(*place)).map(|number| number * factor)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_its_value_here() {
        let host = HostSource::new();
        let (columns, values) = (host.columns(), host.read());
        assert_eq!(columns.len(), values.len());
        let value =
            |name: &str| values[columns.iter().position(|column| column.name == name).unwrap()];
        for name in ["cpu_user", "cpu_idle", "running", "switches", "memory_used", "tcp_sent"] {
            assert!(value(name).unwrap() > 0.0, "{name}");
        }
        assert!(host.networks.contains(&"lo".to_owned()), "{:?}", host.networks);
        assert!(value("net_lo_packets_sent").is_some());
    }

    #[test]
    fn cpu_times_are_summed_by_state() {
        let values = cpu("cpu  100 50 30 1000 7 3 2 9 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
        let hundredths = [150.0, 35.0, 1000.0, 7.0, 9.0];
        let tick = 1.0 / clock_ticks_per_second() as f64;
        assert_eq!(values, hundredths.map(|ticks| Some(ticks * tick)));
        assert_eq!(cpu(""), vec![None; 5]);
    }

    #[test]
    fn tables_are_read_by_their_heads() {
        let snmp = "Ip: A\nIp: 1\nTcp: OutSegs RetransSegs\nTcp: 500 7\n";
        assert_eq!(table(snmp, "Tcp:", "RetransSegs"), Some(7.0));
        assert_eq!(table(snmp, "Tcp:", "Other"), None);
        assert_eq!(line_number("intr 1 2\nctxt 42\n", "ctxt"), Some(42.0));
        assert_eq!(line_number("intr 1 2", "ctxt"), None);
        let kib = "MemTotal: 100 kB\nMemAvailable: 40 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        assert_eq!(memory(kib), [Some(61_440.0), Some(40_960.0), Some(0.0)]);
        assert_eq!(memory(""), [None; 3]);
    }

    #[test]
    fn devices_are_found_by_name_and_may_go() {
        let disks = lines_by_name(" 8 0 sda 10 1 20 3 40 5 60 7 0 80 90\n", 2);
        let networks = parse_networks("head | head\n  lo:5 6 0 0 0 0 0 0 7 8 0 0\n");
        assert_eq!(networks[0].0, "lo");
        let mut values = Vec::new();
        let names = ["sda".to_owned(), "gone".to_owned()];
        devices(&mut values, &names, &disks, &DISK);
        let sda = [10.0, 20.0 * 512.0, 40.0, 60.0 * 512.0, 0.08, 0.09];
        assert_eq!(values[..6], sda.map(Some));
        assert_eq!(values[6..], [None; 6]);
    }
}
