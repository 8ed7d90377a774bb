//! From TOML to the equivalent elements, which the rows read.

use super::document::{Job, JobFault};
use super::keys::{
    FORM, FORM_KEY, Key, REQUIRE_KEY, TEXT_KEY, attribute_keys, is_holder, item_of, keys_in, name_of, snake_case,
};
use crate::element::fault::{Position, quoted};
use crate::element::reader::{Fault, Mode, Reader};
use crate::element::tree::{Element, Place, is_unsayable};
use crate::profile::PROFILE;
use crate::suggest::near;
use crate::xml::catalogue::{entries, holders_of};
use model::limits::{PROFILE_BYTES_MAX, PROFILE_FAULTS_MAX};
use model::printable::{REPEATED_CHARACTERS_MAX, clipped, clipped_error};
use model::profile::Profile;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// True if a file is meant as a job: text that is not XML, and states no other form.
pub fn is_job(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    !text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Reads a job to run it; `file_name` is for messages, `requirement` parses one requirement.
///
/// The profile is not validated here but by [`model::validate`].
///
/// # Errors
///
/// All faults of the file, in its order.
pub fn read_job<R>(
    bytes: &[u8],
    file_name: &str,
    requirement: impl Fn(&str) -> Result<R, String>,
) -> Result<Job<R>, Vec<JobFault>> {
    let whole = |position, message: String| {
        vec![JobFault { file: file_name.to_owned(), position, key: String::new(), message }]
    };
    if bytes.len() > PROFILE_BYTES_MAX {
        return Err(whole(None, format!("the job is larger than {} MiB", PROFILE_BYTES_MAX >> 20)));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| whole(None, "not valid UTF-8; save the job as UTF-8".to_owned()))?
        .trim_start_matches('\u{feff}');
    let document = DeTable::parse(text).map_err(|error| {
        let (position, reason) = toml_fault(text, &error);
        whole(position, format!("not valid TOML: {reason}"))
    })?;
    let mut translation = Translation::default();
    let (root, requirements) = translation.job(document.get_ref(), requirement);
    let mut profile = Profile::default();
    if translation.faults.is_empty() {
        translation.read(&root, &mut profile);
    }
    if translation.faults.is_empty() {
        return Ok(Job { profile, requirements });
    }
    Err(translation.into_faults(text, file_name))
}

/// Reads a TOML file of another form.
///
/// # Errors
///
/// Its first fault, with its position.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| match toml_fault(text, &error) {
        (Some(at), reason) => format!("line {}, column {}: {reason}", at.line, at.column),
        (None, reason) => reason,
    })
}

/// Position and message of a TOML error.
fn toml_fault(text: &str, error: &toml::de::Error) -> (Option<Position>, String) {
    let position = error.span().and_then(|span| text.get(..span.start)).map(Position::behind);
    (position, clipped_error(&error.message().lines().collect::<Vec<_>>().join("; ")))
}

/// State of the translation of a job to a profile.
#[derive(Default)]
struct Translation {
    faults: Vec<(Place, String)>,
}

impl Translation {
    fn fault(&mut self, place: &Place, message: impl Into<String>) {
        // The rest take time to find.
        if self.faults.len() <= PROFILE_FAULTS_MAX {
            self.faults.push((place.clone(), message.into()));
        }
    }

    /// Translates the whole file: its profile, its requirements.
    fn job<R>(&mut self, table: &DeTable<'_>, requirement: impl Fn(&str) -> Result<R, String>) -> (Element, Vec<R>) {
        let root = Place::default();
        let form = table.get(FORM_KEY);
        match form.map(|form| (form, form.get_ref().as_str())) {
            Some((_, Some(FORM))) => {}
            Some((form, found)) => {
                let place = root.key(FORM_KEY, form.span().start);
                let found = found.map_or_else(|| "a value of another type".to_owned(), quoted);
                self.fault(&place, format!("expected \"{FORM}\", found {found}"));
            }
            None => self.fault(&root, format!("the first line of a job must be: {FORM_KEY} = \"{FORM}\"")),
        }
        let requirements = table.get(REQUIRE_KEY).map(|value| self.requirements(value, requirement));
        let mut profile = Element::new("Profile", root);
        self.table(&mut profile, table, &[FORM_KEY, REQUIRE_KEY]);
        (profile, requirements.unwrap_or_default())
    }

