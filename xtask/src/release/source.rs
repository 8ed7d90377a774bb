//! The commit of a release, and its time: files of a release have this time, not that of the build.

use super::run;
use crate::stop::Stop;
use std::path::Path;
use std::process::Command;

/// The source of the build.
pub(super) struct Source {
    /// The commit; empty in an unpacked archive.
    pub(super) commit: String,
    /// Seconds since 1970: `SOURCE_DATE_EPOCH`, or else the time of the commit, or 0 in an unpacked archive.
    pub(super) time: u64,
    /// Number of files that differ from the commit.
    changed_files: usize,
}

impl Source {
    /// The source at a root.
    pub(super) fn read(root: &Path) -> Result<Self, Stop> {
        let git = |words: &[&str]| run(Command::new("git").arg("-C").arg(root).args(words));
        // An unpacked archive may lie within another repository.
        let top = git(&["rev-parse", "--show-toplevel"]).unwrap_or_default();
        let is_repository = Path::new(top.trim_end()).canonicalize().is_ok_and(|top| top == *root);
        let given = std::env::var("SOURCE_DATE_EPOCH").ok();
        let (mut commit, mut time, mut changed_files) = (String::new(), "0".to_owned(), 0);
        if is_repository {
            git(&["rev-parse", "HEAD"])?.trim_end().clone_into(&mut commit);
            git(&["log", "-1", "--format=%ct"])?.trim_end().clone_into(&mut time);
            changed_files = git(&["status", "--porcelain"])?.lines().count();
        }
        let time = given.unwrap_or(time);
        let time = time.parse().map_err(|_| Stop::Failed(format!("SOURCE_DATE_EPOCH is '{time}', not seconds")))?;
        Ok(Self { commit, time, changed_files })
    }

    /// The time in RFC 3339 format.
    pub(super) fn timestamp(&self) -> Result<String, Stop> {
        let text = run(Command::new("date").arg("--utc").arg(format!("--date=@{}", self.time)).arg("+%FT%TZ"))?;
        Ok(text.trim_end().to_owned())
    }

    /// A description for the table.
    pub(super) fn describe(&self) -> Result<String, Stop> {
        let commit = if self.commit.is_empty() { "no commit" } else { &self.commit };
        let changed = match self.changed_files {
            0 => String::new(),
            count => format!("; not a release: {count} files are not committed"),
        };
        Ok(format!("{commit}, {}{changed}", self.timestamp()?))
    }

    /// An error unless another build of the commit has the same source.
    pub(super) fn must_be_committed(&self) -> Result<(), Stop> {
        match (self.commit.as_str(), self.changed_files) {
            ("", _) => Err(Stop::Failed("--twice builds a commit: this is no repository".to_owned())),
            (_, 0) => Ok(()),
            (_, count) => Err(Stop::Failed(format!("--twice builds a commit: {count} files are not committed"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_the_commit() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let none = Source::read(&root).expect("no repository");
        assert_eq!((none.commit.as_str(), none.time), ("", 0));
        assert!(none.must_be_committed().is_err());
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(&root).env("GIT_COMMITTER_DATE", "@86400 +0000");
            for name in ["AUTHOR", "COMMITTER"] {
                command.envs([(format!("GIT_{name}_NAME"), "a"), (format!("GIT_{name}_EMAIL"), "a@example.com")]);
            }
            run(command.args(words)).expect("git")
        };
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--message=first"]);
        let source = Source::read(&root).expect("a repository");
        assert_eq!((source.commit.len(), source.time), (40, 86_400));
        assert_eq!(source.timestamp().expect("date"), "1970-01-02T00:00:00Z");
        assert!(source.must_be_committed().is_ok());
        std::fs::write(root.join("new"), "").expect("a file");
        let changed = Source::read(&root).expect("a repository");
        assert!(changed.must_be_committed().is_err());
        assert!(changed.describe().expect("date").contains("1 files are not committed"));
    }
}
