//! Keys: the private one with which a controller signs its orders, and the public ones that an agent trusts.
//!
//! Ed25519 keys in the notation of NATS (`nkeys`, kind user): a seed begins with `SU`, a public key with `U`.

use crate::FleetError;
use nkeys::{KeyPair, KeyPairType};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The maximum size of a key file in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// A private key, with which orders are signed.
#[derive(Clone)]
pub struct SigningKey {
    pair: KeyPair,
    public: PublicKey,
}

/// A public key, as text: `U` and 55 more characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey(String);

/// The public keys whose orders an agent executes.
#[derive(Clone, Debug, Default)]
pub struct Trusted {
    keys: Vec<PublicKey>,
}

/// The files that [`generate`] wrote.
#[derive(Clone, Debug)]
pub struct KeyFiles {
    /// The private key, readable by its owner only.
    pub private: PathBuf,
    /// The public key, for `--trust`.
    pub public: PathBuf,
    /// The public key itself.
    pub key: PublicKey,
}

/// Makes a new key and writes `STEM.key` (mode 0600) and `STEM.pub`.
///
/// # Errors
///
/// If one of the files exists or cannot be written; an existing key is never replaced.
pub fn generate(stem: &Path) -> Result<KeyFiles, FleetError> {
    let key = SigningKey::generate()?;
    let private = with_ending(stem, ".key");
    let public = with_ending(stem, ".pub");
    for path in [&private, &public] {
        if path.symlink_metadata().is_ok() {
            return Err(FleetError::Usage(format!(
                "{} exists: choose another name, or remove it if no agent trusts it",
                path.display()
            )));
        }
    }
    write_new(&private, 0o600, &format!("{}\n", key.seed()?))?;
    let written =
        write_new(&public, 0o644, &format!("# diskspd: signs orders of {}\n{}\n", private.display(), key.public));
    if let Err(error) = written {
        let _ = fs::remove_file(&private); // of no use without the other
        return Err(error);
    }
    Ok(KeyFiles { private, public, key: key.public })
}

fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), FleetError> {
    let cannot = |error| FleetError::failed(format!("cannot write {}: {error}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(cannot)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(cannot)
}

/// Random bytes of the kernel.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<(), FleetError> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(FleetError::failed(format!("the kernel gives no random numbers: {error}"))),
        }
    }
    Ok(())
}

impl SigningKey {
    /// A new key, which is in no file.
    pub fn generate() -> Result<Self, FleetError> {
        let mut seed = [0; 32];
        fill_random(&mut seed)?;
        let pair = KeyPair::new_from_raw(KeyPairType::User, seed)
            .map_err(|error| FleetError::failed(format!("cannot make a key: {error}")))?;
        Ok(Self::from_pair(pair))
    }

    fn from_pair(pair: KeyPair) -> Self {
        let public = PublicKey(pair.public_key());
        Self { pair, public }
    }

    /// Reads a private key from a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, holds no private key, or others than its owner may read it.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let (text, mode) = read_text(path)?;
        if mode & 0o077 != 0 {
            return Err(FleetError::Usage(format!(
                "{} is readable by others (mode {:o}): chmod 600 it, and make a new key if others use this machine",
                path.display(),
                mode & 0o777
            )));
        }
        let mut lines = meaningful(&text);
        match (lines.next(), lines.next()) {
            (Some((_, line)), None) => {
                Self::parse(line).ok_or_else(|| FleetError::Usage(format!("{} holds no private key", path.display())))
            }
            _ => Err(FleetError::Usage(format!("{} does not hold exactly one private key", path.display()))),
        }
    }

    /// A private key from its seed (`SU…`).
    pub fn parse(seed: &str) -> Option<Self> {
        let pair = KeyPair::from_seed(seed).ok()?;
        (pair.key_pair_type() == KeyPairType::User).then(|| Self::from_pair(pair))
    }

    /// Its secret: `SU…`.
    pub(crate) fn seed(&self) -> Result<String, FleetError> {
        self.pair.seed().map_err(|error| FleetError::failed(format!("cannot write a key: {error}")))
    }

    /// Its public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of the text, 64 bytes.
    pub(crate) fn sign(&self, text: &str) -> Result<Vec<u8>, FleetError> {
        self.pair.sign(text.as_bytes()).map_err(|error| FleetError::failed(format!("cannot sign an order: {error}")))
    }
}

impl PartialEq for SigningKey {
    fn eq(&self, other: &Self) -> bool {
        self.public == other.public
    }
}

impl Eq for SigningKey {}

impl fmt::Debug for SigningKey {
    /// Without the private part, which must not appear in a message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public)
    }
}

impl PublicKey {
    /// A public key from its text.
    pub fn parse(text: &str) -> Option<Self> {
        // Others than users' keys are for servers and accounts of NATS.
        let pair = text.starts_with('U').then(|| KeyPair::from_public_key(text).ok())??;
        (pair.key_pair_type() == KeyPairType::User).then(|| Self(text.to_owned()))
    }

