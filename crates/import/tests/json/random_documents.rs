//! All documents that the schema allows are read, and written again unchanged.

use crate::instance::{Choices, instance};
use import::json::read;
use proptest::prelude::*;
use render::json::{schema, write};
use serde_json::Value;

/// The document without parts that follow from the rest: the messages of notes, the order of targets, summaries,
/// metrics and levels of verdicts.
fn essence(mut document: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("note") {
                    fields.remove("message");
                }
                fields.remove("summary");
                fields.remove("metrics");
                if let Some(Value::Object(verdict)) = fields.get_mut("verdict") {
                    verdict.remove("level");
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut document);
    let fields = document.as_object_mut().expect("a document is an object");
    fields.remove("targets");
    // It is always generated.
    fields.remove("brief");
    document
}

fn expect_same(seed: u64) -> Result<(), TestCaseError> {
    let schema = schema();
    let document = instance(&schema, &schema, &mut Choices::from_seed(seed), 0);
    let result = read(document.to_string().as_bytes()).expect("the schema allows it");
    let mut out = Vec::new();
    write(&result, |_| None, &mut out).expect("a vector takes everything");
    let again: Value = serde_json::from_slice(&out).expect("it is JSON");
    prop_assert_eq!(essence(again.clone()), essence(document));
    prop_assert!(jsonschema::is_valid(&schema, &again), "{:?}", jsonschema::validate(&schema, &again));
    prop_assert_eq!(read(&out).expect("we wrote it"), result);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_the_schema_allows_is_read_and_written_again_the_same(seed in any::<u64>().no_shrink()) {
        expect_same(seed)?;
    }
}

/// Its targets have more requests together than 64 bits count, which the sum for its closing line did not expect.
#[test]
fn depths_beyond_any_number_are_read_and_written_again() {
    expect_same(17_440_837_628_836_721_717).expect("the same");
}
