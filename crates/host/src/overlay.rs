//! Files that overlays show twice: merged, and in their own layer. Each has device and inode numbers of its own, so
//! users of one of them are not found by those of the other.

use crate::mounts;
use crate::root::Root;
use crate::syntax::unescape;
use model::device_guard::FileIdentity;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The maximum number of nested overlays.
const STEPS_MAX: usize = 8;

/// The overlays visible to this process: for each its merged directory and its layers, as far as their paths exist
/// here.
#[derive(Debug, Default)]
pub(crate) struct Overlays(Vec<Vec<(PathBuf, FileIdentity)>>);

impl Overlays {
    /// Reads them from the mount table.
    pub(crate) fn read(root: &Root) -> Self {
        let overlays = mounts::read(root).into_iter().filter(|mount| mount.file_system == "overlay");
        let directories = overlays.filter(|mount| mount.root == Path::new("/")).map(|mount| {
            let layers = layers(&mount.super_options).into_iter().chain([mount.point]);
            layers.filter_map(|path| fs::metadata(&path).ok().map(|found| (path, identity(&found)))).collect()
        });
        Self(directories.collect())
    }

    /// The same file in other layers of overlays, with their paths.
    pub(crate) fn others(&self, path: &Path) -> BTreeMap<FileIdentity, PathBuf> {
        let mut found = BTreeMap::new();
        let mut paths = vec![path.to_owned()];
        for _ in 0..STEPS_MAX {
            let Some(path) = paths.pop() else { break };
            for (directories, part) in
                self.0.iter().filter_map(|directories| Some((directories, part(directories, &path)?)))
            {
                for other in directories.iter().map(|(directory, _)| directory.join(part)) {
                    let Ok(metadata) = fs::metadata(&other) else { continue };
                    if metadata.is_file() && found.insert(identity(&metadata), other.clone()).is_none() {
                        paths.push(other);
                    }
                }
            }
        }
        found
    }
}

/// Identity of the file.
pub fn identity(metadata: &fs::Metadata) -> FileIdentity {
    FileIdentity { device: metadata.dev(), inode: metadata.ino() }
}

/// The part of a path below one of these directories, whatever their names: bind mounts of them count.
fn part<'a>(directories: &[(PathBuf, FileIdentity)], path: &'a Path) -> Option<&'a Path> {
    path.ancestors().skip(1).find_map(|ancestor| {
        let found = identity(&fs::metadata(ancestor).ok()?);
        directories.iter().any(|(_, directory)| *directory == found).then(|| path.strip_prefix(ancestor).ok())?
    })
}

/// The directories in the options of an overlay.
fn layers(options: &str) -> Vec<PathBuf> {
    let values = options.split(',').filter_map(|option| option.split_once('='));
    let layers = values.filter(|(name, _)| ["upperdir", "lowerdir", "lowerdir+", "datadir+"].contains(name));
    let paths = layers.flat_map(|(_, value)| value.split(':').filter(|path| !path.is_empty()));
    paths.map(|path| PathBuf::from(OsString::from_vec(unescape(path)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_read_from_options() {
        let options = r"rw,lowerdir=/a\040b:/c::/d,upperdir=/u,workdir=/w,redirect_dir=on";
        let expected: Vec<PathBuf> = ["/a b", "/c", "/d", "/u"].map(PathBuf::from).into();
        assert_eq!(layers(options), expected);
        assert_eq!(layers("rw,lowerdir+=/a,lowerdir+=/b"), [PathBuf::from("/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn a_file_is_found_in_the_other_layers() {
        let machine = tempfile::tempdir().expect("a folder");
        let at = |name: &str| machine.path().join(name);
        for folder in ["lower/d", "upper/d", "merged/d", "other"] {
            fs::create_dir_all(at(folder)).expect("made");
        }
        for file in ["lower/d/f", "upper/d/f", "merged/d/f", "other/f"] {
            fs::write(at(file), file).expect("written");
        }
        let place = |name: &str| at(name).display().to_string();
        let line = format!(
            "36 35 0:40 / {} rw - overlay none rw,lowerdir={},upperdir={},workdir=/nowhere\n",
            place("merged"),
            place("lower"),
            place("upper")
        );
        fs::create_dir_all(at("proc/self")).expect("made");
        fs::write(at("proc/self/mountinfo"), line).expect("written");
        let overlays = Overlays::read(&Root::recorded(machine.path()));
        for file in ["merged/d/f", "upper/d/f"] {
            let mut others: Vec<PathBuf> = overlays.others(&at(file)).into_values().collect();
            others.sort();
            assert_eq!(others, [at("lower/d/f"), at("merged/d/f"), at("upper/d/f")], "{file}");
        }
        assert!(overlays.others(&at("other/f")).is_empty());
    }
}
