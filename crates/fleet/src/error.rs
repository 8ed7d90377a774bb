//! Why a run of many hosts did not happen or did not end well.

use std::fmt;

/// Why something with agents failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetError {
    /// What the user asked for cannot be done: a name, an option or a file of keys. Nothing was sent.
    Usage(String),
    /// A host, or the controller itself, refused before anything was written on any host. Each sentence names its host.
    Refused(Vec<String>),
    /// It failed after hosts were prepared; what their preparation created was removed, except where a sentence says
    /// that a host did not confirm this.
    Failed(Vec<String>),
    /// It was stopped before the load started; hosts hold nothing that was made for it, as after [`FleetError::Failed`].
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

    /// The sentences, each of which is to be shown on a line of its own. Parts of them come from other machines: print
    /// them as foreign text.
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
