//! Errors of runs on many hosts.

use std::fmt;

/// Error of a fleet operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetError {
    /// The request is invalid: a name, an option or a file of keys. Nothing was sent.
    Usage(String),
    /// A host, or the controller itself, refused before anything was written on any host. Each sentence names its host.
    Refused(Vec<String>),
    /// It failed after hosts were prepared; files created by the preparation were removed, except where a sentence
    /// reports that a host did not confirm this.
    Failed(Vec<String>),
    /// It was stopped before the load started; nothing created for it remains on the hosts, as after
    /// [`FleetError::Failed`].
    Stopped(Vec<String>),
}

impl FleetError {
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(vec![sentence.into()])
    }

    pub(crate) fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused(vec![sentence.into()])
    }

    /// True if no host was touched: the run was refused (exit status 3), as opposed to failed (1).
    pub fn touched_nothing(&self) -> bool {
        matches!(self, Self::Usage(_) | Self::Refused(_))
    }

    /// The sentences, each to be printed on a line of its own. Parts of them come from other machines: print them as
    /// foreign text.
    pub fn sentences(&self) -> &[String] {
        match self {
            Self::Usage(sentence) => std::slice::from_ref(sentence),
            Self::Refused(sentences) | Self::Failed(sentences) | Self::Stopped(sentences) => sentences,
        }
    }
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences().join("\n"))
    }
}

impl std::error::Error for FleetError {}
