//! The container image: an OCI layout in a tar, with the index that `docker load` also reads. It contains the program,
//! its licences and an empty directory for a volume.

use super::archive::{Tar, compress, sha256};
use super::chroot::{Guest, add_emulator, example};
use super::target::Target;
use super::{Workspace, empty, expect, failed, needed, only_root, run, work_folder};
use crate::stop::Stop;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// User and group of the program: "nonroot" of other images made from scratch, no user of a host.
const USER: u32 = 65_532;

/// Files of the stage in the image.
const FILES: [&str; 4] = ["diskspd", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.md"];

/// Makes it from the files of the stage.
pub(super) fn make(workspace: &Workspace, stage: &Path, target: &Target) -> Result<PathBuf, Stop> {
    let version = env!("CARGO_PKG_VERSION");
    let image = workspace.files().join(format!("diskspd-{version}-{}.oci.tar", target.cpu.debian));
    pack(workspace, stage, target.cpu.debian, &image)?;
    Ok(image)
}

/// Writes an image for a CPU by Go's name, which is also Debian's.
fn pack(workspace: &Workspace, stage: &Path, cpu: &str, image: &Path) -> Result<(), Stop> {
    let folder = work_folder(workspace)?;
    let layout = Layout { folder: folder.path().join("layout") };
    empty(&layout.blobs())?;
    let data = folder.path().join("data");
    empty(&data)?;
    let (time, created) = (workspace.source.time, workspace.source.timestamp()?);
    let layer = folder.path().join("layer");
    Tar { folder: stage, names: &FILES, owner: 0, time }.append(&layer)?;
    Tar { folder: folder.path(), names: &["data"], owner: USER, time }.append(&layer)?;
    let unpacked = sha256(&layer)?;
    let layer = layout.add(&compress(&layer)?, "layer.v1.tar+gzip")?;
    let config = layout.write(&config(cpu, &workspace.source.commit, &created, &unpacked), "config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [layer],
    });
    let mut manifest = layout.write(&manifest, "manifest.v1+json")?;
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("localhost/diskspd:{version}");
    manifest["platform"] = json!({"architecture": cpu, "os": "linux"});
    manifest["annotations"] = json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": version});
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
    });
    let path = |blob: &Value| blob_path(blob["digest"].as_str().unwrap_or_default());
    let docker = json!([{"Config": path(&config), "RepoTags": [name], "Layers": [path(&layer)]}]);
    let version = json!({"imageLayoutVersion": "1.0.0"});
    for (name, document) in [("oci-layout", version), ("index.json", index), ("manifest.json", docker)] {
        let path = layout.folder.join(name);
        std::fs::write(&path, document.to_string()).map_err(failed("write", &path))?;
    }
    let names = ["oci-layout", "index.json", "manifest.json", "blobs"];
    Tar { folder: &layout.folder, names: &names, owner: 0, time }.append(image)
}

/// Configuration of the container.
fn config(cpu: &str, commit: &str, created: &str, layer: &str) -> Value {
    json!({
        "created": created, "architecture": cpu, "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/diskspd"],
            "WorkingDir": "/data",
            "Volumes": {"/data": {}},
            "Labels": {
                "org.opencontainers.image.title": "diskspd",
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.revision": commit,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer}")]},
        "history": [{"created": created, "created_by": "cargo xtask release"}],
    })
}

/// The path of a blob in a layout.
fn blob_path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

/// The directory with the image.
struct Layout {
    folder: PathBuf,
}

impl Layout {
    fn blobs(&self) -> PathBuf {
        self.folder.join("blobs/sha256")
    }

