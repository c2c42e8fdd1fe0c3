//! What a container or a service manager allows this process: cgroups(7), both versions.

use super::Machine;
use serde_json::{Value, json};

pub(super) fn of(machine: &Machine) -> Value {
    let groups = machine.text("proc/self/cgroup").unwrap_or_default();
    let second = |file: &str| {
        let group = group(&groups, "")?;
        nearest(machine, "sys/fs/cgroup", group, file)
            .or_else(|| nearest(machine, "sys/fs/cgroup/unified", group, file))
    };
    let first = |controller: &str, file: &str| {
        let folder = format!("sys/fs/cgroup/{controller}");
        nearest(machine, &folder, group(&groups, controller)?, file)
    };
    json!({
        "memory_max": second("memory.max")
            .or_else(|| first("memory", "memory.limit_in_bytes"))
            .filter(|most| is_limit(most)),
        "cpu_max": second("cpu.max")
            .filter(|most| !most.starts_with("max"))
            .or_else(|| {
                quota(first("cpu", "cpu.cfs_quota_us")?, first("cpu", "cpu.cfs_period_us")?)
            }),
        "cpu_set": second("cpuset.cpus").or_else(|| first("cpuset", "cpuset.cpus")),
    })
}

/// The group of a controller: `ID:CONTROLLERS:PATH`; version 2 has no controllers in its line.
fn group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// A setting of the group, or of the nearest one above that has it: inside a container the path may
/// lead to nothing that is seen there.
fn nearest(machine: &Machine, folder: &str, group: &str, file: &str) -> Option<String> {
    let mut group = group.trim_matches('/');
    loop {
        let slash = if group.is_empty() { "" } else { "/" };
        if let Some(text) = machine.text(&format!("{folder}{slash}{group}/{file}")) {
            return Some(text);
        }
        if group.is_empty() {
            return None;
        }
        group = group.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// Version 1 writes a number close to 2^63 for no limit, version 2 a word.
fn is_limit(bytes: &str) -> bool {
    bytes.parse::<u64>().is_ok_and(|bytes| bytes < 1 << 62)
}

/// As version 2 writes it; nothing if there is no limit.
fn quota(quota: String, period: String) -> Option<String> {
    (!quota.starts_with('-')).then(|| format!("{quota} {period}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn limits_of_version_2() {
        let (_root, machine) = machine(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/b/cpuset.cpus", "\n"),
        ]);
        let expected =
            json!({ "memory_max": "1048576", "cpu_max": "150000 100000", "cpu_set": null });
        assert_eq!(of(&machine), expected);
    }

    #[test]
    fn limits_of_version_1() {
        let (_root, machine) = machine(&[
            ("proc/self/cgroup", "4:memory:/x\n3:cpuset:/\n1:cpu,cpuacct:/\n0::/\n"),
            ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n"),
        ]);
        let expected = json!({ "memory_max": null, "cpu_max": "50000 100000", "cpu_set": "0-1" });
        assert_eq!(of(&machine), expected);
    }

    #[test]
    fn nothing_is_no_limit() {
        let (_root, machine) = machine(&[]);
        let expected = json!({ "memory_max": null, "cpu_max": null, "cpu_set": null });
        assert_eq!(of(&machine), expected);
    }
}
