//! Output of a program, line by line.

use crate::message::bounded_text;
use std::io::{BufRead, BufReader, Read};

/// The maximum length of a line in bytes; a longer one is split.
const MAX_LINE_BYTES: u64 = 4096;

/// Reads a stream to its end and passes its lines to `take`, without their line feeds.
pub(super) fn each_line(stream: impl Read, mut take: impl FnMut(String)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => take(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}

/// The last lines of a program's error output.
#[derive(Debug, Default)]
pub(super) struct LastLines(Vec<String>);

impl LastLines {
    const MOST: usize = 8;

    pub(super) fn add(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if self.0.len() == Self::MOST {
            self.0.remove(0);
        }
        self.0.push(bounded_text(line));
    }

    pub(super) fn all(&self) -> &[String] {
        &self.0
    }
}
