//! The lists of `-a`: CPUs, ranges of CPUs and groups.
//!
//! `LIST := 'g' NUM | ITEM (',' ITEM)*`, `ITEM := ['g' NUM ','] NUM ['-' NUM]`. A group counts
//! until the next one in the same list; before any it is 0.

use crate::number::split_digits;
use model::affinity::{AffinityEntry, push_cpu};
use model::limits::{CPUS_PER_GROUP, GROUP_MAX};

/// An error in a list, and its byte offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListFault {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// The contents of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuList {
    /// In the order listed.
    pub(crate) entries: Vec<AffinityEntry>,
    /// Groups that were named and then replaced by another before any CPU followed.
    pub(crate) empty_groups: Vec<u16>,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// Reads a list; `text` is not empty.
pub(crate) fn parse(text: &str) -> Result<CpuList, ListFault> {
    let mut reader = Reader { text, at: 0 };
    let mut list = CpuList::default();
    let mut group = 0;
    let mut group_is_unused = false;
    loop {
        let start = reader.at;
        if reader.take('g') {
            if group_is_unused {
                list.empty_groups.push(group);
            }
            group = reader.group()?;
            group_is_unused = true;
            if reader.is_at_end() {
                if start > 0 {
                    return Err(ListFault {
                        at: start,
                        message: format!(
                            "group {group} is given without CPUs; give a whole group in a separate option (-ag{group})"
                        ),
                    });
                }
                list.entries.push(AffinityEntry::whole_group(group));
                return Ok(list);
            }
        } else {
            for cpu in reader.cpus()? {
                push_cpu(&mut list.entries, group, cpu);
            }
            group_is_unused = false;
            if reader.is_at_end() {
                return Ok(list);
            }
        }
        reader.comma()?;
    }
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn comma(&mut self) -> Result<(), ListFault> {
        if !self.take(',') {
            return Err(self.syntax("',' or the end of the list"));
        }
        if self.is_at_end() {
            return Err(ListFault {
                at: self.at,
                message: "incomplete affinity list; a CPU or group is missing at the end".to_owned(),
            });
        }
        Ok(())
    }

    fn syntax(&self, wanted: &str) -> ListFault {
        ListFault { at: self.at, message: format!("syntax error in the affinity list at the mark; expected {wanted}") }
    }

    /// A number; one that does not fit is larger than any limit.
    fn number(&mut self, what: &str) -> Result<u64, ListFault> {
        let (digits, _) = split_digits(self.rest());
        if digits.is_empty() {
            return Err(self.syntax(what));
        }
        let number = digits.parse().unwrap_or(u64::MAX);
        self.at += digits.len();
        Ok(number)
    }

    fn group(&mut self) -> Result<u16, ListFault> {
        let at = self.at;
        let group = self.number("a group number")?;
        u16::try_from(group).map_err(|_| ListFault {
            at,
            message: format!("group {} is out of range; the largest is {GROUP_MAX}", &self.text[at..self.at]),
        })
    }

    /// One CPU or a range of them.
    fn cpus(&mut self) -> Result<std::ops::RangeInclusive<u32>, ListFault> {
        let at = self.at;
        let first = self.number("a CPU number, or 'g' followed by a group number")?;
        let is_range = self.take('-');
        let last = if is_range { self.number("the last CPU of the range")? } else { first };
        let typed = &self.text[at..self.at];
        let limit = u64::from(CPUS_PER_GROUP) - 1;
        if first > limit || last > limit {
            let what = if is_range { "CPU range" } else { "CPU" };
            return Err(ListFault {
                at,
                message: format!(
                    "{what} {typed} is out of range; CPUs in a group are numbered 0 to {limit}; to select CPU n of \
                     the machine, give group n / {CPUS_PER_GROUP} (rounded down) and CPU n mod {CPUS_PER_GROUP}, as \
                     g<group>,<CPU>"
                ),
            });
        }
        if first > last {
            return Err(ListFault { at, message: format!("CPU range {typed} is reversed; give the lower CPU first") });
        }
        // Both are at most 63.
        Ok(first as u32..=last as u32)
    }
}

