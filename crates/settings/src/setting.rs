//! One row: an XML element, the field of `T` that it sets, and all other facts about the two.

use crate::element::reader::Reader;
use crate::element::tree::Element;
use crate::element::value;
use crate::group::Group;
use model::units::Bytes;
pub use model::units::short_size;
use std::ops::RangeInclusive;

/// A setting of a profile, timespan or target.
pub struct Setting<T: 'static> {
    /// Its XML element.
    pub element: &'static str,
    /// Its path in JSON, inside the object of `T`; empty if the rows inside it have their own.
    pub key: &'static str,
    /// Its documentation in the XML schema.
    pub doc: &'static str,
    /// The option that sets it, without a value; empty if only XML can.
    pub option: &'static str,
    /// Help for the option, if it is one of ours.
    pub own: Option<&'static OwnOption>,
    /// True if runs that differ in it are different loads.
    pub is_load: bool,
    /// Contents of the element that cover its grammar, where they do not follow from the codec.
    pub examples: &'static [&'static str],
    pub(crate) is_required: bool,
    pub(crate) emit: EmitCondition<T>,
    pub(crate) codec: Codec<T>,
}

/// Help for an option that sets one field.
pub struct OwnOption {
    /// Its heading in the help.
    pub group: Group,
    /// Grammar of the value, directly after the name: `=<n>`; empty for a switch.
    pub value: &'static str,
    /// One line.
    pub short: &'static str,
    /// For `--help OPTION`.
    pub long: &'static str,
    /// The corresponding system call or flag on Linux, in Markdown.
    pub kernel: &'static str,
    /// Tools that show its effect, in Markdown.
    pub seen_in: &'static str,
    /// A complete argument.
    pub example: &'static str,
}

/// Condition on which an element is written.
pub(crate) enum EmitCondition<T: 'static> {
    Always,
    /// If the field is set: an enabled switch, or a number or word that is present.
    IfSet,
    When(fn(&T) -> bool),
    /// It is only read, from profiles of earlier versions.
    Never,
}

/// Conversion between a field and its text.
pub(crate) enum Codec<T: 'static> {
    Flag(fn(&T) -> bool, fn(&mut T, bool)),
    Number(NumberField<T>, RangeInclusive<u64>),
    /// One of a list of words.
    Word(&'static [Word<T>]),
    /// A text with a grammar, the same in the element and after the option.
    Text(TextField<T>),
    /// A grammar of its own.
    Own(&'static CustomElement<T>),
}

/// A field that is read from a text.
pub(crate) struct TextField<T: 'static> {
    /// The text; `None` if the field is not set.
    pub(crate) get: fn(&T) -> Option<String>,
    /// Sets the field; the error names the fault of the text and a valid form.
    pub(crate) set: fn(&mut T, &str) -> Result<(), String>,
}

/// A field that holds a number.
pub(crate) struct NumberField<T: 'static> {
    /// Bytes rather than a count.
    pub(crate) is_size: bool,
    pub(crate) get: fn(&T) -> Option<u64>,
    pub(crate) set: fn(&mut T, u64),
}

/// A word, the equivalent value of the option, and the value that it sets.
pub(crate) struct Word<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) argument: &'static str,
    pub(crate) set: fn(&mut T),
    pub(crate) is_set: fn(&T) -> bool,
}

/// An element with a grammar of its own.
pub(crate) struct CustomElement<T: 'static> {
    /// Its type in the schema.
    pub(crate) schema: &'static str,
    pub(crate) attributes: &'static [&'static str],
    pub(crate) read: for<'n> fn(&mut Reader<'n>, &'n Element, &mut T),
    /// Writes the element itself.
    pub(crate) write: fn(&mut Element, &'static str, &T),
    /// As on the command line.
    pub(crate) shown: fn(&T) -> String,
}

