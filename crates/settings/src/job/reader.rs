//! From TOML to the XML that says the same, which the rows read.

use super::document::{Job, JobFault};
use super::keys::{
    FORM, FORM_KEY, Key, REQUIRE_KEY, TEXT_KEY, attribute_keys, is_holder, item_of, keys_in, name_of, snake_case,
};
use crate::profile::PROFILE;
use crate::suggest::near;
use crate::xml::catalogue::{entries, holders_of};
use crate::xml::fault::quoted;
use crate::xml::reader::{Fault, Mode, Reader};
use crate::xml::writer::{escaped, is_unsayable};
use crate::xml::{Position, parse};
use model::limits::{PROFILE_BYTES_MAX, PROFILE_FAULTS_MAX};
use model::printable::{REPEATED_CHARACTERS_MAX, clipped, clipped_error};
use model::profile::Profile;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// True if a file is meant as a job: text that is not XML, and says no other form.
pub fn is_job(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    !text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Reads a job to run it; `file_name` is for messages, `requirement` reads one requirement or says what is wrong.
///
/// Whether the profile makes sense is for [`model::validate`] to say.
///
/// # Errors
///
/// Everything that is wrong with the file, in its order.
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
    let requirements = translation.job(document.get_ref(), requirement);
    let mut profile = Profile::default();
    if translation.faults.is_empty() {
        translation.read(&mut profile);
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
/// What is wrong with it, with its place.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| match toml_fault(text, &error) {
        (Some(at), reason) => format!("line {}, column {}: {reason}", at.line, at.column),
        (None, reason) => reason,
    })
}

/// Where a TOML text is wrong, and what is wrong there.
fn toml_fault(text: &str, error: &toml::de::Error) -> (Option<Position>, String) {
    let position = error.span().and_then(|span| text.get(..span.start)).map(Position::behind);
    (position, clipped_error(&error.message().lines().collect::<Vec<_>>().join("; ")))
}

/// A key in the TOML.
#[derive(Clone, Debug)]
struct Place {
    /// Bytes from the start of the text.
    offset: usize,
    /// With the tables that it is in: `time_spans.targets.path`.
    path: String,
}

/// A job on its way to XML.
#[derive(Default)]
struct Translation {
    xml: String,
    /// Where each element of the XML begins, and the key that it stands for; ascending.
    places: Vec<(usize, Place)>,
    faults: Vec<(Place, String)>,
}

impl Translation {
    fn fault(&mut self, place: &Place, message: impl Into<String>) {
        // The rest take time to find.
        if self.faults.len() <= PROFILE_FAULTS_MAX {
            self.faults.push((place.clone(), message.into()));
        }
    }

    /// Translates the whole file; its requirements.
    fn job<R>(&mut self, table: &DeTable<'_>, requirement: impl Fn(&str) -> Result<R, String>) -> Vec<R> {
        let root = Place { offset: 0, path: String::new() };
        let form = table.get(FORM_KEY);
        match form.map(|form| (form, form.get_ref().as_str())) {
            Some((_, Some(FORM))) => {}
            Some((form, found)) => {
                let place = Place { offset: form.span().start, path: FORM_KEY.to_owned() };
                let found = found.map_or_else(|| "a value of another type".to_owned(), quoted);
                self.fault(&place, format!("expected \"{FORM}\", found {found}"));
            }
            None => self.fault(&root, format!("the first line of a job must be: {FORM_KEY} = \"{FORM}\"")),
        }
        let requirements = table.get(REQUIRE_KEY).map(|value| self.requirements(value, requirement));
        self.table("Profile", &[], table, &root, &[FORM_KEY, REQUIRE_KEY]);
        requirements.unwrap_or_default()
    }

