//! What a table says about one element: its name, what it may hold, and what that sets in a `T`.

use super::reader::Reader;
use roxmltree::Node;
use std::ops::RangeInclusive;

/// One row: an element that may be a child of some other.
pub(super) struct Element<T: 'static> {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    /// The attributes that it may have.
    pub(super) attributes: &'static [&'static str],
    pub(super) content: Content<T>,
}

/// What stands between the tags, and what it sets.
pub(super) enum Content<T: 'static> {
    /// `true` or `false`.
    Flag(fn(&mut T, bool)),
    /// A whole number within bounds.
    U32(RangeInclusive<u32>, fn(&mut T, u32)),
    /// A whole number within bounds.
    U64(RangeInclusive<u64>, fn(&mut T, u64)),
    /// One of these words.
    Word(&'static [Choice<T>]),
    /// Any text.
    Text(fn(&mut T, String)),
    /// Whatever the function makes of it.
    Own(fn(&mut Reader<'_>, Node<'_, '_>, &mut T)),
}

/// A word, and what it sets.
pub(super) type Choice<T> = (&'static str, fn(&mut T));

impl<T> Element<T> {
    const fn new(name: &'static str, content: Content<T>) -> Self {
        Self { name, is_required: false, attributes: &[], content }
    }

    /// `true` or `false`.
    pub(super) const fn flag(name: &'static str, set: fn(&mut T, bool)) -> Self {
        Self::new(name, Content::Flag(set))
    }

    /// Any number of 32 bits.
    pub(super) const fn u32(name: &'static str, set: fn(&mut T, u32)) -> Self {
        Self::u32_within(name, 0..=u32::MAX, set)
    }

    /// A number within bounds.
    pub(super) const fn u32_within(name: &'static str, range: RangeInclusive<u32>, set: fn(&mut T, u32)) -> Self {
        Self::new(name, Content::U32(range, set))
    }

    /// Any number of 64 bits.
    pub(super) const fn u64(name: &'static str, set: fn(&mut T, u64)) -> Self {
        Self::u64_within(name, 0..=u64::MAX, set)
    }

    /// A number within bounds.
    pub(super) const fn u64_within(name: &'static str, range: RangeInclusive<u64>, set: fn(&mut T, u64)) -> Self {
        Self::new(name, Content::U64(range, set))
    }

    /// One of these words.
    pub(super) const fn word(name: &'static str, words: &'static [Choice<T>]) -> Self {
        Self::new(name, Content::Word(words))
    }

    /// Any text.
    pub(super) const fn text(name: &'static str, set: fn(&mut T, String)) -> Self {
        Self::new(name, Content::Text(set))
    }

    /// Whatever `read` makes of it.
    pub(super) const fn own(name: &'static str, read: fn(&mut Reader<'_>, Node<'_, '_>, &mut T)) -> Self {
        Self::new(name, Content::Own(read))
    }

    /// It must be there.
    pub(super) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// It may have these attributes.
    pub(super) const fn with_attributes(mut self, attributes: &'static [&'static str]) -> Self {
        self.attributes = attributes;
        self
    }
}
