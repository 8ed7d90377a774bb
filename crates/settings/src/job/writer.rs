//! From the XML of a profile to the TOML that says the same, without what is as it is by default.

use super::keys::{FORM, FORM_KEY, Key, REQUIRE_KEY, TEXT_KEY, attribute_keys, item_of, keys_in};
use crate::linux::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN};
use crate::profile::PROFILE;
use crate::setting::{Setting, short_size, write_all};
use crate::target::TARGET;
use crate::time_span::TIME_SPAN;
use crate::xml::catalogue::holders_of;
use crate::xml::reader::{Mode, Reader, child};
use crate::xml::writer::Writer;
use crate::xml::{paths_that, value, write_profile};
use model::printable::is_unprintable;
use model::profile::{Profile, Target, TimeSpan};
use roxmltree::{Document, Node};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Stands for the targets of a timespan, and for the timespans of a profile, where only the rest is looked at.
const ANY_TARGETS: &str = "<Targets><Target><Path>f</Path></Target></Targets>";

/// The profile and its requirements as a job file.
pub fn write_job(profile: &Profile, requirements: &[String]) -> String {
    let text = write_profile(profile, profile.result_format);
    let mut out = format!("{FORM_KEY} = \"{FORM}\"\n");
    // It is well-formed: this program wrote it.
    let Ok(document) = Document::parse(&text) else { return out };
    if !requirements.is_empty() {
        let list: Vec<String> = requirements.iter().map(|requirement| string(requirement)).collect();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "{REQUIRE_KEY} = [{}]", list.join(", "));
    }
    let root = document.root_element();
    keys(&mut out, root, &PROFILE_TABLE);
    for span in items(root, "TimeSpans") {
        out.push_str("\n[[time_spans]]\n");
        keys(&mut out, span, &TIME_SPAN_TABLE);
        for target in items(span, "Targets") {
            out.push_str("\n[[time_spans.targets]]\n");
            keys(&mut out, target, &TARGET_TABLE);
        }
    }
    out
}

/// A warning for each path that the file cannot name: it would be another file's.
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
    /// What stands for that list.
    any_list: &'static str,
    /// What is read of an element of this kind, written again; `None` if something is wrong with it.
    again: fn(Node<'_, '_>) -> Option<String>,
    /// The settings of one with nothing set, as [`flat`] texts.
    defaults: LazyLock<BTreeSet<String>>,
}

static PROFILE_TABLE: Table = Table {
    element: "Profile",
    list: "TimeSpans",
    any_list: "<TimeSpans><TimeSpan><Targets><Target><Path>f</Path></Target></Targets></TimeSpan></TimeSpans>",
    again: |node| again(&[PROFILE], node, &mut Profile::default()),
    defaults: LazyLock::new(|| defaults(&PROFILE_TABLE, &written(PROFILE, "Profile", &Profile::default()))),
};

static TIME_SPAN_TABLE: Table = Table {
    element: "TimeSpan",
    list: "Targets",
    any_list: ANY_TARGETS,
    again: |node| again(&[TIME_SPAN, LINUX_IN_TIME_SPAN], node, &mut TimeSpan::default()),
    defaults: LazyLock::new(|| defaults(&TIME_SPAN_TABLE, &written(TIME_SPAN, "TimeSpan", &TimeSpan::default()))),
};

static TARGET_TABLE: Table = Table {
    element: "Target",
    list: "",
    any_list: "",
    again: |node| again(&[TARGET, LINUX_IN_TARGET], node, &mut Target::new("")),
    defaults: LazyLock::new(|| defaults(&TARGET_TABLE, &written(TARGET, "Target", &Target::new("")))),
};