    fn requirements<R>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        requirement: impl Fn(&str) -> Result<R, String>,
    ) -> Vec<R> {
        let place = |offset| Place { offset, path: REQUIRE_KEY.to_owned() };
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

    /// An element that holds others, an item of a list among them; keys in `apart` are not of it.
    fn table(
        &mut self,
        element: &'static str,
        attributes: &[(&'static str, String)],
        table: &DeTable<'_>,
        place: &Place,
        apart: &[&str],
    ) {
        let keys = keys_in(element);
        self.places.push((self.xml.len(), place.clone()));
        self.open(element, attributes);
        for is_linux in [false, true] {
            let mut inside: Vec<_> = Vec::new();
            for (name, value) in table {
                if let Some(key) = keys.iter().find(|key| key.name == **name.get_ref() && key.is_linux == is_linux) {
                    inside.push((key, name, value));
                }
            }
            if is_linux && inside.is_empty() {
                continue;
            }
            if is_linux {
                self.xml.push_str("<Linux>");
            }
            for (key, name, value) in inside {
                self.value(key, value, &place.key(name.get_ref(), name.span().start));
            }
            if is_linux {
                self.xml.push_str("</Linux>");
            }
        }
        self.close(element);
        for name in table.keys() {
            let is_attribute = || attribute_keys(element).any(|(key, _)| key == **name.get_ref());
            let is_known = keys.iter().any(|key| key.name == **name.get_ref()) || is_attribute();
            if !is_known && !apart.contains(&name.get_ref().as_ref()) {
                let here = place.key(name.get_ref(), name.span().start);
                let known = keys.iter().map(|key| key.name.as_str()).chain(apart.iter().copied());
                self.fault(&here, unknown(name.get_ref(), &known.collect::<Vec<_>>(), place));
            }
        }
    }

    /// The element of a key.
    fn value(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, place: &Place) {
        let element = key.element;
        match value.get_ref() {
            DeValue::Table(_) if item_of(element).is_some() => {
                self.fault(place, format!("expected a list, as with [[{}]]", place.path));
            }
            DeValue::Array(items) => match item_of(element) {
                None => self.fault(place, "expected a single value, found a list"),
                Some(item) => {
                    self.places.push((self.xml.len(), place.clone()));
                    self.open(element, &[]);
                    for value in items {
                        let here = Place { offset: value.span().start, ..place.clone() };
                        self.single(item, false, value.get_ref(), &here);
                    }
                    self.close(element);
                }
            },
            single => self.single(element, key.is_size, single, place),
        }
    }

    /// An element that is no list.
    fn single(&mut self, element: &'static str, is_size: bool, value: &DeValue<'_>, place: &Place) {
        let DeValue::Table(table) = value else {
            if is_holder(element) {
                let keys: Vec<&str> = keys_in(element).iter().map(|key| key.name.as_str()).collect();
                self.fault(place, format!("expected a table with some of: {}", keys.join(", ")));
            } else if let Some(text) = self.text(value, is_size, place) {
                self.leaf(element, &[], &text, place);
            }
            return;
        };
        let mut attributes = Vec::new();
        for (key, attribute) in attribute_keys(element) {
            let Some((name, value)) = table.get_key_value(key.as_str()) else { continue };
            if let Some(text) = self.text(value.get_ref(), false, &place.key(&key, name.span().start)) {
                attributes.push((attribute, text));
            }
        }
        if is_holder(element) {
            self.table(element, &attributes, table, place, &[]);
            return;
        }
        let allowed: Vec<String> = attribute_keys(element).map(|(key, _)| key).collect();
        if allowed.is_empty() {
            self.fault(place, "expected a single value, found a table");
            return;
        }
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).chain([TEXT_KEY]).collect();
        for name in table.keys().filter(|name| !allowed.contains(&name.get_ref().as_ref())) {
            let here = place.key(name.get_ref(), name.span().start);
            self.fault(&here, unknown(name.get_ref(), &allowed, place));
        }
        let text = table.get(TEXT_KEY).map(|value| self.text(value.get_ref(), is_size, place));
        self.leaf(element, &attributes, &text.flatten().unwrap_or_default(), place);
    }

    fn leaf(&mut self, element: &'static str, attributes: &[(&'static str, String)], text: &str, place: &Place) {
        self.places.push((self.xml.len(), place.clone()));
        self.open(element, attributes);
        self.xml.push_str(&escaped(text));
        self.close(element);
    }

    fn open(&mut self, element: &str, attributes: &[(&'static str, String)]) {
        // Writing to a String cannot fail, here and below.
        let _ = write!(self.xml, "<{element}");
        for (attribute, value) in attributes {
            let _ = write!(self.xml, " {attribute}=\"{}\"", escaped(value).replace('"', "&quot;"));
        }
        self.xml.push('>');
    }

    fn close(&mut self, element: &str) {
        let _ = write!(self.xml, "</{element}>");
    }

    /// A value as XML has it.
    fn text(&mut self, value: &DeValue<'_>, is_size: bool, place: &Place) -> Option<String> {
        match value {
            DeValue::Boolean(on) => Some(on.to_string()),
            DeValue::Integer(digits) => {
                let number = i128::from_str_radix(digits.as_str(), digits.radix());
                Some(number.map_or_else(|_| digits.to_string(), |number| number.to_string()))
            }
            DeValue::Float(digits) => Some(digits.to_string()),
            DeValue::String(text) if is_size => {
                let bytes = size(text);
                if bytes.is_none() {
                    let message = format!(
                        "expected a size in bytes, as in 4096, \"8K\" or \"1G\" (K, M, G, T: powers of 1024), found {}",
                        quoted(text)
                    );
                    self.fault(place, message);
                }
                bytes.map(|bytes| bytes.to_string())
            }
            DeValue::String(text) if text.contains(is_unsayable) => {
                self.fault(place, format!("control characters are not allowed here; found {}", quoted(text)));
                None
            }
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => {
                self.fault(place, "expected a string, a number, true or false");
                None
            }
        }
    }

    /// Reads the XML, which has all keys that are known.
    fn read(&mut self, profile: &mut Profile) {
        let mut reader = Reader::new(Mode::Strict, holders_of);
        match parse(&self.xml) {
            Ok(document) => reader.children(document.root_element(), PROFILE, profile),
            Err(refused) => {
                let root = Place { offset: 0, path: String::new() };
                return self.fault(&root, refused.message);
            }
        }
        for Fault { offset, element, message } in reader.into_faults() {
            let at = self.places.binary_search_by_key(&offset, |(offset, _)| *offset);
            let place = at.map_or(Place { offset: 0, path: name_of(&element) }, |at| self.places[at].1.clone());
            self.fault(&place, with_keys(&message));
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
        Self { offset, path }
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

/// Bytes, of digits and perhaps a unit.
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
