//! Usage of all CPUs together over time.

use super::{middle_s, s, values};
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::Quantity;
use crate::role::Role;
use model::result::Measured;

pub(crate) const TITLE: &str = "CPU usage of the machine over time";

pub(crate) fn chart(measured: &Measured) -> ChartResult {
    let course = &measured.cpu_course;
    let Some(end_ns) = course.end_ns.last().filter(|_| course.end_ns.len() > 1) else {
        let reason = "the result has no per-second CPU times; JSON results of runs of two seconds or more on one machine have \
                      them";
        return Err(MissingChart::because(TITLE, reason));
    };
    let line = |name: &str, role, percent: &[f64]| {
        let starts_ns = [0].into_iter().chain(course.end_ns.iter().copied());
        let middles_s = starts_ns.zip(&course.end_ns).map(|(start_ns, end_ns)| middle_s(start_ns, *end_ns));
        Series { name: name.to_owned(), role, marks: Marks::Line(middles_s.zip(percent.iter().copied()).collect()) }
    };
    let series = vec![
        line("user", Role::User, &course.user_percent),
        line("kernel", Role::Kernel, &course.kernel_percent),
        line("steal", Role::Bad, &course.steal_percent),
    ];
    Ok(Chart {
        name: "cpu-time",
        title: TITLE.to_owned(),
        caption: "All programs: shares of the time of all CPUs. Steal: the hypervisor ran something else.".to_owned(),
        x: Axis::linear("", Quantity::TimeS, 0.0, s(*end_ns)),
        y: Axis::from_zero("of the time of all CPUs", Quantity::Percent, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::course::CpuCourse;

    #[test]
    fn each_share_has_a_line() {
        let cpu_course = CpuCourse {
            end_ns: vec![1_000_000_000, 2_000_000_000],
            user_percent: vec![10.0, 20.0],
            kernel_percent: vec![50.0, 40.0],
            steal_percent: vec![0.0, 5.0],
        };
        let mut measured = Measured { cpu_course, ..Measured::default() };
        let found = chart(&measured).expect("a chart");
        let lines: Vec<(&str, Vec<(f64, f64)>)> = found
            .series
            .iter()
            .map(|series| (series.name.as_str(), values(std::slice::from_ref(series)).collect()))
            .collect();
        assert_eq!(
            lines,
            [
                ("user", vec![(0.5, 10.0), (1.5, 20.0)]),
                ("kernel", vec![(0.5, 50.0), (1.5, 40.0)]),
                ("steal", vec![(0.5, 0.0), (1.5, 5.0)]),
            ]
        );
        measured.cpu_course.end_ns.truncate(1);
        assert!(chart(&measured).is_err(), "one value makes no line");
    }
}
