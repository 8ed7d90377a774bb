//! Paths in documents: text where they are text, and their exact bytes beside it where not.
//!
//! Fields that hold paths name [`One`] or [`Several`] in `#[serde(with)]`, which is their schema, too; those that may be missing
//! name this module, and their schema beside it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::marker::PhantomData;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path as documents hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Path"))]
#[serde(untagged)]
pub enum Written {
    /// A path that is valid UTF-8, as it is.
    Text(String),
    /// A path that is not valid UTF-8.
    Bytes {
        /// The path as text, with U+FFFD in place of bytes that are not UTF-8.
        text: String,
        /// The bytes of the path, two hexadecimal digits each.
        bytes_hex: String,
    },
}

/// The bytes of a path are not pairs of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes_hex is not an even number of hexadecimal digits")]
pub struct NotHexadecimal;

impl From<&Path> for Written {
    fn from(path: &Path) -> Self {
        if let Some(text) = path.to_str() {
            return Self::Text(text.to_owned());
        }
        let mut bytes_hex = String::new();
        for byte in path.as_os_str().as_bytes() {
            // Writing to a String cannot fail.
            let _ = write!(bytes_hex, "{byte:02x}");
        }
        Self::Bytes { text: path.to_string_lossy().into_owned(), bytes_hex }
    }
}

impl TryFrom<Written> for PathBuf {
    type Error = NotHexadecimal;

    fn try_from(written: Written) -> Result<Self, NotHexadecimal> {
        let bytes_hex = match written {
            Written::Text(text) => return Ok(Self::from(text)),
            Written::Bytes { bytes_hex, .. } => bytes_hex,
        };
        let digits = bytes_hex.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>();
        let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or(NotHexadecimal)?;
        // A digit is at most 15, so a pair is a byte.
        let bytes = digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
        Ok(Self::from(OsString::from_vec(bytes)))
    }
}

/// A path, or several, or one that may be missing.
pub trait Paths: Sized {
    /// As documents hold it.
    type Written: Serialize + for<'de> Deserialize<'de>;
    /// For a document.
    fn to_written(&self) -> Self::Written;
    /// From a document.
    fn from_written(written: Self::Written) -> Result<Self, NotHexadecimal>;
}

impl Paths for PathBuf {
    type Written = Written;

    fn to_written(&self) -> Written {
        Written::from(self.as_path())
    }

    fn from_written(written: Written) -> Result<Self, NotHexadecimal> {
        written.try_into()
    }
}

impl Paths for Option<PathBuf> {
    type Written = Option<Written>;

    fn to_written(&self) -> Option<Written> {
        self.as_ref().map(Paths::to_written)
    }

    fn from_written(written: Option<Written>) -> Result<Self, NotHexadecimal> {
        written.map(Paths::from_written).transpose()
    }
}

impl Paths for Vec<PathBuf> {
    type Written = Vec<Written>;

    fn to_written(&self) -> Vec<Written> {
        self.iter().map(Paths::to_written).collect()
    }

    fn from_written(written: Vec<Written>) -> Result<Self, NotHexadecimal> {
        written.into_iter().map(Paths::from_written).collect()
    }
}

/// For `#[serde(with)]`: paths as documents and their schema have them.
#[derive(Debug)]
pub struct Documented<P>(PhantomData<P>);

/// A path.
pub type One = Documented<PathBuf>;

/// A list of paths.
pub type Several = Documented<Vec<PathBuf>>;

impl<P: Paths> Documented<P> {
    /// For serde.
    pub fn serialize<S: Serializer>(paths: &P, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(paths, serializer)
    }

    /// For serde.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<P, D::Error> {
        deserialize(deserializer)
    }
}

#[cfg(feature = "schema")]
impl<P: Paths<Written: schemars::JsonSchema>> schemars::JsonSchema for Documented<P> {
    fn inline_schema() -> bool {
        P::Written::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        P::Written::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        P::Written::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        P::Written::json_schema(generator)
    }
}

/// For `#[serde(with)]`.
pub fn serialize<T: Paths, S: Serializer>(paths: &T, serializer: S) -> Result<S::Ok, S::Error> {
    paths.to_written().serialize(serializer)
}

/// For `#[serde(with)]`.
pub fn deserialize<'de, T: Paths, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::from_written(T::Written::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_that_is_no_text_keeps_its_bytes() {
        let path = PathBuf::from(OsString::from_vec(b"caf\xe9.dat".to_vec()));
        let written = Written::Bytes { text: "caf\u{fffd}.dat".to_owned(), bytes_hex: "636166e92e646174".to_owned() };
        assert_eq!(path.to_written(), written);
        assert_eq!(PathBuf::from_written(written), Ok(path));
    }

    #[test]
    fn what_is_no_hexadecimal_is_refused() {
        for bytes_hex in ["6", "6g", "+6", "é0"] {
            let written = Written::Bytes { text: String::new(), bytes_hex: bytes_hex.to_owned() };
            assert_eq!(PathBuf::from_written(written), Err(NotHexadecimal), "{bytes_hex}");
        }
    }

    proptest! {
        #[test]
        fn every_path_reads_back(bytes: Vec<u8>) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            prop_assert_eq!(PathBuf::from_written(path.to_written()), Ok(path));
        }
    }
}
