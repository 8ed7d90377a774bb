//! Parts of the program that a build can leave out: their modules are replaced by those of `absent`, which refuse the
//! request.

/// A feature of the build, by its name in Cargo.toml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Latency distributions of block devices.
    Ebpf,
    /// Loads on several hosts.
    Fleet,
    /// HTML pages and charts.
    Pages,
    /// Full-screen views.
    Screens,
    /// Workbooks.
    Sheets,
}

impl Feature {
    const ALL: [Self; 5] = [Self::Ebpf, Self::Fleet, Self::Pages, Self::Screens, Self::Sheets];

    const fn name(self) -> &'static str {
        match self {
            Self::Ebpf => "ebpf",
            Self::Fleet => "fleet",
            Self::Pages => "pages",
            Self::Screens => "screens",
            Self::Sheets => "sheets",
        }
    }

    const fn is_built(self) -> bool {
        match self {
            Self::Ebpf => cfg!(feature = "ebpf"),
            Self::Fleet => cfg!(feature = "fleet"),
            Self::Pages => cfg!(feature = "pages"),
            Self::Screens => cfg!(feature = "screens"),
            Self::Sheets => cfg!(feature = "sheets"),
        }
    }

    /// The reason why this build cannot do what was requested, if it lacks the feature.
    pub(crate) fn missing(self) -> Option<String> {
        (!self.is_built()).then(|| self.refusal())
    }

    /// The error of a build without the feature.
    pub(crate) fn refusal(self) -> String {
        let name = self.name();
        format!("this build has no {name}: build with --features {name}")
    }
}

/// The names of the features that this build lacks, joined; `None` = it has all.
pub(crate) fn absent() -> Option<String> {
    let names: Vec<&str> = Feature::ALL.into_iter().filter(|feature| !feature.is_built()).map(Feature::name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
