//! Wording of quantities, lists and paths in messages.

use model::facts::TargetFacts;
use model::operation::Operation;
use model::plan::TargetPlan;
use model::profile::Reduction;
use model::units::counted;
use std::path::Path;

/// A size without rounding, in the largest unit with a whole number: `1280KiB`.
pub(crate) fn exact(bytes: u64) -> String {
    const UNITS: [(u32, &str); 5] = [(50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match UNITS.into_iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => counted(bytes, "byte"),
    }
}

/// A size as a position: zero has no unit.
pub(crate) fn offset(bytes: u64) -> String {
    if bytes == 0 { "0".to_owned() } else { exact(bytes) }
}

/// The action of I/Os that change a target, with its option, at the beginning of a sentence.
pub(crate) fn changing(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "Reading",
        Operation::Write => "Writing (-w)",
        Operation::Discard => "Discarding (--discard)",
        Operation::WriteZeroes => "Writing zeroes (--write-zeroes)",
    }
}

/// "a", "a and b", "a, b and c"
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `'f'`, `stream oltp, 'f'`
pub(crate) fn target(target: &TargetPlan) -> String {
    let stream = target.stream.as_ref().map(|name| format!("stream {name}, ")).unwrap_or_default();
    format!("{stream}'{}'", target.path.display())
}

/// A path in quotes, and the target of a symbolic link.
pub fn path(path: &Path, facts: &TargetFacts) -> String {
    match &facts.resolved {
        Some(resolved) => format!("'{}' (a symbolic link to '{}')", path.display(), resolved.display()),
        None => format!("'{}'", path.display()),
    }
}

/// Data that storage can reduce, in words.
pub(crate) fn reducible(reduction: Reduction) -> String {
    let Reduction { compress_ratio, dedupe_percent } = reduction;
    let compressible = format!("newly generated data that compresses {compress_ratio}:1");
    match dedupe_percent {
        0 => compressible,
        percent => format!("{compressible}, with {percent}% repeated blocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_never_rounded() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1000, "1000 bytes"),
            (8192, "8KiB"),
            (1 << 30, "1GiB"),
            ((1 << 30) + 1, "1073741825 bytes"),
            ((1 << 30) + 1024, "1048577KiB"),
            (9 << 40, "9TiB"),
            (1 << 63, "8192PiB"),
        ] {
            assert_eq!(exact(bytes), text);
        }
    }

    #[test]
    fn lists_read_like_sentences() {
        let list_of = |items: &[&str]| list(&items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>());
        assert_eq!(list_of(&["a"]), "a");
        assert_eq!(list_of(&["a", "b"]), "a and b");
        assert_eq!(list_of(&["a", "b", "c"]), "a, b and c");
    }
}
