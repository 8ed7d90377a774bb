//! The XML schema of profiles: types with a grammar of their own are written out, all others come from the rows.

use crate::element::writer::escaped;
use crate::profile::TRACING;
use crate::setting::{Codec, Setting};
use crate::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, PROFILE, TARGET, TIME_SPAN};
use std::fmt::Write as _;

/// The schema, with a place for the elements of each table.
const FRAME: &str = include_str!("schema.xsd");

/// The whole schema.
pub fn schema() -> String {
    let tables = [
        ("{{Profile}}\n", elements(PROFILE)),
        ("{{ETW}}\n", elements(TRACING)),
        ("{{TimeSpan}}\n", elements(TIME_SPAN)),
        ("{{Target}}\n", elements(TARGET)),
        ("{{TimeSpanLinux}}\n", elements(LINUX_IN_TIME_SPAN)),
        ("{{TargetLinux}}\n", elements(LINUX_IN_TARGET)),
    ];
    tables.iter().fold(FRAME.to_owned(), |schema, (place, elements)| schema.replace(place, elements))
}

fn elements<T>(table: &'static [Setting<T>]) -> String {
    table.iter().map(element).collect()
}

fn element<T>(setting: &Setting<T>) -> String {
    let (named, inner) = match &setting.codec {
        Codec::Flag(..) => ("flag", String::new()),
        Codec::Own(own) => (own.schema, String::new()),
        Codec::Text(_) => ("xs:token", String::new()),
        Codec::Word(words) => {
            ("", restriction("xs:token", words.iter().map(|word| ("enumeration", word.name.to_owned()))))
        }
        Codec::Number(_, range) => number(*range.start(), *range.end()),
    };
    let mut text = format!("      <xs:element name=\"{}\"", setting.element);
    // Writing to a String cannot fail, here and below.
    if !named.is_empty() {
        let _ = write!(text, " type=\"{named}\"");
    }
    if !setting.is_required {
        text.push_str(" minOccurs=\"0\"");
    }
    if setting.doc.is_empty() && inner.is_empty() {
        text.push_str("/>\n");
        return text;
    }
    text.push_str(">\n");
    if !setting.doc.is_empty() {
        let option = setting.own.map(|_| format!(" ({})", setting.option)).unwrap_or_default();
        let doc = escaped(setting.doc);
        let _ =
            writeln!(text, "        <xs:annotation><xs:documentation>{doc}{option}</xs:documentation></xs:annotation>");
    }
    text + &inner + "      </xs:element>\n"
}

/// A type for numbers within bounds: its name, or its definition.
fn number(least: u64, most: u64) -> (&'static str, String) {
    const U32_MAX: u64 = u32::MAX as u64;
    match (least, most) {
        (0, U32_MAX) => ("u32", String::new()),
        (0, u64::MAX) => ("u64", String::new()),
        (1, U32_MAX) => ("atLeastOne", String::new()),
        (0, 100) => ("percent", String::new()),
        (_, most) => {
            let base = if most > U32_MAX { "u64" } else { "u32" };
            let least = (least > 0).then(|| ("minInclusive", least.to_string()));
            let most = (most < u64::MAX).then(|| ("maxInclusive", most.to_string()));
            ("", restriction(base, least.into_iter().chain(most)))
        }
    }
}

fn restriction(base: &str, facets: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut text = format!("        <xs:simpleType>\n          <xs:restriction base=\"{base}\">\n");
    for (facet, value) in facets {
        let _ = writeln!(text, "            <xs:{facet} value=\"{value}\"/>");
    }
    text + "          </xs:restriction>\n        </xs:simpleType>\n"
}
