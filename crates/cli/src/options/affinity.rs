//! `-a -n`: threads on CPUs.

use super::row::{Group, Kind, OptionRow, Repeat, Scope, SinceVersion, ValueForm};
use crate::affinity;
use crate::builder::{Builder, GivenOption};
use model::profile::{EfficiencyOrder, GroupSpan, Traversal};

const AFFINITY: OptionRow =
    OptionRow { scope: Scope::TimeSpan, repeat: Repeat::Accumulates, group: Group::Affinity, ..OptionRow::BASE };

const ORDER_ON_LINUX: &str = "A group is a range of 64 kernel CPU numbers: kernel CPU n is CPU n mod 64 of group n / \
                              64.";

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-a",
        lead: ValueForm::OneOf("cspPeE"),
        value: "<cspPeE>",
        xml: &["AffinityTraversal"],
        short: "order of CPUs: c one thread per core first, s spread over groups, p/P P-cores first, e/E E-cores first",
        long: "Sets the order in which threads are bound to CPUs, as letters in any order. c: use one hardware thread \
               of every core before the second hardware threads. s: spread threads over all processor groups instead \
               of filling one group before the next. p (default): performance cores before efficiency cores, within \
               each group and hardware thread; P: all performance cores before any efficiency core; e and E: the same \
               with efficiency cores first. At most one of p, P, e, E and -aup may be given. A list of CPUs needs a \
               separate -a.",
        since: SinceVersion::DiskSpd("2.3"),
        on_linux: ORDER_ON_LINUX,
        example: "-acs",
        apply: modifiers,
        ..AFFINITY
    },
    OptionRow {
        name: "-a",
        value: "[g<group>,]<cpu>[-<cpu>],...",
        xml: &["Affinity"],
        short: "bind threads to these CPUs in turn, e.g. -a0-3,8 or -ag0,0-3,g1,0; -ag<group>: to a whole group",
        long: "Binds each thread to the next CPU of the list, starting over at its end. g<group> is the processor \
               group of the CPU numbers after it (0 if not given). -ag<group> without CPU numbers stands for all CPUs \
               of the group. Several -a are joined into one list. CPUs are used in order of their group; within a \
               group, performance cores come before efficiency cores, and otherwise the order is as typed. -a and -ag \
               without a list are the default: all CPUs. If a single CPU handles the interrupts of the targets' disks, \
               the default starts with this CPU; -ag0, which stands for all CPUs of group 0, keeps their usual order \
               regardless of interrupts.",
        since: SinceVersion::DiskSpd("2.0"),
        on_linux: ORDER_ON_LINUX,
        example: "-a0,1",
        apply: list,
        ..AFFINITY
    },
    OptionRow {
        name: "-au",
        value: "p",
        repeat: Repeat::Error,
        xml: &["AffinityTraversal"],
        short: "ignore the difference between performance and efficiency cores",
        long: "Within a group, uses CPUs in the order listed, whether they are performance or efficiency cores. Cannot \
               be used with -ap, -aP, -ae or -aE.",
        since: SinceVersion::DiskSpd("2.3"),
        example: "-aup",
        apply: unordered,
        ..AFFINITY
    },
    OptionRow {
        name: "-n",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        xml: &["DisableAffinity"],
        short: "do not bind threads to CPUs",
        long: "Leaves the placement of threads to the scheduler. Cannot be used with an -a that lists CPUs or sets an \
               order.",
        example: "-n",
        apply: |builder, _| {
            builder.span.affinity.disabled = true;
            Ok(())
        },
        ..AFFINITY
    },
];

/// An error at a byte of the value, with the argument and a mark below the character.
fn marked(given: &GivenOption<'_>, at: usize, message: &str) -> String {
    let before = given.argument.chars().count() - given.value.chars().count();
    let column = before + given.value[..at].chars().count();
    format!("{message}\n{}", affinity::marked(given.argument, column))
}

fn modifiers(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    for (at, letter) in given.value.trim_end().char_indices() {
        match letter {
            'c' => builder.span.affinity.traversal = Some(Traversal::CoreAware),
            's' => builder.span.affinity.group_span = Some(GroupSpan::Span),
            'p' => set_efficiency(builder, EfficiencyOrder::PerformanceFirst)?,
            'P' => set_efficiency(builder, EfficiencyOrder::FillPerformanceFirst)?,
            'e' => set_efficiency(builder, EfficiencyOrder::EfficiencyFirst)?,
            'E' => set_efficiency(builder, EfficiencyOrder::FillEfficiencyFirst)?,
            _ => {
                let message = "unexpected character; expected the letters c, s, p, P, e, E (list CPUs in a separate \
                               -a)";
                return Err(marked(given, at, message));
            }
        }
    }
    Ok(())
}

fn set_efficiency(builder: &mut Builder, order: EfficiencyOrder) -> Result<(), String> {
    let efficiency = &mut builder.span.affinity.efficiency;
    match *efficiency {
        None => {
            *efficiency = Some(order);
            Ok(())
        }
        Some(earlier) if (earlier == EfficiencyOrder::Unordered) != (order == EfficiencyOrder::Unordered) => {
            Err("-aup (no order) cannot be combined with -ap, -aP, -ae or -aE".to_owned())
        }
        Some(_) => Err("only one of -ap, -aP, -ae, -aE and -aup can be given, and only once".to_owned()),
    }
}

fn unordered(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    match given.value.trim_end().chars().next() {
        None => Err("a letter is missing after -au; the only form is -aup".to_owned()),
        Some('p') if given.value.trim_end() == "p" => set_efficiency(builder, EfficiencyOrder::Unordered),
        Some('p') => Err(marked(given, 1, "unexpected character after -aup; nothing may follow it")),
        Some(_) => Err(marked(given, 0, "unknown letter after -au; the only form is -aup")),
    }
}

fn list(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let text = given.value.trim_end();
    if text.is_empty() || text == "g" {
        return Ok(());
    }
    let list = affinity::parse(text).map_err(|fault| marked(given, fault.at, &fault.message))?;
    for group in list.empty_groups {
        builder.warn(format!(
            "'{}' lists no CPUs in group {group}, so the group is not used; to use the whole group, give -ag{group} as \
             a separate option",
            given.argument
        ));
    }
    // An entry never joins one of an earlier switch whose CPUs are not all smaller.
    for entry in list.entries {
        if entry.is_whole_group() {
            builder.span.affinity.listed.push(entry);
        } else {
            for cpu in entry.cpus() {
                model::affinity::push_cpu(&mut builder.span.affinity.listed, entry.group, cpu);
            }
        }
    }
    Ok(())
}
