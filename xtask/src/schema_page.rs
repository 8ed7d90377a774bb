//! Fields of a JSON document as tables: those of the top level, and those of the parts that readers ask for most.

use serde_json::Value;
use std::fmt::Write as _;

/// A table for the document, then one for each part: its place as jq writes it, and the name of its type.
/// In `schema` every field is required, in the order of the document.
pub(crate) fn page(schema: &Value, parts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    if schema.get("properties").is_some() {
        section(&mut page, schema, "Fields", schema);
    }
    for (place, name) in parts {
        section(&mut page, schema, &format!("`{place}`"), &schema["$defs"][name]);
    }
    page
}

fn section(page: &mut String, schema: &Value, title: &str, kind: &Value) {
    let _ = write!(page, "\n## {title}\n\n| Field | Type | Meaning |\n|---|---|---|\n");
    for (name, field) in fields(kind) {
        let meaning = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let _ = writeln!(page, "| `{name}` | {} | {} |", form(schema, field), meaning.replace('|', "\\|"));
    }
}

/// Fields in the order of the document.
fn fields(kind: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let names = kind.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    names.filter_map(|name| kind.get("properties")?.get(name).map(|field| (name, field)))
}

/// The form of a value: `integer`, `array of object`, `string or null`.
fn form(schema: &Value, kind: &Value) -> String {
    if let Some(name) = kind.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/")) {
        return form(schema, &schema["$defs"][name]);
    }
    if kind.get("const").or_else(|| kind.get("enum")).is_some() {
        return if kind["const"].is_number() { "integer" } else { "string" }.to_owned();
    }
    let variants = kind.get("oneOf").or_else(|| kind.get("anyOf")).and_then(Value::as_array);
    let mut forms: Vec<String> = match (variants, kind.get("type")) {
        (Some(variants), _) => variants.iter().map(|variant| form(schema, variant)).collect(),
        (None, Some(Value::Array(kinds))) => kinds.iter().map(|one| simple_form(schema, one, kind)).collect(),
        (None, one) => vec![simple_form(schema, one.unwrap_or(&Value::Null), kind)],
    };
    let mut seen = Vec::new();
    forms.retain(|form| !seen.contains(form) && (seen.push(form.clone()), true).1);
    forms.join(" or ")
}

fn simple_form(schema: &Value, name: &Value, kind: &Value) -> String {
    let values = |name: &str| kind.get(name).filter(|values| values.is_object());
    match (name.as_str().unwrap_or("object"), values("items"), values("additionalProperties")) {
        ("array", Some(items), _) => format!("array of {}", form(schema, items)),
        ("object", _, Some(values)) => format!("object of {}", form(schema, values)),
        (name, ..) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_stand_in_the_order_of_the_document_with_their_forms() {
        let schema = json!({
            "required": ["b", "a"],
            "properties": {
                "a": {"type": "array", "items": {"$ref": "#/$defs/Kind"}, "description": "one | two"},
                "b": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
            },
            "$defs": {
                "Kind": {"oneOf": [{"const": "x"}, {"const": "y"}]},
                "Part": {"type": "object", "required": ["c"], "properties": {"c": {"type": ["integer", "null"]}}},
            },
        });
        let rows = "| Field | Type | Meaning |\n|---|---|---|\n";
        let expected = format!(
            "\n## Fields\n\n{rows}| `b` | object or null |  |\n| `a` | array of string | one \\| two |\n\
             \n## `.b`\n\n{rows}| `c` | integer or null |  |\n"
        );
        assert_eq!(page(&schema, &[(".b", "Part")]), expected);
    }
}
