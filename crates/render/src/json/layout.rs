//! Line breaks of the document: the upper levels are indented for people; items that there may be thousands of
//! (percentiles, intervals) take one line each.

use model::printable::printable_json;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{self, Write};

/// Depth below which containers are on one line: those in the lists of a row.
const DEPTH_MAX: u32 = 7;

/// Lists whose items are on one line each, at any depth: a long run has many thousands.
const LONG_LISTS: [&str; 3] = ["intervals", "sections", "slowest"];

/// Lines and indents down to [`DEPTH_MAX`], and to the items of [`LONG_LISTS`].
#[derive(Default)]
pub(super) struct Layout {
    pretty: PrettyFormatter<'static>,
    depth: u32,
    /// True while a key is being written.
    is_key: bool,
    /// True if the latest key is that of a long list.
    names_long_list: bool,
    /// Depth of the long list that is being written.
    long_list_depth: Option<u32>,
}

impl Layout {
    fn is_inline(&self) -> bool {
        self.depth > self.long_list_depth.unwrap_or(DEPTH_MAX)
    }

    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        if bracket == b"[" && self.names_long_list && !self.is_inline() {
            self.long_list_depth = Some(self.depth);
        }
        self.names_long_list = false;
        if self.is_inline() {
            return out.write_all(bracket);
        }
        if bracket == b"[" { self.pretty.begin_array(out) } else { self.pretty.begin_object(out) }
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let was_inline = self.is_inline();
        if self.long_list_depth == Some(self.depth) {
            self.long_list_depth = None;
        }
        self.depth -= 1;
        if was_inline {
            return out.write_all(bracket);
        }
        if bracket == b"]" { self.pretty.end_array(out) } else { self.pretty.end_object(out) }
    }

    fn separate<W: ?Sized + Write>(out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.is_inline() { Self::separate(out, first) } else { self.pretty.begin_array_value(out, first) }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_inline() { Ok(()) } else { self.pretty.end_array_value(out) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if self.is_key {
            self.names_long_list = LONG_LISTS.contains(&fragment);
        }
        out.write_all(&printable_json(fragment.as_bytes()))
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_key = false;
        Ok(())
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.is_key = true;
        if self.is_inline() { Self::separate(out, first) } else { self.pretty.begin_object_key(out, first) }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.names_long_list = false;
        if self.is_inline() { Ok(()) } else { self.pretty.end_object_value(out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::{Value, json};

    fn laid_out(value: &Value) -> String {
        let mut out = Vec::new();
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Layout::default())).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_lies_deep_stands_on_one_line() {
        let row = json!({"empty": [], "intervals": [{"read": {"ios": 1, "x": []}, "write": null}, {}]});
        let text = laid_out(&json!([[[[[row]]]]]));
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let row = [
            "{",
            "\"empty\": [],",
            "\"intervals\": [",
            "{\"read\": {\"ios\": 1, \"x\": []}, \"write\": null},",
            "{}",
            "]",
            "}",
        ];
        assert_eq!(lines, [&["["; 5][..], &row, &["]"; 5]].concat());
    }

    #[test]
    fn items_of_long_lists_stand_on_one_line() {
        let text = laid_out(&json!({"sections": [{"read": {"ios": [1]}}, {}], "other": [[1], 2]}));
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let other = ["\"other\": [", "[", "1", "],", "2", "],"];
        let sections = ["\"sections\": [", "{\"read\": {\"ios\": [1]}},", "{}", "]"];
        assert_eq!(lines, [&["{"][..], &other, &sections, &["}"]].concat());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<u64>().prop_map(|n| json!(n)), ".*".prop_map(|s| json!(s))];
        leaf.prop_recursive(12, 60, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,3}", inner), 0..4)
                    .prop_map(|fields| json!(fields.into_iter().collect::<std::collections::BTreeMap<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_the_same_json(value in value()) {
            prop_assert_eq!(serde_json::from_str::<Value>(&laid_out(&value)).unwrap(), value);
        }
    }
}
