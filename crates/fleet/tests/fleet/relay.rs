//! A relay before a server that can be cut off or fall silent.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(5);

/// Forwards connections to a server on this machine.
pub(crate) struct Relay {
    pub(crate) port: u16,
    /// No data passes, and connections stay open.
    silent: Arc<AtomicBool>,
    /// Connections are closed, and new ones too.
    cut: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) fn to(server_port: u16) -> Self {
        Self::delaying(server_port, Duration::ZERO)
    }

    /// Data to the server is delayed by this time; data from it is not.
    pub(crate) fn delaying(server_port: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            silent: Arc::default(),
            cut: Arc::default(),
            end: Arc::default(),
        };
        let (silent, cut, end) = (Arc::clone(&relay.silent), Arc::clone(&relay.cut), Arc::clone(&relay.end));
        std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let Ok((near, _)) = listener.accept() else {
                    std::thread::sleep(PAUSE);
                    continue;
                };
                let far = TcpStream::connect(("127.0.0.1", server_port));
                let Some(far) = far.ok().filter(|_| !cut.load(Ordering::Relaxed)) else { continue };
                near.set_nonblocking(false).unwrap();
                for (from, to, delay) in [(&near, &far, delay), (&far, &near, Duration::ZERO)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let flags = [&silent, &cut, &end].map(Arc::clone);
                    std::thread::spawn(move || pass(from, to, delay, &flags));
                }
            }
        });
        relay
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn be_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::Relaxed);
    }

    pub(crate) fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration, [silent, cut, end]: &[Arc<AtomicBool>; 3]) {
    from.set_read_timeout(Some(PAUSE)).unwrap();
    let mut buffer = vec![0; 64 << 10];
    while !cut.load(Ordering::Relaxed) && !end.load(Ordering::Relaxed) {
        if silent.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                std::thread::sleep(delay);
                if to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            // With a time limit, a read is not restarted by the kernel if the process was stopped meanwhile.
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => break,
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