/// An argument and a second line that marks the character at `column`.
pub(crate) fn marked(argument: &str, column: usize) -> String {
    format!("{argument}\n{:column$}^", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn masks(text: &str) -> Vec<(u16, u64)> {
        let list = parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        list.entries.into_iter().map(|entry| (entry.group, entry.mask)).collect()
    }

    #[test]
    fn lists_become_masks_that_keep_the_order() {
        for text in ["0,1,2", "g0,0,1,2", "0-2", "00,01,2"] {
            assert_eq!(masks(text), [(0, 7)], "{text}");
        }
        assert_eq!(masks("g0,0,3-5,7"), [(0, 0xb9)]);
        assert_eq!(masks("g0,0-10,g0,15-20"), [(0, 0x1f_87ff)]);
        assert_eq!(masks("g0,5,3"), [(0, 0x20), (0, 8)]);
        assert_eq!(masks("3,1,2"), [(0, 8), (0, 6)]);
        assert_eq!(masks("0,0"), [(0, 1), (0, 1)]);
        assert_eq!(masks("g0,0-2,g1,5-7"), [(0, 7), (1, 0xe0)]);
        assert_eq!(masks("g1"), [(1, 0)]);
        assert_eq!(masks("g65535,63"), [(65_535, 1 << 63)]);
        assert_eq!(masks("3-3"), [(0, 8)]);
        assert_eq!(masks("0-63"), [(0, u64::MAX)]);
    }

    #[test]
    fn a_group_without_cpus_in_a_list_is_remembered() {
        let list = parse("g0,g1,2").unwrap();
        assert_eq!(list.empty_groups, [0]);
        assert_eq!(list.entries, [AffinityEntry { group: 1, mask: 4 }]);
        assert_eq!(parse("g0,1,g1,2").unwrap().empty_groups, Vec::<u16>::new());
    }

    #[test]
    fn faults_are_named_and_marked() {
        for (text, at, word) in [
            ("64", 0, "CPU 64 is out of range"),
            ("g0,300", 3, "CPU 300 is out of range"),
            ("0-64", 0, "CPU range 0-64 is out of range"),
            ("4294967296", 0, "out of range"),
            ("99999999999999999999", 0, "out of range"),
            ("5-3", 0, "reversed"),
            ("g70000,1", 1, "group 70000 is out of range"),
            ("g65536", 1, "out of range"),
            ("g0,g1", 3, "group 1 is given without CPUs"),
            ("g1,g0", 3, "group 0 is given without CPUs"),
            ("0,", 2, "incomplete"),
            ("g0,", 3, "incomplete"),
            (",0", 0, "syntax"),
            ("0,,1", 2, "syntax"),
            ("gg0", 1, "syntax"),
            ("gc", 1, "syntax"),
            ("5-", 2, "syntax"),
            ("-3", 0, "syntax"),
            ("0x", 1, "syntax"),
            ("x", 0, "syntax"),
            ("1g2,3", 1, "syntax"),
            ("g1,,2", 3, "syntax"),
            ("0 1", 1, "syntax"),
        ] {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.at, at, "{text}: {fault:?}");
            assert!(fault.message.contains(word), "{text}: {fault:?}");
        }
    }

    #[test]
    fn the_mark_stands_under_the_character() {
        assert_eq!(marked("-a0x", 3), "-a0x\n   ^");
        assert_eq!(marked("-a,0", 2), "-a,0\n  ^");
    }

    proptest! {
        #[test]
        fn a_written_list_reads_back(cpus in prop::collection::vec((any::<u16>(), 0_u32..64), 1..40)) {
            let text: Vec<String> = cpus.iter().map(|(group, cpu)| format!("g{group},{cpu}")).collect();
            let read: Vec<(u16, u32)> = parse(&text.join(",")).unwrap().entries.into_iter()
                .flat_map(|entry| entry.cpus().map(move |cpu| (entry.group, cpu)))
                .collect();
            prop_assert_eq!(read, cpus);
        }

        #[test]
        fn any_text_is_read_or_marked_inside(text in "[g0-9,xé-]{1,12}") {
            if let Err(fault) = parse(&text) {
                prop_assert!(fault.at <= text.len());
                prop_assert!(text.is_char_boundary(fault.at));
            }
        }
    }
}
