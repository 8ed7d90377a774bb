//! Counters of the system in an interval, from two readings.

use model::counter_object::{CounterObject, TOTAL_INSTANCE};
use model::device_interval::DeviceInterval;
use model::system_counter::{
    KernelValues, Rule, SYSTEM_COUNTERS, SystemCounter, SystemFigures, SystemReading, counters_of,
};
use std::collections::{BTreeMap, BTreeSet};

/// All counters of an interval. Instances that are missing in one reading are left out; an object with instances has
/// their total too.
pub fn figures(before: &SystemReading, after: &SystemReading, interval_ns: u64) -> SystemFigures {
    let of_object = |(object, now): (&CounterObject, &BTreeMap<String, KernelValues>)| {
        let then = before.get(object)?;
        let both: Vec<_> = now.iter().filter_map(|(name, values)| Some((name, then.get(name)?, values))).collect();
        let of_instance = |then: &KernelValues, now: &KernelValues| -> BTreeMap<String, f64> {
            let named =
                |counter: &SystemCounter| Some((counter.name.to_owned(), value(counter.rule, then, now, interval_ns)?));
            counters_of(*object).filter_map(named).collect()
        };
        let mut instances: BTreeMap<String, _> =
            both.iter().map(|(name, then, now)| ((*name).clone(), of_instance(then, now))).collect();
        if object.has_instances() && !both.is_empty() {
            // An interface that was created again must not take from the others' rates. Idle times go back by a tick
            // now and then.
            let is_whole = |then: &KernelValues, now: &KernelValues| {
                *object == CounterObject::Processor || now.iter().all(|(name, value)| then.get(name) <= Some(value))
            };
            let summed = || both.iter().filter(|(_, then, now)| is_whole(then, now));
            let then = total(summed().map(|(_, then, _)| *then));
            let now = total(summed().map(|(_, _, now)| *now));
            instances.insert(TOTAL_INSTANCE.to_owned(), of_instance(&then, &now));
        }
        Some((object.name().to_owned(), instances))
    };
    after.iter().filter_map(of_object).collect()
}

fn total<'a>(instances: impl Iterator<Item = &'a KernelValues>) -> KernelValues {
    let mut total = KernelValues::new();
    for (name, value) in instances.flatten() {
        let sum = total.entry(name).or_insert(0);
        *sum = sum.saturating_add(*value);
    }
    total
}

/// The value of an interval; `None` if the kernel does not have the values, or a counter went backwards.
fn value(rule: Rule, before: &KernelValues, after: &KernelValues, interval_ns: u64) -> Option<f64> {
    let sum = |values: &KernelValues, names: &[&str]| {
        let mut values = names.iter().map(|name| values.get(name).copied());
        values.try_fold(0u64, |sum, value| Some(sum.saturating_add(value?)))
    };
    let growth = |names: &[&str]| sum(after, names)?.checked_sub(sum(before, names)?);
    match rule {
        Rule::Level(names, factor) => Some(sum(after, names)? as f64 * factor),
        Rule::Rate(names) => Some(growth(names)? as f64 * 1e9 / interval_ns as f64),
        Rule::Percent(part, whole) => Some(share(growth(part)?, growth(whole)?) * 100.0),
        Rule::MeanSeconds(time, count) => Some(share(growth(&[time])?, growth(&[count])?) / 1e3),
    }
}

/// As on Windows, the mean of nothing is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A counter over a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemCourse<'a> {
    pub instance: &'a str,
    pub counter: &'static SystemCounter,
    /// Weighted by the lengths of the intervals.
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// The usual counters, of processors and memory the total, of other objects each instance.
pub fn system_courses(intervals: &[DeviceInterval]) -> Vec<SystemCourse<'_>> {
    let mut courses = Vec::new();
    for counter in SYSTEM_COUNTERS.iter().filter(|counter| counter.is_usual) {
        let object = counter.object;
        let of_object = intervals.iter().filter_map(|interval| interval.system.get(object.name()));
        let names: BTreeSet<&str> = of_object.flat_map(|instances| instances.keys().map(String::as_str)).collect();
        let chosen = names.into_iter().filter(|name| object.is_usual_instance(name));
        courses.extend(chosen.filter_map(|instance| course(intervals, instance, counter)));
    }
    courses
}

fn course<'a>(
    intervals: &'a [DeviceInterval],
    instance: &'a str,
    counter: &'static SystemCounter,
) -> Option<SystemCourse<'a>> {
    let value = |interval: &DeviceInterval| {
        let value = interval.system.get(counter.object.name())?.get(instance)?.get(counter.name).copied()?;
        Some((value, interval.interval_ns as f64))
    };
    let values: Vec<(f64, f64)> = intervals.iter().filter_map(value).collect();
    let length: f64 = values.iter().map(|(_, length)| length).sum();
    (length > 0.0).then(|| SystemCourse {
        instance,
        counter,
        mean: values.iter().map(|(value, length)| value * length).sum::<f64>() / length,
        min: values.iter().map(|(value, _)| *value).fold(f64::INFINITY, f64::min),
        max: values.iter().map(|(value, _)| *value).fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counter_object::CounterObject::{Memory, Processor};

    fn reading(object: CounterObject, instances: &[(&str, &[(&'static str, u64)])]) -> SystemReading {
        let values = |values: &[(&'static str, u64)]| values.iter().copied().collect();
        let instances = instances.iter().map(|(name, list)| ((*name).to_owned(), values(list))).collect();
        [(object, instances)].into()
    }

    #[test]
    fn totals_and_shares_follow_from_growth() {
        let cpu = |user, system, idle| {
            [
                ("user", user),
                ("nice", 0),
                ("system", system),
                ("irq", 0),
                ("softirq", 0),
                ("steal", 0),
                ("idle", idle),
                ("iowait", 0),
            ]
        };
        let before = reading(Processor, &[("0", &cpu(0, 0, 0)), ("1", &cpu(7, 7, 7)), ("2", &cpu(9, 0, 0))]);
        let after = reading(Processor, &[("0", &cpu(20, 30, 50)), ("1", &cpu(7, 7, 107)), ("2", &cpu(8, 0, 100))]);
        let figures = figures(&before, &after, 1_000_000_000);
        let percent = |instance: &str, name: &str| figures["Processor"][instance].get(name).copied();
        assert_eq!(percent("0", "% Processor Time"), Some(50.0));
        assert_eq!(percent("0", "% Privileged Time"), Some(30.0));
        assert_eq!(percent("1", "% Processor Time"), Some(0.0));
        assert_eq!(percent("2", "% Processor Time"), None, "a counter went backwards");
        assert_eq!(percent(TOTAL_INSTANCE, "% Idle Time"), Some(250.0 * 100.0 / 299.0));
    }

    #[test]
    fn levels_are_scaled_and_means_of_nothing_are_0() {
        let memory = |bytes| reading(Memory, &[(TOTAL_INSTANCE, &[("MemAvailable", bytes)])]);
        let figures = figures(&memory(1), &memory(3 << 20), 1);
        assert_eq!(figures["Memory"][TOTAL_INSTANCE].get("Available MBytes"), Some(&3.0));
        assert!(!figures["Memory"][TOTAL_INSTANCE].contains_key("Cache Bytes"), "the kernel did not have it");
        let values: KernelValues = [("t", 5), ("n", 2)].into();
        assert_eq!(value(Rule::MeanSeconds("t", "n"), &values, &values, 1), Some(0.0));
        let later: KernelValues = [("t", 9), ("n", 4)].into();
        assert_eq!(value(Rule::MeanSeconds("t", "n"), &values, &later, 1), Some(0.002));
    }
}
