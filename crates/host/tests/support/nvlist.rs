//! Lists of named values, packed as ZFS packs them.

/// A value.
pub(crate) enum Value {
    Boolean,
    Number(u64),
    Text(&'static str),
    List(List),
    Lists(Vec<List>),
}

/// Names and values.
pub(crate) type List = Vec<(&'static str, Value)>;

/// The content of a file with `list`.
pub(crate) fn packed(list: &List) -> Vec<u8> {
    let mut bytes = vec![1, 1, 0, 0];
    put_list(list, &mut bytes);
    bytes
}

fn put(number: usize, bytes: &mut Vec<u8>) {
    bytes.extend(u32::try_from(number).expect("small").to_be_bytes());
}

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    put(text.len(), bytes);
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn put_list(list: &List, bytes: &mut Vec<u8>) {
    put(0, bytes);
    put(1, bytes);
    for (name, value) in list {
        let mut pair = Vec::new();
        put_text(name, &mut pair);
        let (kind, count) = match value {
            Value::Boolean => (1, 0),
            Value::Number(_) => (8, 1),
            Value::Text(_) => (9, 1),
            Value::List(_) => (19, 1),
            Value::Lists(lists) => (20, lists.len()),
        };
        put(kind, &mut pair);
        put(count, &mut pair);
        match value {
            Value::Boolean => {}
            Value::Number(number) => pair.extend(number.to_be_bytes()),
            Value::Text(text) => put_text(text, &mut pair),
            Value::List(list) => put_list(list, &mut pair),
            Value::Lists(lists) => lists.iter().for_each(|list| put_list(list, &mut pair)),
        }
        put(pair.len() + 8, bytes);
        // The size in memory, which is not used here.
        put(pair.len() + 40, bytes);
        bytes.extend(pair);
    }
    put(0, bytes);
    put(0, bytes);
}
