//! Random documents from the schema: every field of every type.

use serde_json::{Map, Value, json};

/// Depth from which all values are as small as possible.
const DEPTH_MAX: u32 = 14;

/// A source of choices.
pub(crate) struct Choices(u64);

impl Choices {
    pub(crate) const fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of a fixed sequence (`SplitMix64`).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }
}

/// Some value that `schema` (a part of `root`) allows.
pub(crate) fn instance(root: &Value, schema: &Value, choices: &mut Choices, depth: u32) -> Value {
    if let Some(reference) = schema.get("$ref") {
        let name = reference.as_str().and_then(|reference| reference.strip_prefix("#/$defs/")).expect("a local type");
        if name == "Histogram" || name == "CoarseHistogram" {
            return histogram(choices, name);
        }
        return instance(root, &root["$defs"][name], choices, depth);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words[choices.below(words.len())].clone();
    }
    for kind in ["anyOf", "oneOf"] {
        if let Some(variants) = schema.get(kind).and_then(Value::as_array) {
            let small = variants.iter().find(|variant| variant["type"] == "null" || variant["type"] == "string");
            let variant = match small {
                Some(small) if depth > DEPTH_MAX => small,
                _ => &variants[choices.below(variants.len())],
            };
            let mut value = instance(root, variant, choices, depth + 1);
            // Fields beside the variants, as those of a flattened enum.
            if let (Some(value), Some(_)) = (value.as_object_mut(), schema.get("properties")) {
                value.extend(object(root, schema, choices, depth));
            }
            return value;
        }
    }
    typed(root, schema, choices, depth)
}

fn typed(root: &Value, schema: &Value, choices: &mut Choices, depth: u32) -> Value {
    let kind = match &schema["type"] {
        Value::Array(kinds) => &kinds[if depth > DEPTH_MAX { kinds.len() - 1 } else { choices.below(kinds.len()) }],
        kind => kind,
    };
    match kind.as_str().unwrap_or_else(|| panic!("no type in {schema}")) {
        "null" => Value::Null,
        "boolean" => json!(choices.next() & 1 == 1),
        "integer" => integer(schema, choices),
        "number" => json!(f64::from_bits(choices.next() >> 2) * if choices.next() & 1 == 1 { 1.0 } else { -1.0 }),
        // Names of streams are the only texts with a pattern.
        "string" if schema.get("pattern").is_some() => json!(["a", "wal-0.1_b"][choices.below(2)]),
        "string" => json!(["", "a", "größe", "\"\\\n\u{1f4be}", "/dev/nvme0n1"][choices.below(5)]),
        "array" => {
            let count = match schema["minItems"].as_u64() {
                Some(count) => count as usize,
                None if depth > DEPTH_MAX => 0,
                None => choices.below(3),
            };
            (0..count).map(|_| instance(root, &schema["items"], choices, depth + 1)).collect()
        }
        "object" => Value::Object(object(root, schema, choices, depth)),
        other => panic!("what is a {other}?"),
    }
}

fn integer(schema: &Value, choices: &mut Choices) -> Value {
    let most = match schema["format"].as_str().unwrap_or_else(|| panic!("no format in {schema}")) {
        "uint8" => u64::from(u8::MAX),
        "uint16" => u64::from(u16::MAX),
        "uint32" => u64::from(u32::MAX),
        "uint" | "uint64" => u64::MAX,
        "int64" => return json!([0, i64::MIN, i64::MAX, choices.next().cast_signed()][choices.below(4)]),
        "int128" => return json!(choices.next().cast_signed()),
        other => panic!("how large is a {other}?"),
    };
    json!([0, 1, most, choices.next() & most][choices.below(4)])
}

fn object(root: &Value, schema: &Value, choices: &mut Choices, depth: u32) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        object.insert(name.clone(), instance(root, field, choices, depth + 1));
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        object.insert("sda".to_owned(), instance(root, values, choices, depth + 1));
    }
    if object.contains_key("bytes_hex") {
        // Only such paths are written in this form.
        object.insert("text".to_owned(), json!("caf\u{fffd}"));
        object.insert("bytes_hex".to_owned(), json!("636166e9"));
    }
    object
}

/// Nothing, or the histogram of one latency of 5 ns.
fn histogram(choices: &mut Choices, name: &str) -> Value {
    let one = if name == "Histogram" { ONE_LATENCY } else { ONE_COARSE_LATENCY };
    [Value::Null, json!(one)][choices.below(2)].clone()
}

const ONE_COARSE_LATENCY: &str = "HISTFAAAAB14nJNpmSzMwMDAyAABTFCaA0oL2H+ASgAAPbsCkw==";
const ONE_LATENCY: &str = "HISTFAAAAB54nJNpmSzMwMDAxAABzFCaEUqz2n+AMDiZAD+eAow=";
