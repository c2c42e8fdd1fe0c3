//! The fingerprint of the machine and of the program that a run came from: what may explain that
//! two runs differ. It reads files of the kernel and measures nothing; what cannot be read is null.

mod container;
mod cpu;

use crate::archive::About;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What is told of the machine and the program, as one object.
pub(super) fn gather(about: &About) -> Value {
    let machine = Machine::new("/");
    json!({
        "sarsen": sarsen(about),
        "command_line": about.arguments,
        "host": about.host.then(|| machine.host_name()).flatten(),
        "kernel": machine.kernel(),
        "system": machine.system(),
        "cpu": cpu::of(&machine),
        "memory": machine.memory(),
        "container": container::of(&machine),
        "network": machine.network(),
        "limits": {
            "open_files": rustix::process::getrlimit(rustix::process::Resource::Nofile).current,
        },
        "settings": machine.settings(),
        "load_average": machine.words("proc/loadavg", 3),
    })
}

fn sarsen(about: &About) -> Value {
    let build = &about.build;
    json!({
        "version": build.version,
        "commit": build.commit,
        "changed_since_commit": build.changed,
        "optimized": !cfg!(debug_assertions),
        "binary_sha256": std::env::current_exe().and_then(|path| sha256_of(&path)).ok(),
    })
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            bytes => hash.update(&buffer[..bytes]),
        }
    }
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files of a kernel, below a folder: `/`, or that of a test.
struct Machine {
    root: PathBuf,
}

impl Machine {
    fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A file's text without the space around it, if there is one with something in it.
    fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The first words of a file.
    fn words(&self, path: &str, count: usize) -> Option<String> {
        let text = self.text(path)?;
        Some(text.split_whitespace().take(count).collect::<Vec<_>>().join(" "))
    }

    /// The value of a line `name: value` or `name=value`, the first of it.
    fn line(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        text.lines().find_map(|line| {
            let (found, value) = line.split_once([':', '='])?;
            (found.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
        })
    }

    /// The names in a folder, in order.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The word in brackets: how the kernel marks the setting that is chosen.
    fn chosen(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let (_, rest) = text.split_once('[')?;
        rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
    }

    /// A hash of the host's name: two runs of one machine have the same, and it tells no name.
    fn host_name(&self) -> Option<Value> {
        let name = self.text("proc/sys/kernel/hostname")?;
        Some(json!({ "name_sha256": hex(&Sha256::digest(name.as_bytes())) }))
    }

    fn kernel(&self) -> Option<String> {
        let (name, release) =
            (self.text("proc/sys/kernel/ostype")?, self.text("proc/sys/kernel/osrelease")?);
        Some(format!("{name} {release} {}", std::env::consts::ARCH))
    }

    fn system(&self) -> Option<String> {
        self.line("etc/os-release", "PRETTY_NAME")
    }

    fn memory(&self) -> Value {
        let bytes = |name| {
            let text = self.line("proc/meminfo", name)?;
            let kib: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        };
        json!({
            "total_bytes": bytes("MemTotal"),
            "available_bytes": bytes("MemAvailable"),
            "swap_bytes": bytes("SwapTotal"),
            "huge_pages": self.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
        })
    }

    fn network(&self) -> Value {
        let one = |name: String| {
            let at = |file: &str| format!("sys/class/net/{name}/{file}");
            let driver = fs::read_link(self.root.join(at("device/driver"))).ok();
            let driver = driver.and_then(|link| Some(link.file_name()?.to_str()?.to_owned()));
            json!({
                "driver": driver,
                "state": self.text(&at("operstate")),
                "speed_megabits_per_second": self.number(&at("speed")),
                "mtu_bytes": self.number(&at("mtu")),
                "name": name,
            })
        };
        self.names("sys/class/net").into_iter().map(one).collect()
    }

    /// Settings of the kernel that move what a load generator measures.
    fn settings(&self) -> Value {
        let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        json!({
            "clock_source": self.text(clock),
            "local_ports": self.words("proc/sys/net/ipv4/ip_local_port_range", 2),
            "listen_queue_max": self.number("proc/sys/net/core/somaxconn"),
            "tcp_congestion_control": self.text("proc/sys/net/ipv4/tcp_congestion_control"),
            "tcp_time_wait_reuse": self.number("proc/sys/net/ipv4/tcp_tw_reuse"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files below it.
    pub(super) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine::new(root.path());
        (root, machine)
    }

    #[test]
    fn what_the_kernel_tells_is_read() {
        let (_root, machine) = machine(&[
            ("proc/meminfo", "MemTotal:       100 kB\nMemAvailable: 7 kB\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"X 1 (y)\"\n"),
            ("sys/class/net/eth0/mtu", "1500\n"),
            ("sys/class/net/eth0/operstate", "up\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("proc/sys/kernel/hostname", "h\n"),
        ]);
        let memory = machine.memory();
        assert_eq!(
            (&memory["total_bytes"], &memory["available_bytes"]),
            (&102_400.into(), &7168.into())
        );
        assert_eq!(
            (&memory["huge_pages"], &memory["swap_bytes"]),
            (&"madvise".into(), &Value::Null)
        );
        assert_eq!(machine.system().as_deref(), Some("X 1 (y)"));
        let card = &machine.network()[0];
        assert_eq!((&card["name"], &card["mtu_bytes"]), (&"eth0".into(), &1500.into()));
        assert_eq!((&card["state"], &card["driver"]), (&"up".into(), &Value::Null));
        assert_eq!(machine.settings()["local_ports"], "32768 60999");
        let host = machine.host_name().unwrap().to_string();
        // printf h | sha256sum
        assert!(host.contains("aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123"));
    }

    #[test]
    fn this_machine_has_a_fingerprint() {
        let found = gather(&About::default());
        for (place, what) in [
            ("/kernel", "Linux"),
            ("/cpu/logical_cores", ""),
            ("/memory/total_bytes", ""),
            ("/sarsen/binary_sha256", ""),
            ("/host/name_sha256", ""),
        ] {
            let value = found.pointer(place).filter(|value| !value.is_null());
            let value = value.unwrap_or_else(|| panic!("{place} in {found:#}")).to_string();
            assert!(value.contains(what), "{place}: {value}");
        }
        let unnamed = gather(&About { host: false, ..About::default() });
        assert_eq!(unnamed["host"], Value::Null);
    }
}
