//! What is told of the processors: which, how many, how their frequency is governed, and which
//! mitigations of their faults are on.

use super::Machine;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn of(machine: &Machine) -> Value {
    let info = machine.text("proc/cpuinfo").unwrap_or_default();
    let first = |name: &str| lines(&info, name).next().map(str::to_owned);
    let frequency = |file: &str| machine.number(&format!("{CPUS}/cpu0/cpufreq/{file}"));
    json!({
        "model": first("model name").or_else(|| first("Model")).or_else(|| first("CPU part")),
        "microcode": first("microcode"),
        "logical_cores": lines(&info, "processor").count(),
        "physical_cores": physical_cores(&info),
        "usable_cores": std::thread::available_parallelism().map(usize::from).ok(),
        "simultaneous_threads": machine.text(&format!("{CPUS}/smt/control")),
        "is_virtual": lines(&info, "flags").next().map(is_virtual),
        "governor": machine.text(&format!("{CPUS}/cpu0/cpufreq/scaling_governor")),
        "frequency_max_khz": frequency("scaling_max_freq"),
        "frequency_min_khz": frequency("scaling_min_freq"),
        "turbo_off": machine.text(&format!("{CPUS}/intel_pstate/no_turbo")),
        "boost": machine.text(&format!("{CPUS}/cpufreq/boost")),
        "idle_driver": machine.text(&format!("{CPUS}/cpuidle/current_driver")),
        "isolated": machine.text(&format!("{CPUS}/isolated")),
        "numa_nodes": machine.text("sys/devices/system/node/online"),
        "mitigations": mitigations(machine),
    })
}

/// The values of a name in `/proc/cpuinfo`, one for each core.
fn lines<'a>(info: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    info.lines().filter_map(move |line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim())
    })
}

/// Pairs of socket and core; nothing where the kernel does not tell them.
fn physical_cores(info: &str) -> Option<usize> {
    let sockets = lines(info, "physical id").collect::<Vec<_>>();
    let cores: BTreeSet<_> = sockets.into_iter().zip(lines(info, "core id")).collect();
    (!cores.is_empty()).then_some(cores.len())
}

fn is_virtual(flags: &str) -> bool {
    flags.split_whitespace().any(|flag| flag == "hypervisor")
}

/// By the name of the fault; those that the processor does not have are left out.
fn mitigations(machine: &Machine) -> Value {
    let folder = format!("{CPUS}/vulnerabilities");
    let of = |name: String| {
        let state = machine.text(&format!("{folder}/{name}"))?;
        (state != "Not affected").then_some((name, state.into()))
    };
    Value::Object(machine.names(&folder).into_iter().filter_map(of).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn cores_are_counted_and_faults_named() {
        let core = |number: u32, core: u32| {
            format!(
                "processor : {number}\nmodel name : M 1\nphysical id : 0\ncore id : {core}\n\
                 flags : fpu hypervisor x\n\n"
            )
        };
        let info = [core(0, 0), core(1, 0), core(2, 1), core(3, 1)].concat();
        let (_root, machine) = machine(&[
            ("proc/cpuinfo", &info),
            ("sys/devices/system/cpu/vulnerabilities/a", "Not affected\n"),
            ("sys/devices/system/cpu/vulnerabilities/b", "Mitigation: C\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ]);
        let found = of(&machine);
        assert_eq!((&found["logical_cores"], &found["physical_cores"]), (&4.into(), &2.into()));
        assert_eq!((&found["model"], &found["is_virtual"]), (&"M 1".into(), &true.into()));
        assert_eq!(found["governor"], "performance");
        assert_eq!(found["mitigations"], json!({ "b": "Mitigation: C" }));
    }
}