/// What the first table reads of an element, as all tables write it.
fn again<T>(tables: &[&'static [Setting<T>]], node: Node<'_, '_>, of: &mut T) -> Option<String> {
    let mut reader = Reader::new(Mode::Strict, holders_of);
    reader.children(node, tables.first()?, of);
    let mut xml = Writer::default();
    for table in tables {
        write_all(&mut xml, table, of);
    }
    reader.into_faults().is_empty().then_some(xml.text)
}

fn written<T>(table: &'static [Setting<T>], name: &'static str, of: &T) -> String {
    let mut xml = Writer::default();
    xml.inside(name, |xml| write_all(xml, table, of));
    xml.text
}

fn defaults(table: &Table, written: &str) -> BTreeSet<String> {
    let nodes = |document: Document<'_>| {
        let nodes = settings(document.root_element(), table).into_iter();
        nodes.map(|node| flat(&document.input_text()[node.range()])).collect()
    };
    Document::parse(written).map(nodes).unwrap_or_default()
}

/// The items of a list in an element.
fn items<'n, 'input>(node: Node<'n, 'input>, list: &str) -> Vec<Node<'n, 'input>> {
    child(node, list).map(elements).unwrap_or_default()
}

fn elements<'n, 'input>(node: Node<'n, 'input>) -> Vec<Node<'n, 'input>> {
    node.children().filter(Node::is_element).collect()
}

/// The elements that become keys: those in `Linux` beside the others.
fn settings<'n, 'input>(node: Node<'n, 'input>, table: &Table) -> Vec<Node<'n, 'input>> {
    let all = elements(node).into_iter().filter(|child| child.tag_name().name() != table.list);
    all.flat_map(|child| if child.tag_name().name() == "Linux" { elements(child) } else { vec![child] }).collect()
}

fn keys(out: &mut String, node: Node<'_, '_>, table: &Table) {
    let settings = settings(node, table);
    let keys = keys_in(table.element);
    for (setting, is_needed) in settings.iter().zip(needed(&settings, table)) {
        let Some(key) = keys.iter().find(|key| key.element == setting.tag_name().name() && is_needed) else { continue };
        let _ = writeln!(out, "{} = {}", key.name, value_of(*setting, Some(key)));
    }
}

/// Which of the settings must be written, so that reading the others alone does not give the same.
fn needed(settings: &[Node<'_, '_>], table: &Table) -> Vec<bool> {
    let texts: Vec<&str> = settings.iter().map(|node| &node.document().input_text()[node.range()]).collect();
    let read = |kept: &[bool]| {
        let (mut plain, mut linux) = (String::new(), String::new());
        for ((node, text), _) in settings.iter().zip(&texts).zip(kept).filter(|(_, is_kept)| **is_kept) {
            let is_linux = node.parent_element().is_some_and(|parent| parent.tag_name().name() == "Linux");
            if is_linux { &mut linux } else { &mut plain }.push_str(text);
        }
        let linux = if linux.is_empty() { linux } else { format!("<Linux>{linux}</Linux>") };
        let (element, list) = (table.element, table.any_list);
        let text = format!("<{element}>{plain}{list}{linux}</{element}>");
        Document::parse(&text).ok().and_then(|document| (table.again)(document.root_element()))
    };
    let mut kept = vec![true; texts.len()];
    let Some(all) = read(&kept) else { return kept };
    // Most are as they are by default, and reading takes longer than comparing.
    let differing: Vec<bool> = texts.iter().map(|text| !table.defaults.contains(&flat(text))).collect();
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

/// An element without the indentation of its lines.
fn flat(text: &str) -> String {
    text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n")
}

/// An element as a value.
fn value_of(node: Node<'_, '_>, key: Option<&Key>) -> String {
    let children = elements(node);
    let name = node.tag_name().name();
    if item_of(name).is_some() {
        let items: Vec<String> = children.iter().map(|item| value_of(*item, None)).collect();
        return format!("[{}]", items.join(", "));
    }
    let text: String = node.children().filter(Node::is_text).filter_map(|text| text.text()).collect();
    let scalar = || scalar(&text, key);
    if children.is_empty() && node.attributes().len() == 0 {
        return scalar();
    }
    let attributes = attribute_keys(name).filter_map(|(key, attribute)| {
        let value = node.attribute(attribute)?;
        Some(format!("{key} = {}", self::scalar(value, None)))
    });
    let keys = keys_in(name);
    let inner = children.iter().filter_map(|child| {
        let key = keys.iter().find(|key| key.element == child.tag_name().name())?;
        Some(format!("{} = {}", key.name, value_of(*child, Some(key))))
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
