//! Labels (`--label`) in documents.
//!
//! Fields that hold pairs of name and value name this module in `#[serde(with = "crate::label")]`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name and a value that `--label` gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Label {
    /// The part before the `=`.
    pub key: String,
    /// The part after the `=`.
    pub value: String,
}

/// For `#[serde(with)]`.
pub fn serialize<S: Serializer>(labels: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let label = |(key, value): &(String, String)| Label { key: key.clone(), value: value.clone() };
    serializer.collect_seq(labels.iter().map(label))
}

/// For `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    let labels = Vec::<Label>::deserialize(deserializer)?;
    Ok(labels.into_iter().map(|label| (label.key, label.value)).collect())
}
