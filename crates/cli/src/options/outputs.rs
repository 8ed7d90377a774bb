//! `--json --xml --text --csv --fio-json --brief --label`: results as files, and their labels.

use super::own::OWN;
use super::row::{Group, Kind, OptionRow, Repeat};
use crate::builder::{Builder, GivenOption};
use crate::file_name::not_an_option;
use crate::outputs::Form;
use crate::request::ShortReport;

const OUTPUT: OptionRow = OptionRow { value: "=<file>", kind: Kind::Value, repeat: Repeat::Error, ..OWN };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--json",
        group: Group::Output,
        short: "write the complete results as JSON to this file ('-' writes them to stdout in place of the report)",
        long: "All settings, decisions and measurements; 'diskspd report' converts them to every other format. The \
               file is never incomplete: it is written under a temporary name and renamed at the end of the run. It \
               may not be a target, a device, a directory or a FIFO. An existing file is replaced only by a run with \
               results, and only if it is empty or an earlier result in this format; --replace-output also replaces \
               other files.",
        example: "--json=result.json",
        apply: |builder, given| output(builder, given, Form::Json),
        ..OUTPUT
    },
    OptionRow {
        name: "--xml",
        group: Group::Output,
        short: "write the results as XML, as -Rxml prints them, to this file",
        long: "In addition to the report on stdout; with - they go to stdout instead of the report. The rules for the \
               file are those of --json.",
        example: "--xml=result.xml",
        apply: |builder, given| output(builder, given, Form::Xml),
        ..OUTPUT
    },
    OptionRow {
        name: "--text",
        group: Group::Output,
        short: "write the text report to this file",
        long: "In addition to stdout. With - it goes to stdout, even if the profile (-X) asks for XML results. The \
               rules for the file are those of --json.",
        example: "--text=result.txt",
        apply: |builder, given| output(builder, given, Form::Text),
        ..OUTPUT
    },
    OptionRow {
        name: "--csv",
        group: Group::Output,
        short: "write the results as CSV, one row per thread, target and direction, to this file",
        long: "The first line has the names of the columns, the last rows the totals; with - the output goes to stdout \
               instead of the report. The rules for the file are those of --json.",
        example: "--csv=result.csv",
        apply: |builder, given| output(builder, given, Form::Csv),
        ..OUTPUT
    },
    OptionRow {
        name: "--fio-json",
        group: Group::Output,
        short: "write the results in the form of fio's JSON to this file, for programs that read fio's",
        long: "As fio 3.36 prints them with --output-format=json+: each stream is a job, each timespan a group; with - \
               the output goes to stdout instead of the report. docs/outputs.md lists the fields. The rules for the \
               file are those of --json.",
        example: "--fio-json=result.fio.json",
        apply: |builder, given| output(builder, given, Form::Fio),
        ..OUTPUT
    },
    OptionRow {
        name: "--trace",
        group: Group::Output,
        short: "write each I/O of the run, its time, size and offset, to this file (.iotrace) for 'diskspd trace'",
        long: "Writes all I/Os and flushes of the load, those of the warm-up and the cool-down too: target, thread, start, latency, \
               offset, size and kind, about 10 bytes each (docs/formats/iotrace.md). 'diskspd trace show' prints their \
               figures, 'diskspd trace replay' issues them again. The threads of the load never wait for the file: a note \
               in the result states how many I/Os could not be written in time. Put the file on other storage than the \
               targets. It is written under a temporary name, renamed at the end of the run, and replaces only an empty file \
               or an earlier trace; --replace-output also replaces other files.",
        example: "--trace=own.iotrace",
        apply: |builder, given| {
            not_an_option(given.value.as_ref())?;
            if given.value.is_empty() {
                return Err("a file name is missing".to_owned());
            }
            builder.options.trace = Some(given.value.into());
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "--replace-output",
        group: Group::Output,
        value: "",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        short: "let output files replace any regular file, not only earlier results",
        long: "By default, a result, a live stream or a recording replaces only a file that is empty or a document of \
               the same kind written by this program. A run without results never replaces a file. For targets, see \
               --overwrite.",
        example: "--replace-output",
        apply: |builder, _| {
            builder.options.replace_output = true;
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "--brief",
        group: Group::Output,
        value: "",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        short: "print at most 12 lines: figures, findings and the result on a line",
        long: "The figures are IOPS, mean and 99th percentile with their confidence intervals. Files and exit status \
               are as without it.",
        example: "--brief",
        apply: |builder, _| {
            builder.options.short_report = Some(ShortReport::Brief);
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "--label",
        group: Group::Output,
        value: "=<key>=<value>",
        repeat: Repeat::Accumulates,
        short: "add a name and a value to the results, e.g. --label firmware=2.1",
        long: "It has no other effect. May be given again with other names.",
        example: "--label=firmware=2.1",
        apply: label,
        ..OUTPUT
    },
];

fn output(builder: &mut Builder, given: &GivenOption<'_>, form: Form) -> Result<(), String> {
    builder.options.outputs.add(form, given.value)
}

fn label(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let Some((key, value)) = given.value.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err(format!("a label must have the form KEY=VALUE, not '{}'", given.value));
    };
    if builder.options.labels.iter().any(|(known, _)| known == key) {
        return Err(format!("label '{key}' is already set"));
    }
    builder.options.labels.push((key.to_owned(), value.to_owned()));
    Ok(())
}
