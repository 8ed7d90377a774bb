//! From the elements of a profile to the equivalent TOML, without default values.

use super::keys::{FORM, FORM_KEY, Key, REQUIRE_KEY, TEXT_KEY, attribute_keys, item_of, keys_in};
use crate::element::reader::{Mode, Reader};
use crate::element::tree::Element;
use crate::element::value;
use crate::linux::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN};
use crate::profile::{PROFILE, document};
use crate::setting::{Setting, short_size, write_all};
use crate::target::TARGET;
use crate::time_span::TIME_SPAN;
use crate::xml::catalogue::holders_of;
use crate::xml::paths_that;
use model::printable::is_unprintable;
use model::profile::{Profile, Target, TimeSpan};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// The profile and its requirements as a job file.
pub fn write_job(profile: &Profile, requirements: &[String]) -> String {
    let root = document(profile, profile.result_format);
    let mut out = format!("{FORM_KEY} = \"{FORM}\"\n");
    if !requirements.is_empty() {
        let list: Vec<String> = requirements.iter().map(|requirement| string(requirement)).collect();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "{REQUIRE_KEY} = [{}]", list.join(", "));
    }
    keys(&mut out, &root, &PROFILE_TABLE);
    for span in items(&root, "TimeSpans") {
        out.push_str("\n[[time_spans]]\n");
        keys(&mut out, span, &TIME_SPAN_TABLE);
        for target in items(span, "Targets") {
            out.push_str("\n[[time_spans.targets]]\n");
            keys(&mut out, target, &TARGET_TABLE);
        }
    }
    out
}

/// A warning for each path that the file cannot represent: it would name another file.
pub fn unsayable_paths(profile: &Profile) -> Vec<String> {
    let warning = |path| {
        format!(
            "the path '{path}' cannot be written to a job file, and the job names another file: \
                                  correct it before running the job"
        )
    };
    paths_that(profile, warning)
}

/// An element that becomes a table with a header.
struct Table {
    element: &'static str,
    /// The list in it that has tables of its own.
    list: &'static str,
    /// Adds an item in place of that list, where only the rest is compared.
    add_list: fn(&mut Element),
    /// An element of this kind read and written again; `None` if it has a fault.
    again: fn(&Element) -> Option<String>,
    /// The default settings, as XML.
    defaults: LazyLock<BTreeSet<String>>,
}

static PROFILE_TABLE: Table = Table {
    element: "Profile",
    list: "TimeSpans",
    add_list: |profile| profile.inside("TimeSpans", |spans| spans.inside("TimeSpan", add_targets)),
    again: |node| again(&[PROFILE], node, &mut Profile::default()),
    defaults: LazyLock::new(|| defaults(&PROFILE_TABLE, PROFILE, &Profile::default())),
};

static TIME_SPAN_TABLE: Table = Table {
    element: "TimeSpan",
    list: "Targets",
    add_list: add_targets,
    again: |node| again(&[TIME_SPAN, LINUX_IN_TIME_SPAN], node, &mut TimeSpan::default()),
    defaults: LazyLock::new(|| defaults(&TIME_SPAN_TABLE, TIME_SPAN, &TimeSpan::default())),
};

static TARGET_TABLE: Table = Table {
    element: "Target",
    list: "",
    add_list: |_| {},
    again: |node| again(&[TARGET, LINUX_IN_TARGET], node, &mut Target::new("")),
    defaults: LazyLock::new(|| defaults(&TARGET_TABLE, TARGET, &Target::new(""))),
};

fn add_targets(span: &mut Element) {
    span.inside("Targets", |targets| targets.inside("Target", |target| target.element("Path", "f")));
}

/// The element as the first table reads it, written by all tables.
fn again<T>(tables: &[&'static [Setting<T>]], node: &Element, of: &mut T) -> Option<String> {
    let mut reader = Reader::new(Mode::Strict, holders_of);
    reader.children(node, tables.first()?, of);
    let mut all = Element::default();
    for table in tables {
        write_all(&mut all, table, of);
    }
    reader.into_faults().is_empty().then(|| all.to_xml())
}

fn defaults<T>(table: &Table, rows: &'static [Setting<T>], of: &T) -> BTreeSet<String> {
    let mut all = Element::default();
    write_all(&mut all, rows, of);
    settings(&all, table).into_iter().map(|(node, _)| node.to_xml()).collect()
}

/// The items of a list in an element.
fn items<'t>(node: &'t Element, list: &str) -> &'t [Element] {
    node.child(list).map_or(&[], |list| &list.children)
}

