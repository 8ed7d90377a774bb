//! The value of `--stream` and `--mix`: options and targets within one word.

use model::profile::StreamName;
use std::fmt;

/// Upper limit of a weight.
const WEIGHT_MAX: u32 = 1_000_000;

/// A stream, or a part of a mix, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedStream {
    pub(crate) kind: PartKind,
    /// Its options, then its targets.
    pub(crate) words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// `--stream`: has separate results.
    Stream(StreamName),
    /// `--mix`: a share of the I/Os.
    Mix { weight: u32 },
}

impl fmt::Display for PartKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(name) => write!(out, "stream '{name}'"),
            Self::Mix { weight } => write!(out, "mix '{weight}'"),
        }
    }
}

impl TypedStream {
    /// `NAME: options and targets`
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let missing = || {
            format!(
                "'{text}' has no name (expected: a name, a colon, then options and targets, as in 'oltp: -b8K -r -w30')"
            )
        };
        let (name, rest) = text.split_once(':').ok_or_else(missing)?;
        Self::with_words(PartKind::Stream(StreamName::parse(name.trim())?), rest)
    }

    /// `WEIGHT: options and targets`
    pub(crate) fn parse_mix(text: &str) -> Result<Self, String> {
        let weight = |text: &str| text.trim().parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight));
        let parsed = text.split_once(':').and_then(|(first, rest)| Some((weight(first)?, rest)));
        let (weight, rest) = parsed.ok_or_else(|| {
            format!(
                "'{text}' has no weight (expected: 1 to {WEIGHT_MAX}, a colon, then options and targets, as in '60: -b8K -r \
                 -w20')"
            )
        })?;
        Self::with_words(PartKind::Mix { weight }, rest)
    }

    fn with_words(kind: PartKind, text: &str) -> Result<Self, String> {
        let words = words(text).map_err(|fault| format!("{kind}: {fault}"))?;
        Ok(Self { kind, words })
    }

    /// Error if it cannot be combined with those already given.
    pub(crate) fn conflict_with(&self, known: &[Self]) -> Option<String> {
        if known.iter().any(|other| other.option() != self.option()) {
            return Some("--stream and --mix cannot be used together".to_owned());
        }
        let is_twice = matches!(self.kind, PartKind::Stream(_)) && known.iter().any(|other| other.kind == self.kind);
        is_twice.then(|| format!("{} is given twice; each needs a name of its own", self.kind))
    }

    /// The option that defines it.
    pub(crate) const fn option(&self) -> &'static str {
        match self.kind {
            PartKind::Stream(_) => "--stream",
            PartKind::Mix { .. } => "--mix",
        }
    }
}

/// The words of a text. Blanks separate them, except between quotation marks of either kind and after a backslash.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut open_quote = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match (open_quote, character) {
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (None, quote @ ('\'' | '"')) => {
                open_quote = Some(quote);
                word.get_or_insert_default();
            }
            (Some(quote), end) if quote == end => open_quote = None,
            (None | Some('"'), '\\') => {
                let next = rest.next().ok_or("nothing follows the backslash at the end")?;
                word.get_or_insert_default().push(next);
            }
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    if let Some(quote) = open_quote {
        return Err(format!("the quotation mark {quote} is not closed"));
    }
    words.extend(word);
    Ok(words)
}
