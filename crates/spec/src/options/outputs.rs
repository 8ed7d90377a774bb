//! `--json --xml --text --csv --label`: results as files, and what is noted in them.

use super::own::OWN;
use super::row::{Kind, OptionRow, Repeat};
use crate::builder::{Builder, Fault, Given};
use crate::outputs::Form;

const OUTPUT: OptionRow = OptionRow { value: "=<file>", kind: Kind::Value, repeat: Repeat::Error, ..OWN };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--json",
        short: "write the complete results as JSON to this file; - = stdout, instead of the report",
        long: "Writes everything that was asked for, decided and measured to a file that diskspd report makes every \
               other form from. With - it goes to stdout in place of the report. The file is complete or not there: \
               it is written under another name and renamed at the end of the run. It may not be a target, a device, \
               a directory or a FIFO. A file that is there is replaced only by a run that has figures, and only if it \
               is empty or an earlier result of this form; --replace-output allows others.",
        example: "--json=result.json",
        apply: |builder, given| output(builder, given, Form::Json),
        ..OUTPUT
    },
    OptionRow {
        name: "--xml",
        short: "write the results as XML, as -Rxml prints them, to this file",
        long: "Writes DiskSpd's XML results to a file beside what goes to stdout; with - to stdout instead. The file \
               is treated like that of --json.",
        example: "--xml=result.xml",
        apply: |builder, given| output(builder, given, Form::Xml),
        ..OUTPUT
    },
    OptionRow {
        name: "--text",
        short: "write the text report to this file",
        long: "Writes the text report to a file beside what goes to stdout; with - to stdout instead. The file is \
               treated like that of --json.",
        example: "--text=result.txt",
        apply: |builder, given| output(builder, given, Form::Text),
        ..OUTPUT
    },
    OptionRow {
        name: "--csv",
        short: "write the figures as a table, one row per thread, target and direction, to this file",
        long: "Writes a table with a line of column names, one row per thread, target and direction, and rows of \
               totals; with - to stdout instead of the report. The file is treated like that of --json.",
        example: "--csv=result.csv",
        apply: |builder, given| output(builder, given, Form::Csv),
        ..OUTPUT
    },
    OptionRow {
        name: "--replace-output",
        value: "",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        short: "let results replace files that are no results of their kind",
        long: "A result, a live stream or a recording replaces an existing file only if that is empty or a document of \
               the same kind that this program wrote; with --replace-output any regular file. A run without figures \
               replaces nothing, with this option or without. Targets are another matter: that of --overwrite, which \
               does not concern results.",
        example: "--replace-output",
        apply: |builder, _| {
            builder.options.replace_output = true;
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "--label",
        value: "=<key>=<value>",
        repeat: Repeat::Accumulates,
        short: "note a name and a value with the results, e.g. --label firmware=2.1",
        long: "The results carry the name and the value; nothing else depends on them. May be given again with other \
               names.",
        example: "--label=firmware=2.1",
        apply: label,
        ..OUTPUT
    },
];

fn output(builder: &mut Builder, given: &Given<'_>, form: Form) -> Result<(), Fault> {
    builder.options.outputs.add(form, given.value).map_err(Fault)
}

fn label(builder: &mut Builder, given: &Given<'_>) -> Result<(), Fault> {
    let Some((key, value)) = given.value.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err(Fault(format!("a label is of the form KEY=VALUE, not '{}'", given.value)));
    };
    if builder.options.labels.iter().any(|(known, _)| known == key) {
        return Err(Fault(format!("there is a label '{key}' already")));
    }
    builder.options.labels.push((key.to_owned(), value.to_owned()));
    Ok(())
}