    fn requirements<R>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        requirement: impl Fn(&str) -> Result<R, String>,
    ) -> Vec<R> {
        let place = |offset| Place::default().key(REQUIRE_KEY, offset);
        let Some(items) = value.get_ref().as_array() else {
            let message = "expected a list of requirements, as in [\"p99<10ms\", \"iops>=5000\"]";
            self.fault(&place(value.span().start), message);
            return Vec::new();
        };
        let mut requirements = Vec::new();
        for item in items {
            let read = item.get_ref().as_str().ok_or_else(|| "expected a text, as in \"p99<10ms\"".to_owned());
            match read.and_then(&requirement) {
                Ok(read) => requirements.push(read),
                Err(message) => self.fault(&place(item.span().start), message),
            }
        }
        requirements
    }

    /// The keys of an element with children, an item of a list among them; keys in `apart` are excluded.
    fn table(&mut self, into: &mut Element, table: &DeTable<'_>, apart: &[&str]) {
        let (element, place) = (into.name.clone(), into.place.clone());
        let keys = keys_in(&element);
        let mut linux = Element::new("Linux", place.clone());
        for (name, value) in table {
            let Some(key) = keys.iter().find(|key| key.name == **name.get_ref()) else { continue };
            let found = self.value(key, value, &place.key(name.get_ref(), name.span().start));
            if key.is_linux { &mut linux } else { &mut *into }.children.extend(found);
        }
        if !linux.children.is_empty() {
            into.children.push(linux);
        }
        for name in table.keys() {
            let is_attribute = || attribute_keys(&element).any(|(key, _)| key == **name.get_ref());
            let is_known = keys.iter().any(|key| key.name == **name.get_ref()) || is_attribute();
            if !is_known && !apart.contains(&name.get_ref().as_ref()) {
                let here = place.key(name.get_ref(), name.span().start);
                let known = keys.iter().map(|key| key.name.as_str()).chain(apart.iter().copied());
                self.fault(&here, unknown(name.get_ref(), &known.collect::<Vec<_>>(), &place));
            }
        }
    }

    /// The element of a key.
    fn value(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, place: &Place) -> Option<Element> {
        match (value.get_ref(), item_of(key.element)) {
            (DeValue::Table(_), Some(_)) => {
                self.fault(place, format!("expected a list, as with [[{}]]", place.path));
                None
            }
            (DeValue::Array(_), None) => {
                self.fault(place, "expected a single value, found a list");
                None
            }
            (DeValue::Array(items), Some(item)) => {
                let mut list = Element::new(key.element, place.clone());
                for value in items {
                    let here = Place { offset: value.span().start, ..place.clone() };
                    list.children.extend(self.single(item, false, value.get_ref(), &here));
                }
                Some(list)
            }
            (single, _) => self.single(key.element, key.is_size, single, place),
        }
    }

    /// An element that is not a list.
    fn single(&mut self, name: &str, is_size: bool, value: &DeValue<'_>, place: &Place) -> Option<Element> {
        let sized = is_size.then_some(name);
        let mut element = Element::new(name, place.clone());
        let DeValue::Table(table) = value else {
            if is_holder(name) {
                let keys: Vec<&str> = keys_in(name).iter().map(|key| key.name.as_str()).collect();
                self.fault(place, format!("expected a table with some of: {}", keys.join(", ")));
                return None;
            }
            element.texts.push(self.text(value, sized, place)?);
            return Some(element);
        };
        for (key, attribute) in attribute_keys(name) {
            let Some((name, value)) = table.get_key_value(key.as_str()) else { continue };
            let text = self.text(value.get_ref(), None, &place.key(&key, name.span().start));
            element.attributes.extend(text.map(|text| (attribute.to_owned(), text)));
        }
        if is_holder(name) {
            self.table(&mut element, table, &[]);
            return Some(element);
        }
        let allowed: Vec<String> = attribute_keys(name).map(|(key, _)| key).collect();
        if allowed.is_empty() {
            self.fault(place, "expected a single value, found a table");
            return None;
        }
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).chain([TEXT_KEY]).collect();
        for name in table.keys().filter(|name| !allowed.contains(&name.get_ref().as_ref())) {
            let here = place.key(name.get_ref(), name.span().start);
            self.fault(&here, unknown(name.get_ref(), &allowed, place));
        }
        let text = table.get(TEXT_KEY).and_then(|value| self.text(value.get_ref(), sized, place));
        element.texts.extend(text);
        Some(element)
    }

    /// A value in the form of an element's text; `sized` is the element if it is in bytes.
    fn text(&mut self, value: &DeValue<'_>, sized: Option<&str>, place: &Place) -> Option<String> {
        match (value, sized) {
            (DeValue::Boolean(on), Some(element)) => self.size(&on.to_string(), element, place),
            (DeValue::Float(digits), Some(element)) => self.size(digits.as_str(), element, place),
            (DeValue::String(text), Some(element)) => self.size(text, element, place),
            (DeValue::Boolean(on), None) => Some(on.to_string()),
            (DeValue::Integer(digits), _) => {
                let number = i128::from_str_radix(digits.as_str(), digits.radix());
                Some(number.map_or_else(|_| digits.to_string(), |number| number.to_string()))
            }
            (DeValue::Float(digits), None) => Some(digits.to_string()),
            (DeValue::String(text), None) if text.contains(is_unsayable) => {
                self.fault(place, format!("control characters are not allowed here; found {}", quoted(text)));
                None
            }
            (DeValue::String(text), None) => Some(text.clone().into_owned()),
            _ => {
                self.fault(place, "expected a string, a number, true or false");
                None
            }
        }
    }

    /// Bytes in the form of an element's text.
    fn size(&mut self, text: &str, element: &str, place: &Place) -> Option<String> {
        let bytes = size(text);
        if bytes.is_none() {
            let hint = if element == "Random" { "; 0: multiples of block_size" } else { "" };
            let message = format!(
                "expected a size in bytes, as in 4096, \"8K\" or \"1G\" (K, M, G, T: powers of 1024), found {}{hint}",
                quoted(text)
            );
            self.fault(place, message);
        }
        bytes.map(|bytes| bytes.to_string())
    }

    /// Reads the element of the whole file.
    fn read(&mut self, root: &Element, profile: &mut Profile) {
        let mut reader = Reader::new(Mode::Strict, holders_of);
        reader.children(root, PROFILE, profile);
        for Fault { place, message } in reader.into_faults() {
            // The fault without a place is that there are too many, reported last.
            let last = || Place { offset: usize::MAX, ..Place::default() };
            self.fault(&place.unwrap_or_else(last), with_keys(&message));
        }
    }

    fn into_faults(mut self, text: &str, file_name: &str) -> Vec<JobFault> {
        self.faults.sort_by_key(|(place, _)| place.offset);
        let is_too_many = self.faults.len() > PROFILE_FAULTS_MAX;
        self.faults.truncate(PROFILE_FAULTS_MAX);
        let file = || file_name.to_owned();
        let located = |(place, message): (Place, String)| {
            let position = text.get(..place.offset).map(Position::behind);
            JobFault { file: file(), position, key: place.path, message }
        };
        let mut faults: Vec<JobFault> = self.faults.into_iter().map(located).collect();
        if is_too_many {
            let message = format!("more than {PROFILE_FAULTS_MAX} errors; the rest are not listed");
            faults.push(JobFault { file: file(), position: None, key: String::new(), message });
        }
        faults
    }
}

