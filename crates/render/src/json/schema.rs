//! The form of the document as JSON Schema, generated from the types and their comments.

use super::Document;
use super::live::{IntervalLine, Line};
use model::device_interval::WatchLine;
use model::live::{LIVE_SCHEMA, LIVE_SCHEMA_VERSION};
use model::result::{RESULT_SCHEMA, RESULT_SCHEMA_VERSION};
use model::sweep::{SWEEP_SCHEMA, SWEEP_SCHEMA_VERSION, Sweep};
use model::trace::{TRACE_SCHEMA, TRACE_SCHEMA_VERSION};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The result document as read, as JSON Schema (draft 2020-12).
pub fn schema() -> Value {
    of_document(SchemaSettings::draft2020_12())
}

/// The output of [`super::write`], as JSON Schema. Here `required` lists every field, in the order of the document.
pub fn schema_of_written() -> Value {
    of_document(SchemaSettings::draft2020_12().for_serialize())
}

/// `sweep.json` and `repeat.json` as read, as JSON Schema (draft 2020-12).
pub fn schema_of_sweep() -> Value {
    of_sweep(SchemaSettings::draft2020_12())
}

/// The same as written. Here `required` lists every field, in the order of the file.
pub fn schema_of_written_sweep() -> Value {
    of_sweep(SchemaSettings::draft2020_12().for_serialize())
}

/// A line of the monitor as read, as JSON Schema (draft 2020-12).
pub fn schema_of_monitor() -> Value {
    generate::<WatchLine>(SchemaSettings::draft2020_12(), "One line of output from diskspd monitor")
}

/// The same as written.
pub fn schema_of_written_monitor() -> Value {
    generate::<WatchLine>(SchemaSettings::draft2020_12().for_serialize(), "One line of output from diskspd monitor")
}

/// The figures of a trace, as JSON Schema (draft 2020-12).
pub fn schema_of_trace() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = generate::<trace::figures::Document<'_>>(settings, "Output of diskspd trace show --json");
    schema["properties"]["schema"]["const"] = json!(TRACE_SCHEMA);
    schema["properties"]["schema_version"]["const"] = json!(TRACE_SCHEMA_VERSION);
    schema
}

/// A line of a live stream, as JSON Schema (draft 2020-12).
pub fn schema_of_live() -> Value {
    let mut schema = generate::<Line<'_>>(
        SchemaSettings::draft2020_12().for_serialize(),
        "One line of output from diskspd --live-json",
    );
    schema["$defs"]["LiveBegin"]["properties"]["schema"]["const"] = json!(LIVE_SCHEMA);
    schema["$defs"]["LiveBegin"]["properties"]["schema_version"]["const"] = json!(LIVE_SCHEMA_VERSION);
    schema
}

/// An interval of a live stream, the same.
pub fn schema_of_live_interval() -> Value {
    generate::<IntervalLine<'_>>(
        SchemaSettings::draft2020_12().for_serialize(),
        "One interval of output from diskspd --live-json",
    )
}

fn of_document(settings: SchemaSettings) -> Value {
    let mut schema = generate::<Document<'_>>(settings, "Result of diskspd");
    schema["properties"]["schema"]["const"] = json!(RESULT_SCHEMA);
    schema["properties"]["schema_version"]["const"] = json!(RESULT_SCHEMA_VERSION);
    schema
}

fn of_sweep(settings: SchemaSettings) -> Value {
    let mut schema = generate::<Sweep>(settings, "Result of diskspd sweep or repeat");
    schema["properties"]["schema"]["const"] = json!(SWEEP_SCHEMA);
    schema["properties"]["schema_version"]["const"] = json!(SWEEP_SCHEMA_VERSION);
    schema
}

fn generate<T: JsonSchema>(settings: SchemaSettings, title: &str) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = json!(title);
    tidy(&mut schema);
    schema
}

/// Comments have line breaks and Rust's names, which readers of JSON do not know.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = without_links(&description.replace('\n', " ")).replace("`None`", "null");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// `` [`TimeSpanPlan::targets`] `` becomes `` `targets` ``.
fn without_links(text: &str) -> String {
    let mut tidy = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, behind)) = link.split_once("`]") else { break };
        let name = name.rsplit("::").next().unwrap_or(name);
        tidy.extend([before, "`", name, "`"]);
        rest = behind;
    }
    tidy + rest
}
