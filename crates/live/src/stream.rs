//! Lines for a program that reads them during the run. A thread of its own writes them, so that a reader that is slow
//! or gone delays nobody: lines for which there is no room are dropped and counted.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use sys::readiness::writable;

/// The maximum number of lines that wait for the reader; the longest are the first and the last.
const LINES_MAX: usize = 64;

/// Time that the reader has for the rest once the run is over.
const PATIENCE: Duration = Duration::from_secs(5);

/// A stream and the thread that writes it.
#[derive(Debug)]
pub struct Stream {
    lines: SyncSender<Vec<u8>>,
    ended: Receiver<io::Result<()>>,
    dropped_lines: u64,
}

/// Result of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEnd {
    /// Lines that its reader did not get.
    pub dropped_lines: u64,
    /// The reason why it ended before the run did.
    pub reason: Option<String>,
}

impl Stream {
    /// Writes to `out`, which may be blocking or not.
    ///
    /// # Errors
    ///
    /// If its thread cannot be started.
    pub fn start(out: OwnedFd) -> io::Result<Self> {
        let (lines, received) = sync_channel(LINES_MAX);
        let (end, ended) = channel();
        thread::Builder::new().name("live stream".to_owned()).spawn(move || {
            // Nobody receives if the run did not wait for it.
            let _ = end.send(write(&File::from(out), &received));
        })?;
        Ok(Self { lines, ended, dropped_lines: 0 })
    }

    /// Lines that were dropped so far.
    pub fn dropped_lines(&self) -> u64 {
        self.dropped_lines
    }

    /// Sends a line, without its line feed, or drops it.
    pub fn send(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        if self.lines.try_send(line).is_err() {
            self.dropped_lines += 1;
        }
    }

    /// Sends the last line and waits up to a limit until the reader has it.
    pub fn finish(mut self, mut last: Vec<u8>) -> StreamEnd {
        last.push(b'\n');
        let until = Instant::now() + PATIENCE;
        loop {
            match self.lines.try_send(last) {
                Ok(()) => break,
                Err(TrySendError::Full(line)) if Instant::now() < until => last = line,
                Err(_) => {
                    self.dropped_lines += 1;
                    break;
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
        drop(self.lines);
        let reason = match self.ended.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(RecvTimeoutError::Timeout) => Some("the reader did not read the remaining lines in time".to_owned()),
            Err(RecvTimeoutError::Disconnected) => Some("the writer thread ended unexpectedly".to_owned()),
        };
        StreamEnd { dropped_lines: self.dropped_lines, reason }
    }
}

fn write(out: &File, lines: &Receiver<Vec<u8>>) -> io::Result<()> {
    for line in lines {
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match (&*out).write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => writable(out, Duration::from_secs(1))?,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn lines_come_in_order_and_whole() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let mut stream = Stream::start(writer.into()).expect("a thread");
        let taker = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        let long = "x".repeat(1 << 20);
        stream.send(b"first".to_vec());
        stream.send(long.clone().into_bytes());
        assert_eq!(stream.finish(b"last".to_vec()), StreamEnd::default());
        let text = taker.join().expect("it reads").expect("it is text");
        assert_eq!(text, format!("first\n{long}\nlast\n"));
    }

    #[test]
    fn a_reader_that_does_not_read_costs_lines_and_no_time() {
        let (_reader, writer) = io::pipe().expect("a pipe");
        let mut stream = Stream::start(writer.into()).expect("a thread");
        for _ in 0..1000 {
            stream.send(vec![b'x'; 4096]);
        }
        assert!(stream.dropped_lines() > 800, "a pipe and the queue hold less than 100: {}", stream.dropped_lines());
    }

    #[test]
    fn a_reader_that_is_gone_is_told_of() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let mut stream = Stream::start(writer.into()).expect("a thread");
        drop(reader);
        stream.send(b"x".to_vec());
        let end = stream.finish(b"last".to_vec());
        assert!(end.reason.expect("it is gone").contains("Broken pipe"));
    }
}
