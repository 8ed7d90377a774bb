//! Leases, as the kernel's answer to whether a file has other users.
//!
//! A write lease is granted only while no other open file description of the inode exists in the whole system: hard
//! links, mappings, loop devices, active swap and processes in other namespaces all count. It is released at once;
//! nothing here ever holds one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const F_SETLEASE: libc::c_int = 1024;
const F_SETSIG: libc::c_int = 10;

/// The kernel's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteLease {
    /// The file has no other user.
    Granted,
    /// It has another user: another process, the kernel, or another descriptor of this process.
    Refused,
}

/// Takes a write lease on `file`, a regular file, and releases it.
///
/// `file` may be open for reading or writing. An error means that leases cannot be used: `EACCES` to all but the file's
/// owner (or holders of `CAP_LEASE`), `EINVAL` on file systems without leases, and on shares whose server grants none.
pub fn try_write_lease(file: &File) -> io::Result<WriteLease> {
    // An open of the file between taking and releasing makes the kernel send a signal. That would be SIGIO, which
    // kills; SIGURG is ignored by default.
    fcntl(file, F_SETSIG, libc::SIGURG)?;
    match fcntl(file, F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => {
            fcntl(file, F_SETLEASE, libc::F_UNLCK)?;
            Ok(WriteLease::Granted)
        }
        Err(error) if is_refusal(file, &error)? => Ok(WriteLease::Refused),
        Err(error) => Err(error),
    }
}

/// Network file systems with leases: NFS, CIFS, SMB 2 and later, Ceph (`include/uapi/linux/magic.h`).
const OF_SERVERS: [u32; 4] = [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x00C3_6400];

/// True if an error says that the file has other users.
///
/// # Errors
///
/// `EINVAL` on shares: NFS 4 and SMB also answer `EAGAIN` where the server has given this client no delegation or oplock,
/// whoever has the file open.
fn is_refusal(file: &File, error: &io::Error) -> io::Result<bool> {
    if error.kind() != io::ErrorKind::WouldBlock {
        return Ok(false);
    }
    let file_system = rustix::fs::fstatfs(file)?.f_type as u32;
    if OF_SERVERS.contains(&file_system) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(true)
}

/// Takes a read lease on `file`, regular and open for reading only, does `work` and releases the lease: until then the
/// kernel lets no process open the file for writing. Retried until it is granted or `patience` is over; `None` = a
/// process has the file open for writing, or mapped so, and nothing was done. Errors as for [`try_write_lease`].
pub fn with_read_lease<T>(file: &File, patience: Duration, work: impl FnOnce() -> T) -> io::Result<Option<T>> {
    fcntl(file, F_SETSIG, libc::SIGURG)?;
    let granted = ask_until(patience, || match fcntl(file, F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => Ok(true),
        Err(error) if is_refusal(file, &error)? => Ok(false),
        Err(error) => Err(error),
    })?;
    if !granted {
        return Ok(None);
    }
    let done = work();
    fcntl(file, F_SETLEASE, libc::F_UNLCK)?;
    Ok(Some(done))
}

/// [`try_write_lease`], retried until it is granted or `patience` is over: a closed file may stay open inside the
/// kernel for a moment (by a ring that is torn down, for one).
pub fn write_lease_within(file: &File, patience: Duration) -> io::Result<WriteLease> {
    let granted = ask_until(patience, || Ok(try_write_lease(file)? == WriteLease::Granted))?;
    Ok(if granted { WriteLease::Granted } else { WriteLease::Refused })
}

/// Retries every 10 ms until the answer is true or `patience` is over.
fn ask_until(patience: Duration, ask: impl Fn() -> io::Result<bool>) -> io::Result<bool> {
    let until = Instant::now() + patience;
    loop {
        let answer = ask()?;
        if answer || Instant::now() >= until {
            return Ok(answer);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: both commands used here take an integer and touch no memory of ours.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granted_alone_refused_beside_another_descriptor_and_never_kept() {
        let _no_child = testkit::no_child();
        let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let path = named.into_temp_path();
        let looking = File::open(&path).expect("opens");
        match try_write_lease(&looking) {
            Ok(answer) => assert_eq!(answer, WriteLease::Granted),
            Err(error) => testkit::skip!("no leases here: {error}"),
        }
        let holder = File::open(&path).expect("opens at once, since the lease was given back");
        assert_eq!(try_write_lease(&looking).expect("an answer"), WriteLease::Refused);
        drop(holder);
        assert_eq!(try_write_lease(&looking).expect("an answer"), WriteLease::Granted);
    }

    #[test]
    fn patience_outlasts_what_goes_away() {
        let _no_child = testkit::no_child();
        let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let path = named.into_temp_path();
        let looking = File::open(&path).expect("opens");
        if try_write_lease(&looking).is_err() {
            testkit::skip!("no leases here");
        }
        let holder = File::open(&path).expect("opens");
        let refused = write_lease_within(&looking, Duration::from_millis(30));
        assert_eq!(refused.expect("an answer"), WriteLease::Refused);
        let leaving = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(holder);
        });
        assert_eq!(write_lease_within(&looking, Duration::from_mins(1)).expect("an answer"), WriteLease::Granted);
        leaving.join().expect("it ends");
    }

    #[test]
    fn a_read_lease_tells_of_writers_and_not_of_readers() {
        let _no_child = testkit::no_child();
        let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        let path = named.into_temp_path();
        let looking = File::open(&path).expect("opens");
        let ask = || with_read_lease(&looking, Duration::ZERO, || 5);
        match ask() {
            Ok(answer) => assert_eq!(answer, Some(5)),
            Err(error) => testkit::skip!("no leases here: {error}"),
        }
        let reader = File::open(&path).expect("opens");
        assert_eq!(ask().expect("an answer"), Some(5));
        let writer = File::options().write(true).open(&path).expect("opens");
        assert_eq!(ask().expect("an answer"), None);
        drop((reader, writer));
        assert_eq!(ask().expect("an answer"), Some(5));
        // A writer waits until the work is done.
        let (begun, waits) = std::sync::mpsc::channel();
        let other = path.to_path_buf();
        let done = with_read_lease(&looking, Duration::ZERO, || {
            let opening = std::thread::spawn(move || {
                begun.send(()).expect("it is heard");
                File::options().write(true).open(other).expect("opens in the end");
            });
            waits.recv().expect("it begins");
            std::thread::sleep(Duration::from_millis(50));
            assert!(!opening.is_finished(), "it was opened for writing under a lease");
            opening
        });
        done.expect("an answer").expect("nobody has it open").join().expect("it ends");
    }

    #[test]
    fn only_regular_files_can_be_asked_about() {
        assert!(try_write_lease(&File::open("/dev/null").expect("opens")).is_err());
    }
}