    /// The text: `U` and 55 more characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the private key of this one signed the text.
    pub(crate) fn verifies(&self, text: &str, signature: &[u8]) -> bool {
        KeyPair::from_public_key(&self.0).is_ok_and(|pair| pair.verify(text.as_bytes(), signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Trusted {
    /// Reads public keys from a file: one per line; text after `#` is a comment.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, others than its owner may write it, a line is no public key, or there is none.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let (text, mode) = read_text(path)?;
        if mode & 0o022 != 0 {
            return Err(FleetError::Usage(format!(
                "{} is writable by others (mode {:o}): whoever adds a key can order loads; chmod 644 it",
                path.display(),
                mode & 0o777
            )));
        }
        let mut keys = Vec::new();
        for (number, line) in meaningful(&text) {
            let key = PublicKey::parse(line).ok_or_else(|| {
                let hint = if line.starts_with('S') { " but a private one; use the .pub file" } else { "" };
                FleetError::Usage(format!("{}:{number}: not a public key{hint}", path.display()))
            })?;
            keys.push(key);
        }
        if keys.is_empty() {
            return Err(FleetError::Usage(format!("{} holds no public key", path.display())));
        }
        Ok(Self { keys })
    }

    /// Trust in these keys.
    pub fn new(keys: Vec<PublicKey>) -> Self {
        Self { keys }
    }

    /// The key with this text, if it is trusted.
    pub fn find(&self, text: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.0 == text)
    }
}

/// Text and mode of a regular file of at most 64 KiB.
fn read_text(path: &Path) -> Result<(String, u32), FleetError> {
    let cannot = |error: std::io::Error| FleetError::Usage(format!("cannot read {}: {error}", path.display()));
    let file = fs::File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(FleetError::Usage(format!("{} is not a file of keys", path.display())));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(cannot)?;
    Ok((text, metadata.permissions().mode()))
}

/// Lines that are not empty, with their numbers.
fn meaningful(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let without_comment = |line: &'_ str| line.split('#').next().unwrap_or_default().trim().len();
    text.lines().enumerate().filter_map(move |(index, line)| {
        let start = line.len() - line.trim_start().len();
        let length = without_comment(line);
        (length > 0).then(|| (index + 1, &line[start..start + length]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_signs_what_its_public_half_verifies() {
        let folder = tempfile::tempdir().unwrap();
        let files = generate(&folder.path().join("fleet")).unwrap();
        assert_eq!(fs::metadata(&files.private).unwrap().permissions().mode() & 0o777, 0o600);
        let key = SigningKey::read(&files.private).unwrap();
        let trusted = Trusted::read(&files.public).unwrap();
        assert_eq!(key.public(), &files.key);
        let public = trusted.find(key.public().as_str()).unwrap();
        let signature = key.sign("text").unwrap();
        assert!(public.verifies("text", &signature));
        assert!(!public.verifies("texT", &signature));
        assert!(!public.verifies("text", &signature[1..]));
        assert!(!SigningKey::generate().unwrap().public().verifies("text", &signature));
        assert!(!format!("{key:?}").contains(&key.pair.seed().unwrap()), "the private half is shown");
    }

    #[test]
    fn an_existing_key_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let stem = folder.path().join("fleet");
        let files = generate(&stem).unwrap();
        let before = fs::read(&files.private).unwrap();
        assert!(generate(&stem).unwrap_err().to_string().contains("exists"));
        assert_eq!(fs::read(&files.private).unwrap(), before);
        fs::remove_file(&files.private).unwrap();
        assert!(generate(&stem).is_err(), "the public key would be replaced");
        assert!(!files.private.exists());
    }

    #[test]
    fn keys_that_others_can_read_or_write_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = generate(&folder.path().join("fleet")).unwrap();
        fs::set_permissions(&files.private, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(SigningKey::read(&files.private).unwrap_err().to_string().contains("readable by others"));
        fs::set_permissions(&files.public, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(Trusted::read(&files.public).unwrap_err().to_string().contains("writable by others"));
    }

    #[test]
    fn a_file_of_trusted_keys_has_one_key_a_line_and_comments() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust");
        let (one, two) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            Trusted::read(&path)
        };
        let trusted = write(&format!("# ours\n\n  {}  # Ann\r\n{}\n", one.public(), two.public())).unwrap();
        assert!(trusted.find(one.public().as_str()).is_some() && trusted.find(two.public().as_str()).is_some());
        assert!(trusted.find("").is_none());
        assert!(write("# nothing\n").unwrap_err().to_string().contains("no public key"));
        assert!(write("x\n").unwrap_err().to_string().contains("trust:1: not a public key"));
        let seed = one.pair.seed().unwrap();
        let error = write(&seed).unwrap_err().to_string();
        assert!(error.contains("private one") && !error.contains(&seed), "{error}");
        let server = KeyPair::new_server().public_key();
        assert!(write(&server).is_err(), "a server's key");
    }
}