/// The kind of value of an option.
pub enum ValueKind {
    /// No value.
    Nothing,
    /// A number within bounds.
    Count(RangeInclusive<u64>),
    /// A size in bytes within bounds.
    Size(RangeInclusive<u64>),
    /// One of these words.
    Word(Vec<&'static str>),
    /// A text with a grammar.
    Text,
}

/// A field that can hold a number.
pub(crate) trait Numeric {
    fn number(&self) -> Option<u64>;
    fn set_number(&mut self, number: u64);
}

impl Numeric for u32 {
    fn number(&self) -> Option<u64> {
        Some(u64::from(*self))
    }

    fn set_number(&mut self, number: u64) {
        // Ranges of rows fit their fields.
        *self = u32::try_from(number).unwrap_or(Self::MAX);
    }
}

impl Numeric for u64 {
    fn number(&self) -> Option<u64> {
        Some(*self)
    }

    fn set_number(&mut self, number: u64) {
        *self = number;
    }
}

impl Numeric for Bytes {
    fn number(&self) -> Option<u64> {
        Some(self.get())
    }

    fn set_number(&mut self, number: u64) {
        *self = Self(number);
    }
}

impl<N: Numeric + Default> Numeric for Option<N> {
    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(Numeric::number)
    }

    fn set_number(&mut self, number: u64) {
        self.insert(N::default()).set_number(number);
    }
}

/// A switch in a field.
macro_rules! flag {
    ($($field:ident).+) => {
        $crate::setting::Codec::Flag(|of| of.$($field).+, |of, on| of.$($field).+ = on)
    };
}

/// A number in a field, and its bounds; with `size` it is in bytes.
macro_rules! number {
    (size $($field:ident).+, $range:expr) => { number!(@ true, $($field).+, $range) };
    ($($field:ident).+, $range:expr) => { number!(@ false, $($field).+, $range) };
    (@ $is_size:expr, $($field:ident).+, $range:expr) => {
        $crate::setting::Codec::Number(
            $crate::setting::NumberField {
                is_size: $is_size,
                get: |of| $crate::setting::Numeric::number(&of.$($field).+),
                set: |of, number| $crate::setting::Numeric::set_number(&mut of.$($field).+, number),
            },
            $range,
        )
    };
}

/// Words for the values of a field: `"word" / "argument of the option" => value`.
macro_rules! words {
    ($field:ident; $($name:literal / $argument:literal => $value:expr),+ $(,)?) => {
        $crate::setting::Codec::Word(&[$($crate::setting::Word {
            name: $name,
            argument: $argument,
            set: |of| of.$field = $value,
            is_set: |of| of.$field == $value,
        }),+])
    };
}

pub(crate) use {flag, number, words};

/// Bounds of numbers of 32 bits.
pub(crate) const U32: RangeInclusive<u64> = 0..=u32::MAX as u64;
/// Bounds of numbers of 64 bits.
pub(crate) const U64: RangeInclusive<u64> = 0..=u64::MAX;

impl<T> Setting<T> {
    /// A row for an element that is always written.
    pub(crate) const fn new(element: &'static str, key: &'static str, codec: Codec<T>) -> Self {
        Self {
            element,
            key,
            doc: "",
            option: "",
            own: None,
            is_load: true,
            examples: &[],
            is_required: false,
            emit: EmitCondition::Always,
            codec,
        }
    }

    /// A row for an option of ours; its element is written only if it is set.
    pub(crate) const fn own(
        element: &'static str,
        key: &'static str,
        codec: Codec<T>,
        option: &'static str,
        help: &'static OwnOption,
    ) -> Self {
        Self { emit: EmitCondition::IfSet, option, own: Some(help), doc: help.short, ..Self::new(element, key, codec) }
    }

    pub(crate) const fn option(mut self, option: &'static str) -> Self {
        self.option = option;
        self
    }

