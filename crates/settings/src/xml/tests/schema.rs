//! The schema has the elements of the rows, also where it is written out.

use crate::xml::{catalogue, schema};
use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the elements that a type of the schema may hold, without those inside these.
fn children<'a>(node: Node<'a, '_>, names: &mut BTreeSet<&'a str>) {
    for child in node.children().filter(Node::is_element) {
        if child.has_tag_name((SCHEMA_NAMESPACE, "element")) {
            assert!(names.insert(child.attribute("name").unwrap()));
        } else {
            children(child, names);
        }
    }
}

const SCHEMA_NAMESPACE: &str = "http://www.w3.org/2001/XMLSchema";

#[test]
fn the_schema_has_the_elements_of_the_tables() {
    let schema = schema::schema();
    let document = Document::parse(&schema).unwrap();
    let mut in_schema: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in document.root_element().children().filter(|node| node.has_tag_name((SCHEMA_NAMESPACE, "complexType"))) {
        let mut names = BTreeSet::new();
        children(node, &mut names);
        in_schema.insert(node.attribute("name").unwrap(), names);
    }
    // It holds a word, and attributes.
    assert_eq!(in_schema.remove("AffinityTraversal"), Some(BTreeSet::new()));
    assert_eq!(in_schema.remove("Throughput"), Some(BTreeSet::new()));
    let in_time_span = in_schema.remove("TimeSpanLinux").unwrap();
    let in_target = in_schema.remove("TargetLinux").unwrap();
    in_schema.insert("Linux", in_time_span.union(&in_target).copied().collect());
    let mut in_tables: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (holder, names) in catalogue::entries() {
        in_tables.entry(holder).or_default().extend(names);
    }
    assert_eq!(in_schema, in_tables);
}
