//! The form of the document as JSON Schema, made from the types and their comments.

use super::document::Document;
use super::{SCHEMA, SCHEMA_VERSION};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema, draft 2020-12.
pub fn schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Document<'_>>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Result of diskspd");
    schema["properties"]["schema"]["const"] = json!(SCHEMA);
    schema["properties"]["schema_version"]["const"] = json!(SCHEMA_VERSION);
    schema
}
