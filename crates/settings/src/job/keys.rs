//! The keys of a job file: each is an element or an attribute of the XML.

use crate::setting::{Codec, EmitCondition, Setting};
use crate::xml::catalogue::{attributes_of, entries};
use crate::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, PROFILE, TARGET, TIME_SPAN};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Marks a file as a job of this form.
pub const FORM: &str = "diskspd-job/1";

/// The key of a file's form.
pub(super) const FORM_KEY: &str = "form";
/// The key of the requirements on every timespan.
pub(super) const REQUIRE_KEY: &str = "require";

/// The key of the text of an element that has attributes too.
pub(super) const TEXT_KEY: &str = "value";

/// A key, and its element.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) element: &'static str,
    /// True if it is in `Linux` in XML; job files have no such table.
    pub(super) is_linux: bool,
    /// Bytes, which are written with a unit.
    pub(super) is_size: bool,
    /// Text, whatever it looks like.
    pub(super) is_text: bool,
    option: &'static str,
    doc: &'static str,
}

/// The keys of the table that an element becomes.
pub(super) fn keys_in(holder: &str) -> &'static [Key] {
    static KEYS: LazyLock<BTreeMap<&str, Vec<Key>>> = LazyLock::new(|| {
        // Of two with the same name the first is used.
        let children = entries().into_iter().rev();
        let mut keys: BTreeMap<&str, Vec<Key>> =
            children.map(|(holder, children)| (holder, children.into_iter().map(plain).collect())).collect();
        keys.insert("Profile", of_rows(PROFILE, &[]));
        keys.insert("TimeSpan", of_rows(TIME_SPAN, LINUX_IN_TIME_SPAN));
        keys.insert("Target", of_rows(TARGET, LINUX_IN_TARGET));
        keys
    });
    KEYS.get(holder).map_or(&[], |keys| keys)
}

fn plain(element: &'static str) -> Key {
    Key { name: snake_case(element), element, is_linux: false, is_size: false, is_text: false, option: "", doc: "" }
}

/// Units in names of JSON that a job, where sizes have suffixes and numbers a point, does not need.
const UNITS: [&str; 2] = ["_bytes", "_millionths"];

/// A row has its name in JSON, without these units; rows that share a field there have that of their element.
fn of_rows<T>(table: &'static [Setting<T>], linux: &'static [Setting<T>]) -> Vec<Key> {
    let all = || table.iter().map(|row| (row, false)).chain(linux.iter().map(|row| (row, true)));
    let is_own = |key: &str| !key.is_empty() && all().filter(|(row, _)| row.key == key).count() == 1;
    let is_key = |row: &Setting<T>| row.element != "Linux" && !matches!(row.emit, EmitCondition::Never);
    let key = |(row, is_linux): (&Setting<T>, bool)| {
        let name = UNITS.iter().find_map(|unit| row.key.strip_suffix(unit)).unwrap_or(row.key);
        Key {
            name: if is_own(row.key) { name.to_owned() } else { snake_case(row.element) },
            is_linux,
            is_size: row.key.ends_with("_bytes") || matches!(&row.codec, Codec::Number(field, _) if field.is_size),
            is_text: matches!(&row.codec, Codec::Own(own) if own.schema == "path"),
            option: row.option,
            doc: row.doc,
            ..plain(row.element)
        }
    };
    all().filter(|(row, _)| is_key(row)).map(key).collect()
}

/// The element of the items, if an element is a list.
pub(super) fn item_of(element: &str) -> Option<&'static str> {
    let (_, children) = entries().into_iter().find(|(name, _)| *name == element)?;
    // Masks of groups represent the older forms of a list of CPUs too.
    let is_list = children.len() == 1 || element == "Affinity";
    children.first().copied().filter(|_| is_list)
}

/// True if an element has child elements.
pub(super) fn is_holder(element: &str) -> bool {
    entries().iter().any(|(name, _)| *name == element)
}

/// The name of an element in messages: its key, or for the item of a list a noun.
pub(super) fn name_of(element: &str) -> String {
    let holders = ["Target", "TimeSpan", "Profile"];
    let mut keys = holders.into_iter().flat_map(keys_in).filter(|key| key.element == element);
    keys.next().map_or_else(|| snake_case(element), |key| key.name.clone())
}

/// The attributes of an element, each with its key.
pub(super) fn attribute_keys(element: &str) -> impl Iterator<Item = (String, &'static str)> {
    attributes_of(element).into_iter().map(|attribute| (snake_case(attribute), attribute))
}

/// `BlockSize` as `block_size`, `IOPriority` as `io_priority`, `DisableOSCache` as `disable_os_cache`.
pub(super) fn snake_case(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| characters[before]);
        let is_next_lower = characters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        let begins = before.is_some_and(|before| before.is_ascii_lowercase() || is_next_lower);
        if character.is_ascii_uppercase() && begins {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// A table of a job file, for its documentation.
#[derive(Clone, Debug)]
pub struct KeyTable {
    /// Its header in the file; empty for the file itself.
    pub header: &'static str,
    /// Its keys.
    pub keys: Vec<TableKey>,
}

/// A key, for its documentation.
#[derive(Clone, Debug)]
pub struct TableKey {
    /// The key.
    pub name: String,
    /// The option that sets the same; empty if there is none.
    pub option: &'static str,
    /// The element of the profile's XML.
    pub element: &'static str,
    /// Its documentation in the XML schema.
    pub doc: &'static str,
    /// True if it takes bytes, which may have a unit.
    pub is_size: bool,
    /// Examples of its content in TOML, if that is more than a value.
    pub inner: Vec<String>,
}

/// All tables that are written with a header.
pub fn key_tables() -> Vec<KeyTable> {
    let table = |header, holder| KeyTable { header, keys: keys_in(holder).iter().map(documented).collect() };
    vec![table("", "Profile"), table("[[time_spans]]", "TimeSpan"), table("[[time_spans.targets]]", "Target")]
}

fn documented(key: &Key) -> TableKey {
    let inner = keys_in(key.element).iter().map(|key| key.name.clone());
    let attributes: Vec<String> = attribute_keys(key.element).map(|(name, _)| name).collect();
    let text = (!attributes.is_empty()).then(|| TEXT_KEY.to_owned());
    let inner = inner.chain(attributes.clone()).chain(text).collect();
    TableKey {
        name: key.name.clone(),
        option: key.option,
        element: key.element,
        doc: key.doc,
        is_size: key.is_size,
        inner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_in_lower_case_and_differ_within_a_table() {
        for (element, expected) in [
            ("BlockSize", "block_size"),
            ("IOPriority", "io_priority"),
            ("DisableOSCache", "disable_os_cache"),
            ("ParallelAsyncIO", "parallel_async_io"),
            ("ETW", "etw"),
            ("unit", "unit"),
        ] {
            assert_eq!(snake_case(element), expected);
        }
        for (holder, _) in entries() {
            let names: Vec<&String> = keys_in(holder).iter().map(|key| &key.name).collect();
            let attributes: Vec<String> = attribute_keys(holder).map(|(name, _)| name).collect();
            let all: BTreeSet<&String> = names.iter().copied().chain(&attributes).collect();
            assert_eq!(all.len(), names.len() + attributes.len(), "{holder}: {names:?} {attributes:?}");
        }
    }
}