    pub(crate) const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }

    pub(crate) const fn emit(mut self, emit: EmitCondition<T>) -> Self {
        self.emit = emit;
        self
    }

    pub(crate) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    pub(crate) const fn examples(mut self, examples: &'static [&'static str]) -> Self {
        self.examples = examples;
        self
    }

    /// Marks a row without effect on the load: runs that differ in it are runs of one load.
    pub(crate) const fn no_load(mut self) -> Self {
        self.is_load = false;
        self
    }

    /// True if the element is written.
    pub fn is_emitted(&self, of: &T) -> bool {
        match self.emit {
            EmitCondition::Always => true,
            EmitCondition::Never => false,
            EmitCondition::When(is_emitted) => is_emitted(of),
            EmitCondition::IfSet => match &self.codec {
                Codec::Flag(get, _) => get(of),
                Codec::Number(field, _) => (field.get)(of).is_some(),
                Codec::Word(words) => word_in(words, of).is_some(),
                Codec::Text(field) => (field.get)(of).is_some(),
                Codec::Own(_) => true,
            },
        }
    }

    /// The setting as the command line has it: `-b4K`, `--rate=500`, `-n`; elements that have no
    /// option as XML; `None` if it is not set.
    pub fn shown(&self, of: &T) -> Option<String> {
        if !self.is_emitted(of) {
            return None;
        }
        let value = match &self.codec {
            Codec::Flag(get, _) => get(of).then(String::new)?,
            Codec::Number(field, _) if field.is_size => short_size((field.get)(of)?),
            Codec::Number(field, _) => (field.get)(of)?.to_string(),
            Codec::Word(words) => word_in(words, of)?.argument.to_owned(),
            Codec::Text(field) => (field.get)(of)?,
            Codec::Own(own) => (own.shown)(of),
        };
        let (option, element) = (self.option, self.element);
        Some(match (option, &self.codec) {
            // Its text begins with the option.
            (_, Codec::Own(_)) => value,
            ("", _) => format!("<{element}>{value}</{element}>"),
            (_, Codec::Flag(..)) => option.to_owned(),
            _ if option.starts_with("--") => format!("{option}={value}"),
            _ => format!("{option}{value}"),
        })
    }

    /// Text for an unset setting.
    pub(crate) fn absent(&self) -> String {
        if self.option.is_empty() { format!("no <{}>", self.element) } else { format!("no {}", self.option) }
    }

    /// The kind of value of the option.
    pub fn takes(&self) -> ValueKind {
        match &self.codec {
            Codec::Number(field, range) if field.is_size => ValueKind::Size(range.clone()),
            Codec::Number(_, range) => ValueKind::Count(range.clone()),
            Codec::Word(words) => ValueKind::Word(words.iter().map(|word| word.argument).collect()),
            Codec::Text(_) => ValueKind::Text,
            Codec::Flag(..) | Codec::Own(_) => ValueKind::Nothing,
        }
    }

    /// Switches it on.
    pub fn set_flag(&self, of: &mut T) {
        if let Codec::Flag(_, set) = &self.codec {
            set(of, true);
        }
    }

    /// Sets a number that is within [`Self::takes`].
    pub fn set_number(&self, of: &mut T, number: u64) {
        if let Codec::Number(field, _) = &self.codec {
            (field.set)(of, number);
        }
    }

    /// Sets the word whose option argument is `argument`; false if there is none.
    pub fn set_word(&self, of: &mut T, argument: &str) -> bool {
        let Codec::Word(words) = &self.codec else { return false };
        let word = words.iter().find(|word| word.argument == argument);
        word.map(|word| (word.set)(of)).is_some()
    }

    /// Sets the value of the text; the error is the fault of the text.
    pub fn set_text(&self, of: &mut T, text: &str) -> Result<(), String> {
        match &self.codec {
            Codec::Text(field) => (field.set)(of, text),
            _ => Ok(()),
        }
    }

    /// Sets in `to` what is set in `from`; elements with a grammar of their own stay as they are.
    pub fn copy(&self, from: &T, to: &mut T) {
        match &self.codec {
            Codec::Flag(get, set) => set(to, get(from)),
            Codec::Number(field, _) => {
                if let Some(number) = (field.get)(from) {
                    (field.set)(to, number);
                }
            }
            Codec::Word(words) => {
                if let Some(word) = word_in(words, from) {
                    (word.set)(to);
                }
            }
            Codec::Text(field) => {
                if let Some(text) = (field.get)(from) {
                    // The text is that of `get`.
                    let _ = (field.set)(to, &text);
                }
            }
            Codec::Own(_) => {}
        }
    }

    /// Attributes that the element may have.
    pub(crate) fn attributes(&self) -> &'static [&'static str] {
        match &self.codec {
            Codec::Own(own) => own.attributes,
            _ => &[],
        }
    }

    /// Reads the content of the element.
    pub(crate) fn read<'n>(&self, reader: &mut Reader<'n>, node: &'n Element, into: &mut T) {
        match &self.codec {
            Codec::Flag(_, set) => {
                let Some(text) = reader.text(node) else { return };
                if let Some(on) = reader.flag(node, &text) {
                    set(into, on);
                }
            }
            Codec::Number(field, range) => {
                if let Some(number) = reader.number(node, range) {
                    (field.set)(into, number);
                }
            }
            Codec::Word(words) => {
                let Some(text) = reader.text(node) else { return };
                let word = value::trimmed(&text);
                match words.iter().find(|known| known.name == word) {
                    Some(word) => (word.set)(into),
                    None => reader.unknown_word(node, word, words.iter().map(|word| word.name)),
                }
            }
            Codec::Text(field) => {
                let Some(text) = reader.text(node) else { return };
                let set = (field.set)(into, value::trimmed(&text));
                reader.read(node, set);
            }
            Codec::Own(own) => (own.read)(reader, node, into),
        }
    }

    /// Writes the element, if it is written.
    pub(crate) fn write(&self, xml: &mut Element, of: &T) {
        if !self.is_emitted(of) {
            return;
        }
        match &self.codec {
            Codec::Flag(get, _) => xml.element(self.element, get(of)),
            Codec::Number(field, _) => {
                if let Some(number) = (field.get)(of) {
                    xml.element(self.element, number);
                }
            }
            Codec::Word(words) => {
                if let Some(word) = word_in(words, of) {
                    xml.element(self.element, word.name);
                }
            }
            Codec::Text(field) => {
                if let Some(text) = (field.get)(of) {
                    xml.element(self.element, text);
                }
            }
            Codec::Own(own) => (own.write)(xml, self.element, of),
        }
    }
}

