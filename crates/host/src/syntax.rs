//! Notations of kernel files: lists of CPUs, sizes, labelled lines, escaped names.

use model::block_device::DeviceNumber;

/// One past the highest valid CPU number. Linux itself stops at 8192; a file with more is no list of CPUs.
pub(crate) const CPUS_MAX: u32 = 65_536;

/// `0-3,7` as numbers; `None` if it is no ascending list. An empty list is one.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus: Vec<u32> = Vec::new();
    let text = text.trim();
    if text.is_empty() {
        return Some(cpus);
    }
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        let ascends = cpus.last().is_none_or(|previous| first > *previous);
        if !ascends || last < first || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Digits only (`parse` alone would accept a plus sign).
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `48K`, `2M`, `1G` or plain bytes, as bytes.
pub(crate) fn size_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = is_number.then(|| digits.parse().ok())??;
    count.checked_mul(1 << shift)
}

/// The value of the first line `label : value`, trimmed; `None` if there is none or it is empty.
pub(crate) fn labelled<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim_end() == label && !value.is_empty()).then_some(value)
    })
}

/// The value of `label : 123 kB`, in bytes.
pub(crate) fn labelled_kib(text: &str, label: &str) -> Option<u64> {
    let value = labelled(text, label)?;
    let digits = value.strip_suffix("kB").map_or(value, str::trim_end);
    digits.parse::<u64>().ok()?.checked_mul(1024)
}

/// The words of a line of /proc/PID/stat after the name, which is in parentheses and may contain blanks and parentheses
/// itself.
pub(crate) fn words_behind_name(stat: &str) -> Option<std::str::SplitWhitespace<'_>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace())
}

/// `259:3` as a device number.
pub(crate) fn device_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber { major: number(major)?, minor: number(minor)? })
}

/// The choice in `one [two] three`, which is `two`; a single word without brackets is one.
pub(crate) fn bracketed(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let chosen = |word: &'_ str| word.strip_prefix('[').is_some_and(|rest| rest.ends_with(']'));
    let word = match words.clone().find(|word| chosen(word)) {
        Some(word) => word.trim_start_matches('[').trim_end_matches(']'),
        None => words.next().filter(|_| words.next().is_none())?,
    };
    (!word.is_empty()).then_some(word)
}

/// Sorts names so that numbers in them count as numbers: `sda2` before `sda10`.
pub(crate) fn in_natural_order(names: &mut [String]) {
    names.sort_by(|a, b| natural_key(a).cmp(&natural_key(b)));
}

/// Alternating text and numbers; overlong numbers sort last.
fn natural_key(name: &str) -> Vec<(&str, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits_at = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits_at);
        let text_at = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (digits, after) = after.split_at(text_at);
        key.push((text, if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) }));
        rest = after;
    }
    key
}

/// A name in which the kernel escaped blanks, tabs, line ends and backslashes as `\040` and the like.
pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut name = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits =
            bytes.get(at + 1..at + 4).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match digits {
            Some(&[a @ b'0'..=b'3', b, c]) if byte == b'\\' => {
                name.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                at += 4;
            }
            _ => {
                name.push(byte);
                at += 1;
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-3,7,10-11\n"), Some(vec![0, 1, 2, 3, 7, 10, 11]));
        assert_eq!(cpu_list("5"), Some(vec![5]));
        assert_eq!(cpu_list("\n"), Some(vec![]));
        for garbage in ["-", "3-1", "0-", "a", "1,,2", "+1", "1,1", "2,1", "0-4294967295", "0,65536", "1 2", "0-3:1/2"]
        {
            assert_eq!(cpu_list(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size_bytes("48K\n"), Some(49_152));
        assert_eq!(size_bytes("2M"), Some(2 << 20));
        assert_eq!(size_bytes("1G"), Some(1 << 30));
        assert_eq!(size_bytes("512"), Some(512));
        for garbage in ["", "K", "-1K", "+1", "1T", "18446744073709551615K", "1 K", "ä", "Ä"] {
            assert_eq!(size_bytes(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn labelled_lines() {
        let text = "processor\t: 0\nmodel name\t:  A  CPU \nmodel\t\t: 85\nempty:\n";
        assert_eq!(labelled(text, "model name"), Some("A  CPU"));
        assert_eq!(labelled(text, "model"), Some("85"));
        assert_eq!(labelled(text, "empty"), None);
        assert_eq!(labelled_kib("MemAvailable:   24432552 kB\n", "MemAvailable"), Some(24_432_552 * 1024));
        assert_eq!(labelled_kib("MemAvailable: lots kB\n", "MemAvailable"), None);
    }

    #[test]
    fn device_numbers() {
        assert_eq!(device_number("259:3"), Some(DeviceNumber { major: 259, minor: 3 }));
        for garbage in ["", ":", "1:", ":1", "1:2:3", "+1:2", "1: 2", "a:b", "4294967296:0", "-1:0"] {
            assert_eq!(device_number(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn choices() {
        assert_eq!(bracketed("none [mq-deadline] kyber bfq \n"), Some("mq-deadline"));
        assert_eq!(bracketed("[none] mq-deadline"), Some("none"));
        assert_eq!(bracketed("none\n"), Some("none"));
        for garbage in ["", "a b", "[]", "[", "a [b c"] {
            assert_eq!(bracketed(garbage).filter(|word| *word != "["), None, "{garbage:?}");
        }
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names =
            ["sda10", "sdb", "sda2", "sda", "nvme10n1", "nvme2n1p1", "nvme2n1", "dm-9", "dm-10"].map(str::to_owned);
        in_natural_order(&mut names);
        assert_eq!(names, ["dm-9", "dm-10", "nvme2n1", "nvme2n1p1", "nvme10n1", "sda", "sda2", "sda10", "sdb"]);
    }

    #[test]
    fn escaped_names() {
        assert_eq!(unescape(r"/a\040b\134c"), br"/a b\c");
        assert_eq!(unescape(r"\04"), br"\04");
        assert_eq!(unescape(r"\999\777"), br"\999\777");
    }

    proptest! {
        #[test]
        fn any_set_of_cpus_reads_back(set in proptest::collection::btree_set(0_u32..CPUS_MAX, 0..50), join in any::<bool>()) {
            let cpus: Vec<u32> = set.into_iter().collect();
            let mut parts: Vec<String> = Vec::new();
            let mut rest = &cpus[..];
            while let [first, ..] = rest {
                let run = if join { rest.iter().zip(*first..).take_while(|(a, b)| **a == *b).count() } else { 1 };
                parts.push(if run > 1 { format!("{first}-{}", rest[run - 1]) } else { first.to_string() });
                rest = &rest[run..];
            }
            prop_assert_eq!(cpu_list(&parts.join(",")), Some(cpus));
        }

        #[test]
        fn whole_kib_read_back(kib in 0..u64::MAX / 1024) {
            prop_assert_eq!(size_bytes(&format!("{kib}K")), Some(kib * 1024));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*", listlike in "[0-9,\\-]{0,40}") {
            let _ = (cpu_list(&text), size_bytes(&text), labelled_kib(&text, ""), unescape(&text));
            let _ = (device_number(&text), bracketed(&text), natural_key(&text));
            if let Some(cpus) = cpu_list(&listlike) {
                prop_assert!(cpus.is_sorted());
            }
        }
    }
}