    /// Moves a file in and returns its descriptor.
    fn add(&self, file: &Path, kind: &str) -> Result<Value, Stop> {
        let digest = format!("sha256:{}", sha256(file)?);
        let size = file.metadata().map_err(failed("read", file))?.len();
        std::fs::rename(file, self.folder.join(blob_path(&digest))).map_err(failed("move", file))?;
        Ok(json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": digest, "size": size}))
    }

    fn write(&self, document: &Value, kind: &str) -> Result<Value, Stop> {
        let path = self.folder.join("new");
        std::fs::write(&path, document.to_string()).map_err(failed("write", &path))?;
        self.add(&path, kind)
    }

    /// The file of a descriptor, if its contents match.
    fn find(&self, descriptor: &Value) -> Result<PathBuf, Stop> {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        let path = self.folder.join(blob_path(digest));
        let size = path.metadata().map_err(failed("read", &path))?.len();
        if digest != format!("sha256:{}", sha256(&path)?) || descriptor["size"] != size {
            return Err(Stop::Failed(format!("{} is not what is said of it: {descriptor}", path.display())));
        }
        Ok(path)
    }

    fn read(&self, descriptor: &Value) -> Result<Value, Stop> {
        read_json(&self.find(descriptor)?)
    }
}

fn read_json(path: &Path) -> Result<Value, Stop> {
    let text = std::fs::read_to_string(path).map_err(failed("read", path))?;
    serde_json::from_str(&text).map_err(|error| Stop::Failed(format!("{}: {error}", path.display())))
}

/// Unpacks an image into a root file system, like a container runtime, and returns its settings.
fn unpack(image: &Path, folder: &Path, root: &Path) -> Result<Value, Stop> {
    let layout = Layout { folder: folder.join("layout") };
    let extract = |archive: &Path, to: &Path| {
        empty(to)?;
        run(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(to))
    };
    extract(image, &layout.folder)?;
    let index = read_json(&layout.folder.join("index.json"))?;
    let manifest = layout.read(&index["manifests"][0])?;
    extract(&layout.find(&manifest["layers"][0])?, root)?;
    layout.read(&manifest["config"])
}

/// The properties of an image according to skopeo.
pub(super) fn ask_skopeo(image: &Path, target: &Target) -> Result<String, Stop> {
    let skopeo = needed("skopeo", "apt-get install skopeo")?;
    let mut settings = String::new();
    for transport in ["docker-archive", "oci-archive"] {
        let name = format!("{transport}:{}", image.display());
        settings = run(Command::new(&skopeo).args(["inspect", "--config"]).arg(name))?;
    }
    let settings: Value = serde_json::from_str(&settings).map_err(|error| Stop::Failed(format!("skopeo: {error}")))?;
    if settings["architecture"] != target.cpu.debian || settings["config"]["User"] != format!("{USER}:{USER}") {
        return Err(Stop::Failed(format!("skopeo reads {settings}")));
    }
    Ok(format!("{}, user {USER}, as an OCI archive and as one of docker", target.cpu.debian))
}

/// Runs the main job in the image like a container runtime: as its user, in a read-only root, with a volume.
pub(super) fn run_read_only(workspace: &Workspace, image: &Path, target: &Target) -> Result<String, Stop> {
    only_root()?;
    let folder = work_folder(workspace)?;
    let (root, volume) = (folder.path().join("root"), folder.path().join("volume"));
    let settings = unpack(image, folder.path(), &root)?;
    for mounts in [&root.join("proc"), &root.join("sys"), &volume] {
        empty(mounts)?;
    }
    std::os::unix::fs::chown(&volume, Some(USER), Some(USER)).map_err(failed("give away", &volume))?;
    let mut words: Vec<&str> = add_emulator(target, &root)?.into_iter().collect();
    words.extend(settings["config"]["Entrypoint"][0].as_str());
    let user = settings["config"]["User"].as_str().and_then(|user| user.split_once(':')?.0.parse().ok());
    let user = user.ok_or_else(|| Stop::Failed(format!("no user: {settings}")))?;
    let before = list(&root)?;
    let command = |user, line: &str| {
        let line = line.split(' ');
        Guest { root: &root, user, volume: Some(&volume) }
            .command(&words.iter().copied().chain(line).collect::<Vec<_>>())
    };
    let job = format!("{} --json=/data/result.json /data/test.dat", example(target));
    expect(&run(&mut command(user, &job))?, &["Total IO", "Write IO"])?;
    // Even for root, which ignores permissions.
    for user in [user, 0] {
        match run(&mut command(user, "-c1M -d1 -W0 -b8K -w100 /test.dat")) {
            Err(Stop::Failed(reason)) if user != 0 || reason.contains("ead-only") => {}
            outcome => return Err(Stop::Failed(format!("user {user} writes beside the volume: {outcome:?}"))),
        }
    }
    let written = list(&volume)?;
    if list(&root)? != before || written != ["result.json", "test.dat"] {
        return Err(Stop::Failed(format!("written: {written:?} to the volume, and the root is {:?}", list(&root)?)));
    }
    Ok(format!("the main job by user {user}, which wrote to the volume only"))
}

/// The names in a folder.
fn list(folder: &Path) -> Result<Vec<String>, Stop> {
    let entries = std::fs::read_dir(folder).map_err(failed("read", folder))?;
    let names =
        entries.map(|entry| Ok(entry.map_err(failed("read", folder))?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_, Stop>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::source::Source;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// A workspace in a folder, with a stage whose files have these modes.
    fn workspace(mode: u32) -> (tempfile::TempDir, Workspace, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let stage = root.join("stage");
        empty(&stage).expect("ours");
        for name in FILES {
            let path = stage.join(name);
            std::fs::write(&path, name).expect("a file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("our file");
        }
        let mut source = Source::read(&root).expect("no repository");
        source.time = 86_400;
        empty(&root.join("target")).expect("ours");
        (folder, Workspace { build: root.join("target"), root, source }, stage)
    }

    #[test]
    fn an_image_is_unpacked_to_what_was_packed() {
        let (folder, workspace, stage) = workspace(0o755);
        let (image, root) = (folder.path().join("image.tar"), folder.path().join("root"));
        pack(&workspace, &stage, "arm64", &image).expect("tar");
        let settings = unpack(&image, folder.path(), &root).expect("it is whole");
        assert_eq!(settings["architecture"], "arm64");
        assert_eq!(settings["created"], "1970-01-02T00:00:00Z");
        assert_eq!(settings["config"]["User"], "65532:65532");
        assert_eq!(settings["config"]["WorkingDir"], "/data");
        assert_eq!(list(&root).expect("ours"), ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.md", "data", "diskspd"]);
        let program = root.join("diskspd").metadata().expect("it is there");
        assert_eq!((program.mode() & 0o777, program.mtime()), (0o755, 86_400));
        // Docker's files are also present.
        let layout = folder.path().join("layout");
        let docker = read_json(&layout.join("manifest.json")).expect("JSON");
        for path in [&docker[0]["Config"], &docker[0]["Layers"][0]] {
            assert!(layout.join(path.as_str().expect("a path")).is_file(), "{path}");
        }
    }

    #[test]
    fn the_same_files_in_another_folder_give_the_same_image() {
        let pack = |mode| {
            let (folder, workspace, stage) = workspace(mode);
            let image = folder.path().join("image.tar");
            pack(&workspace, &stage, "amd64", &image).expect("tar");
            std::fs::read(image).expect("it is there")
        };
        assert!(pack(0o755) == pack(0o700));
    }

    #[test]
    fn a_blob_that_was_changed_is_found() {
        let (folder, _, _) = workspace(0o755);
        let layout = Layout { folder: folder.path().join("layout") };
        empty(&layout.blobs()).expect("ours");
        let descriptor = layout.write(&json!({"a": 1}), "config.v1+json").expect("ours");
        assert_eq!(layout.read(&descriptor).expect("whole"), json!({"a": 1}));
        std::fs::write(layout.find(&descriptor).expect("whole"), "{\"a\":2}").expect("ours");
        let Err(Stop::Failed(reason)) = layout.read(&descriptor) else { panic!("changed") };
        assert!(reason.contains("is not what is said of it"), "{reason}");
    }
}