/// The word for the value of a field.
fn word_in<'a, T>(words: &'a [Word<T>], of: &T) -> Option<&'a Word<T>> {
    words.iter().find(|word| (word.is_set)(of))
}

impl<'n> Reader<'n> {
    /// Reads all children of `parent` into `into`: in any order, each at most once. Where two contradict each other,
    /// the later row takes precedence.
    pub(crate) fn children<T>(&mut self, parent: &'n Element, table: &'static [Setting<T>], into: &mut T) {
        if self.is_strict() {
            self.no_text(parent);
        }
        let mut found: Vec<Option<&'n Element>> = vec![None; table.len()];
        for child in &parent.children {
            if self.is_full() {
                return;
            }
            match table.iter().position(|setting| child.is_named(setting.element)) {
                None if self.is_strict() => self.unknown(child, parent, &names(table)),
                None => {}
                Some(index) => match found[index] {
                    None => found[index] = Some(child),
                    Some(first) if self.is_strict() => self.repeated(child, parent, first),
                    Some(_) => {}
                },
            }
        }
        self.holders.push(parent);
        for (setting, node) in table.iter().zip(found) {
            match node {
                Some(node) => {
                    self.attributes(node, setting.attributes());
                    setting.read(self, node, into);
                }
                None if setting.is_required && self.is_strict() => {
                    self.fault(parent, format!("the required element <{}> is missing", setting.element));
                }
                None => {}
            }
        }
        self.holders.pop();
    }

    fn repeated(&mut self, child: &Element, parent: &Element, first: &Element) {
        let line = first.place.line;
        let holder = &parent.name;
        self.fault(child, format!("given twice in this <{holder}>; the first is on line {line}"));
    }
}

/// Elements of all rows.
pub(crate) fn names<T>(table: &'static [Setting<T>]) -> Vec<&'static str> {
    table.iter().map(|setting| setting.element).collect()
}

/// Writes all rows in their order.
pub(crate) fn write_all<T>(xml: &mut Element, table: &'static [Setting<T>], of: &T) {
    for setting in table {
        setting.write(xml, of);
    }
}

#[cfg(test)]
mod tests;
