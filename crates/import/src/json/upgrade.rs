//! Conversion of documents of earlier versions to the current form.

use model::units::bytes_of_mib;
use serde_json::Value;

/// Renamed fields since version 1: old and new.
const RENAMED: [(&str, &str); 3] =
    [("mib_per_s", "bytes_per_s"), ("bytes_per_s", "bytes_per_s"), ("mean_latency_ns", "latency_mean_ns")];

/// Gives every field its current name and unit.
pub(super) fn upgrade(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (then, now) in RENAMED {
                let Some(mut field) = fields.remove(then) else { continue };
                if then == "mib_per_s"
                    && let Some(mib) = field.as_f64()
                {
                    field = bytes_of_mib(mib).into();
                }
                fields.insert(now.to_owned(), field);
            }
            fields.values_mut().for_each(upgrade);
        }
        Value::Array(items) => items.iter_mut().for_each(upgrade),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_get_their_names_and_units_of_today() {
        let mut document = json!({ "rows": [{ "mib_per_s": 1.5, "iops": 2.0 }], "level": { "mean_latency_ns": null } });
        upgrade(&mut document);
        let expected =
            json!({ "rows": [{ "bytes_per_s": 1_572_864.0, "iops": 2.0 }], "level": { "latency_mean_ns": null } });
        assert_eq!(document, expected);
    }
}
