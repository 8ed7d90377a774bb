//! A JSON Schema as a readable page: a table of fields per type.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Prefix of references to types.
const TYPES: &str = "#/$defs/";

/// A section for the document, then one for each type in the order in which they are referred to.
/// In `schema` every field is required, in the order of the document.
pub(crate) fn page(schema: &Value) -> String {
    let mut page = String::from("\n## The document\n");
    section(&mut page, schema);
    let mut seen = BTreeSet::new();
    let mut open = references(schema);
    while !open.is_empty() {
        let name = open.remove(0);
        if !seen.insert(name.clone()) {
            continue;
        }
        let kind = &schema["$defs"][&name];
        let _ = write!(page, "\n### {name}\n");
        section(&mut page, kind);
        // The parts of a type follow it.
        open.splice(0..0, references(kind));
    }
    page
}

fn section(page: &mut String, kind: &Value) {
    let _ = write!(page, "\n{}\n", text(kind, "description"));
    let fields = fields(kind);
    let variants = kind.get("oneOf").or_else(|| kind.get("anyOf")).and_then(Value::as_array);
    if let Some(variants) = variants {
        page.push_str("\n| One of | Meaning |\n|---|---|\n");
        for variant in variants {
            row(page, &[&form(variant), &meaning(variant)]);
        }
        if !fields.is_empty() {
            page.push_str("\nWith each of them:\n");
        }
    }
    if !fields.is_empty() {
        page.push_str("\n| Field | Type | Meaning |\n|---|---|---|\n");
        for (name, field) in fields {
            row(page, &[&format!("`{name}`"), &form(field), &text(field, "description")]);
        }
    }
    if variants.is_none() && kind.get("properties").is_none() && kind.get("type") != Some(&Value::from("object")) {
        let _ = write!(page, "\nA value of type {}.\n", form(kind));
    }
}

/// Fields in the order of the document.
fn fields(kind: &Value) -> Vec<(&str, &Value)> {
    let names = kind.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    names.filter_map(|name| kind.get("properties")?.get(name).map(|field| (name, field))).collect()
}

/// The form of a value: `integer`, `array of [Row](#row)`, `"keep"`, `{"iops": integer}`.
fn form(kind: &Value) -> String {
    if let Some(name) = reference(kind) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(constant) = kind.get("const") {
        return format!("`{constant}`");
    }
    if let Some(words) = kind.get("enum").and_then(Value::as_array) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(variants) = kind.get("oneOf").or_else(|| kind.get("anyOf")).and_then(Value::as_array) {
        return variants.iter().map(form).collect::<Vec<_>>().join(" or ");
    }
    match kind.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().map(|one| simple_form(one, kind)).collect::<Vec<_>>().join(" or "),
        Some(one) => simple_form(one, kind),
        None => "anything".to_owned(),
    }
}

fn simple_form(name: &Value, kind: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    match name {
        "array" => {
            let count = kind.get("minItems").filter(|&count| kind.get("maxItems") == Some(count));
            let count = count.map(|count| format!("{count} ")).unwrap_or_default();
            format!("array of {count}{}", kind.get("items").map_or_else(|| "anything".to_owned(), form))
        }
        "object" => {
            if let Some(values) = kind.get("additionalProperties").filter(|values| values.is_object()) {
                return format!("object of {}", form(values));
            }
            let fields: Vec<String> =
                fields(kind).into_iter().map(|(name, field)| format!("`\"{name}\"`: {}", form(field))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        _ => name.to_owned(),
    }
}

/// The meaning of a variant, and its fields.
fn meaning(variant: &Value) -> String {
    let mut meaning = text(variant, "description");
    let inner: Vec<(&str, &Value)> = fields(variant).into_iter().flat_map(|(_, field)| fields(field)).collect();
    for (name, field) in fields(variant).into_iter().chain(inner) {
        let description = text(field, "description");
        if !description.is_empty() {
            let _ = write!(meaning, " `{name}`: {description}");
        }
    }
    meaning
}

fn text(kind: &Value, name: &str) -> String {
    kind.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn row(page: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn reference(kind: &Value) -> Option<&str> {
    kind.get("$ref")?.as_str()?.strip_prefix(TYPES)
}

/// The types that a type refers to.
fn references(kind: &Value) -> Vec<String> {
    if let Some(name) = reference(kind) {
        return vec![name.to_owned()];
    }
    match kind {
        Value::Object(parts) => {
            let required = fields(kind).into_iter().flat_map(|(_, field)| references(field));
            let others = parts.iter().filter(|(name, _)| *name != "$defs" && *name != "properties");
            required.chain(others.flat_map(|(_, part)| references(part))).collect()
        }
        Value::Array(parts) => parts.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
