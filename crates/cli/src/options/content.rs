//! `-Z`: contents of writes.

use super::row::{Group, OptionRow, Repeat, Scope, SinceVersion, ValueForm};
use super::target::size_value;
use crate::builder::{Builder, GivenOption};
use model::profile::WriteSource;
use std::path::PathBuf;

const CONTENT: OptionRow = OptionRow { group: Group::WriteBuffers, ..OptionRow::BASE };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-Z",
        lead: ValueForm::Nothing,
        repeat: Repeat::Harmless,
        xml: &["WriteBufferContent"],
        short: "write zeros [default: the bytes 00..FF repeating]",
        long: "Writes zeros instead of the repeating bytes 00..FF. Files created by -c are then also filled with \
               zeros.",
        example: "-Z",
        apply: |builder, _| {
            builder.settings().zero_write_buffers = true;
            Ok(())
        },
        ..CONTENT
    },
    OptionRow {
        name: "-Zr",
        repeat: Repeat::Harmless,
        scope: Scope::TimeSpan,
        xml: &["RandomWriteData"],
        short: "new random data for every write",
        long: "Fills the buffer with new random bytes before every write; this costs CPU time.",
        since: SinceVersion::DiskSpd("2.0.20"),
        example: "-Zr",
        apply: |builder, given| {
            if !given.value.trim_end().is_empty() {
                return Err(format!(
                    "unexpected '{}' after -Zr; the forms are -Z, -Zr and -Z<size>[,<file>]",
                    given.value
                ));
            }
            builder.span.random_write_data = true;
            Ok(())
        },
        ..CONTENT
    },
    OptionRow {
        name: "-Z",
        value: "<size>[K|M|G|T|b][,<file>]",
        xml: &["WriteBufferContent"],
        short: "write data from a buffer of this size, random or filled from a file",
        long: "Each target has a buffer of this size, and each write takes its data from a random place in it. The \
               buffer is filled with random bytes or, if a file is named, from the start of this file (repeated if it \
               is shorter). The buffer must be at least as large as a block. -Z<size> overrides -Z, and -Z overrides \
               -Zr.",
        example: "-Z1M",
        apply: source,
        ..CONTENT
    },
];

fn source(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let (size, file) = match given.value.split_once(',') {
        Some((_, "")) => return Err("a file name is missing after the comma".to_owned()),
        Some((size, file)) => (size, Some(PathBuf::from(file))),
        None => (given.value, None),
    };
    let size = size_value(builder, size, "size of the write source")?;
    if size.get() == 0 {
        return Err("the size of the write source must be above 0".to_owned());
    }
    builder.settings().write_source = Some(WriteSource { size, file });
    Ok(())
}
