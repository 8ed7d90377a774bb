//! `-b -B -c -f`: sizes, bounds and creation of targets.

use super::row::{Group, OptionRow, Pass, Repeat, ValueForm};
use crate::builder::{Builder, GivenOption};
use crate::size;
use model::limits::BLOCK_SIZE_BYTES_MAX;
use model::units::Bytes;

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-b",
        value: "<size>[K|M|G|T|b]",
        pass: Pass::One,
        xml: &["BlockSize"],
        group: Group::Targets,
        short: "bytes per I/O [default 64K]",
        long: "Bytes per I/O. In all other sizes on the command line, even those before -b, the suffix b means blocks \
               of this size. In -b itself, the suffix b means blocks of the size set so far: the default, or that of \
               an earlier -b.",
        on_linux: "A run has blocks of at most 2 GiB - 4 KiB, which Linux transfers in one I/O.",
        example: "-b4K",
        apply: block_size,
        ..OptionRow::BASE
    },
    OptionRow {
        name: "-B",
        value: "<base>[:<length>]",
        repeat: Repeat::Error,
        xml: &["BaseFileOffset", "MaxFileSize"],
        group: Group::Targets,
        short: "I/O only at offsets from <base> on and, with <length>, below <base>+<length> [default 0, no limit]",
        long: "Restricts I/O to offsets at or above <base> and, with <length>, below <base>+<length>. As <length> sets \
               the maximum offset, it cannot be combined with -f<size>.",
        since: super::SinceVersion::DiskSpd("2.0"),
        example: "-B5M:1M",
        apply: base,
        ..OptionRow::BASE
    },
    OptionRow {
        name: "-c",
        value: "<size>[K|M|G|T|b]",
        xml: &["FileSize"],
        group: Group::Targets,
        short: "create file targets with this size before the run",
        long: "Before the run, creates every file target with this size, filled with the repeating bytes 00..FF, with \
               zeros (-Z) or with random bytes (-Zr, -Z<size>). Devices are left as they are. -c0 creates nothing.",
        on_linux: "A file that this program created earlier with the same size and fill is reused; --recreate creates \
                   it again. A file that this program did not create is refused unless --overwrite is given.",
        example: "-c1G",
        apply: create_size,
        ..OptionRow::BASE
    },
    OptionRow {
        name: "-f",
        lead: ValueForm::Digit,
        value: "<size>[K|M|G|T|b]",
        repeat: Repeat::Error,
        xml: &["MaxFileSize"],
        group: Group::Targets,
        short: "I/O only below this offset, counted from the start of the target",
        long: "Upper limit of offsets, exclusive, counted from the start of the target and not from the base of -B. \
               Without it, or with 0, the limit is the end of the target.",
        on_linux: "On a character device this is the size of the target.",
        example: "-f64M",
        apply: maximum,
        ..OptionRow::BASE
    },
    OptionRow {
        name: "-f",
        value: "<rst>",
        repeat: Repeat::Accumulates,
        xml: &["RandomAccess", "SequentialScan", "TemporaryFile"],
        group: Group::Caching,
        short: "open with hints: r random access, s sequential scan, t temporary file",
        long: "Hints to the page cache, in any combination: r for random access, s for a sequential scan, t for a \
               temporary file.",
        since: super::SinceVersion::DiskSpd("2.0"),
        on_linux: "r and s call posix_fadvise with POSIX_FADV_RANDOM and POSIX_FADV_SEQUENTIAL. t is accepted and \
                   reported, but has no effect.",
        example: "-frs",
        apply: hints,
        ..OptionRow::BASE
    },
];

/// A size; `what` names it in the message.
pub(super) fn size_value(builder: &Builder, value: &str, what: &str) -> Result<Bytes, String> {
    size::parse(value, builder.block_bytes()).map(Bytes).map_err(|fault| format!("invalid {what}: {fault}"))
}

fn block_size(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let block = size_value(builder, given.value, "block size")?;
    if block.get() == 0 || block.get() > BLOCK_SIZE_BYTES_MAX {
        return Err(format!("invalid block size: it must be 1 to {BLOCK_SIZE_BYTES_MAX} bytes, not {}", block.get()));
    }
    builder.settings().block_size = block;
    Ok(())
}

fn base(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    if builder.seen.base {
        return Err("the base offset (-B) can only be given once".to_owned());
    }
    let invalid = |what: &str, fault| format!("invalid {what}: {fault}; the form is -B<base> or -B<base>:<length>");
    let text = given.value.trim_end();
    let block_bytes = builder.block_bytes();
    let (base, rest) = size::leading(text, block_bytes).map_err(|fault| invalid("base offset", fault))?;
    if let Some(length) = rest.strip_prefix(':') {
        let length = size::parse(length, block_bytes).map_err(|fault| invalid("length", fault))?;
        let maximum = base.checked_add(length).ok_or_else(|| "base plus length exceeds 64 bits".to_owned())?;
        set_maximum(builder, maximum)?;
    } else if !rest.is_empty() {
        return Err(format!("unexpected '{rest}' after the base offset; the form is -B<base> or -B<base>:<length>"));
    }
    builder.seen.base = true;
    builder.settings().base_offset = Bytes(base);
    Ok(())
}

fn set_maximum(builder: &mut Builder, maximum: u64) -> Result<(), String> {
    if builder.seen.maximum {
        return Err("the maximum offset (-B<base>:<length> or -f<size>) can only be given once".to_owned());
    }
    builder.seen.maximum = true;
    builder.settings().max_offset = Bytes(maximum);
    Ok(())
}

fn create_size(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    builder.settings().create_size = Some(size_value(builder, given.value, "size of the target")?);
    Ok(())
}

fn maximum(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let maximum = size_value(builder, given.value, "maximum offset")?;
    set_maximum(builder, maximum.get())
}

fn hints(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let fault = || "-f takes a size, or the hint letters r, s and t".to_owned();
    let letters = given.value.trim_end();
    if letters.is_empty() {
        return Err(fault());
    }
    for letter in letters.chars() {
        let target = builder.settings();
        match letter {
            'r' => target.random_access_hint = true,
            's' => target.sequential_scan_hint = true,
            't' => target.temporary_hint = true,
            _ => return Err(fault()),
        }
    }
    Ok(())
}