/// The elements that become keys: those in `Linux`, which are marked so, and the others.
fn settings<'t>(node: &'t Element, table: &Table) -> Vec<(&'t Element, bool)> {
    let mut all = Vec::new();
    for child in node.children.iter().filter(|child| child.name != table.list) {
        if child.name == "Linux" {
            all.extend(child.children.iter().map(|child| (child, true)));
        } else {
            all.push((child, false));
        }
    }
    all
}

fn keys(out: &mut String, node: &Element, table: &Table) {
    let settings = settings(node, table);
    let keys = keys_in(table.element);
    for ((setting, _), is_needed) in settings.iter().zip(needed(&settings, table)) {
        let Some(key) = keys.iter().find(|key| key.element == setting.name && is_needed) else { continue };
        let _ = writeln!(out, "{} = {}", key.name, value_of(setting, Some(key)));
    }
}

/// Marks the settings that must be written, because reading the others alone does not give the same.
fn needed(settings: &[(&Element, bool)], table: &Table) -> Vec<bool> {
    let read = |kept: &[bool]| {
        let kept = settings.iter().zip(kept).filter(|(_, is_kept)| **is_kept).map(|(setting, _)| *setting);
        let (linux, plain): (Vec<_>, Vec<_>) = kept.partition(|(_, is_linux)| *is_linux);
        let copies = |of: Vec<(&Element, bool)>| of.into_iter().map(|(node, _)| node.clone()).collect();
        let mut element = Element { children: copies(plain), ..Element::default() };
        (table.add_list)(&mut element);
        if !linux.is_empty() {
            element.inside("Linux", |holder| holder.children = copies(linux));
        }
        (table.again)(&element)
    };
    let mut kept = vec![true; settings.len()];
    let Some(all) = read(&kept) else { return kept };
    // Most have their defaults, and reading takes longer than comparing.
    let differing: Vec<bool> = settings.iter().map(|(node, _)| !table.defaults.contains(&node.to_xml())).collect();
    if read(&differing).as_ref() == Some(&all) {
        kept = differing;
    }
    for index in 0..kept.len() {
        if kept[index] {
            kept[index] = false;
            kept[index] = read(&kept).as_ref() != Some(&all);
        }
    }
    kept
}

/// An element as a TOML value.
fn value_of(node: &Element, key: Option<&Key>) -> String {
    let (name, children) = (node.name.as_str(), &node.children);
    if item_of(name).is_some() {
        let items: Vec<String> = children.iter().map(|item| value_of(item, None)).collect();
        return format!("[{}]", items.join(", "));
    }
    let text = node.text();
    let scalar = || scalar(&text, key);
    if children.is_empty() && node.attributes.is_empty() {
        return scalar();
    }
    let attributes = attribute_keys(name).filter_map(|(key, attribute)| {
        let value = node.attribute(attribute)?;
        Some(format!("{key} = {}", self::scalar(value, None)))
    });
    let keys = keys_in(name);
    let inner = children.iter().filter_map(|child| {
        let key = keys.iter().find(|key| key.element == child.name)?;
        Some(format!("{} = {}", key.name, value_of(child, Some(key))))
    });
    let text = (children.is_empty() && !value::trimmed(&text).is_empty()).then(|| format!("{TEXT_KEY} = {}", scalar()));
    let all: Vec<String> = attributes.chain(inner).chain(text).collect();
    format!("{{ {} }}", all.join(", "))
}

fn scalar(text: &str, key: Option<&Key>) -> String {
    let number = text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    match number {
        _ if key.is_some_and(|key| key.is_text) => string(text),
        Some(bytes) if key.is_some_and(|key| key.is_size) => {
            let short = short_size(bytes);
            if short.ends_with(|last: char| last.is_ascii_digit()) && is_integer(bytes) {
                short
            } else {
                string(&short)
            }
        }
        Some(number) if is_integer(number) => text.to_owned(),
        _ if text == "true" || text == "false" => text.to_owned(),
        _ => string(text),
    }
}

/// TOML has no larger ones.
fn is_integer(number: u64) -> bool {
    i64::try_from(number).is_ok()
}

/// A text in quotation marks.
fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            character if is_unprintable(character) => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
