//! Objects of JSON whose members keep their order.

use serde::{Serialize, Serializer};

/// Members in order.
#[derive(Clone, Default)]
pub(super) struct Object(Vec<(String, Value)>);

/// The value of a member.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Plain(serde_json::Value),
    Object(Object),
    List(Vec<Object>),
}

impl<T: Into<serde_json::Value>> From<T> for Value {
    fn from(plain: T) -> Self {
        Self::Plain(plain.into())
    }
}

impl Object {
    /// Adds members whose value is known.
    #[must_use]
    pub(super) fn with<N: Into<String>, V: Into<Value>>(
        mut self,
        all: impl IntoIterator<Item = (N, Option<V>)>,
    ) -> Self {
        self.0.extend(all.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into()))));
        self
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