impl Place {
    /// The place of a key inside this one.
    fn key(&self, name: &str, offset: usize) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { offset, path, line: 0 }
    }
}

fn unknown(name: &str, known: &[&str], holder: &Place) -> String {
    let lower = name.to_ascii_lowercase();
    let nearest = near(&lower, known.iter().copied());
    let elsewhere = tables_with(&lower);
    let hint = match (nearest.as_slice(), elsewhere.as_slice()) {
        ([], []) => String::new(),
        ([], tables) => format!("it belongs inside {}; ", tables.join(" or ")),
        (names, _) => format!("did you mean {}? ", names.join(" or ")),
    };
    let place = if holder.path.is_empty() { "a job".to_owned() } else { holder.path.clone() };
    let place = clipped(&place, REPEATED_CHARACTERS_MAX);
    format!("unknown key in {place}; {hint}allowed there: {}", known.join(", "))
}

/// The tables that have a key.
fn tables_with(name: &str) -> Vec<&'static str> {
    let tables = [("Profile", "the file itself"), ("TimeSpan", "[[time_spans]]"), ("Target", "[[time_spans.targets]]")];
    let has_key = |holder: &str| keys_in(holder).iter().any(|key| key.name == name);
    tables.into_iter().filter(|(holder, _)| has_key(holder)).map(|(_, table)| table).collect()
}

/// A message about elements as one about keys: `<Path>` as `path`.
fn with_keys(message: &str) -> String {
    let mut text = String::new();
    let mut rest = message;
    while let Some((before, behind)) = rest.split_once('<') {
        text.push_str(before);
        let known = behind.split_once('>').filter(|(name, _)| is_element(name));
        if let Some((name, behind)) = known {
            text.push_str(&name_of(name));
            rest = behind;
        } else {
            text.push('<');
            rest = behind;
        }
    }
    text.push_str(rest);
    attribute_as_key(&text.replace("the required element ", "the required key "))
}

/// `attribute IO` as `key io`.
fn attribute_as_key(message: &str) -> String {
    let Some((before, behind)) = message.split_once("attribute ") else { return message.to_owned() };
    let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
    let (name, behind) = behind.split_at(end);
    format!("{before}key {}{behind}", snake_case(name))
}

fn is_element(name: &str) -> bool {
    entries().iter().any(|(holder, children)| *holder == name || children.contains(&name))
}

/// Bytes, from digits and an optional unit.
fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.trim().split_at_checked(text.trim().len().saturating_sub(1)) {
        Some((digits, "K" | "k")) => (digits, 10),
        Some((digits, "M" | "m")) => (digits, 20),
        Some((digits, "G" | "g")) => (digits, 30),
        Some((digits, "T" | "t")) => (digits, 40),
        _ => (text.trim(), 0),
    };
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_digits)?;
    number.checked_mul(1 << shift)
}
