//! Reads and writes of a run in the kernel, by strace.

use crate::workplace::Workplace;

/// Number of bytes recorded of each transfer.
const KEPT_BYTES: usize = 64;

/// One `pread64` or `pwrite64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedIo {
    /// Kernel ID of the thread.
    pub thread: u32,
    /// True for a write.
    pub write: bool,
    /// Path of the file.
    pub path: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Requested length in bytes.
    pub length: u64,
    /// The first bytes; empty if the transfer had not ended when another thread's began.
    pub start: Vec<u8>,
    /// Start time in microseconds since the Unix epoch.
    pub at_us: u64,
}

impl Workplace {
    /// Runs the program under strace and returns the reads and writes of the files in its directory, in the order in
    /// which they began. The error is the reason if tracing is impossible here.
    ///
    /// Only the synchronous engine (one outstanding I/O) makes such calls.
    pub fn traced(&self, words: &str) -> Result<Vec<TracedIo>, String> {
        let text = self.system_calls(&format!("-y -ttt -xx -s {KEPT_BYTES} -e trace=pread64,pwrite64"), words)?;
        let inside = format!("{}/", self.folder().display());
        let mut ios = parse(&text);
        ios.retain(|io| io.path.starts_with(&inside));
        for io in &mut ios {
            io.path.drain(..inside.len());
        }
        Ok(ios)
    }

    /// Runs the program under strace with these options and returns the output of strace.
    pub fn system_calls(&self, options: &str, words: &str) -> Result<String, String> {
        let output = self.path("strace.out");
        let strace = crate::machine::tool("strace")?;
        let probe = self.tool(&strace).args("-o /dev/null true").run();
        if probe.code() != Some(0) {
            return Err(format!("strace may not trace here: {}", probe.stderr.trim()));
        }
        let program = self.tool(&strace).args("-f -e signal=none").args(options).arg("-o").arg(&output);
        program.arg(self.program()).args(words).run().expect_status(0);
        Ok(std::fs::read_to_string(&output).expect("strace's output"))
    }
}

/// The calls in strace's output. One interrupted by another thread is printed in two parts.
fn parse(text: &str) -> Vec<TracedIo> {
    let mut ios = Vec::new();
    let mut open: Vec<(u32, usize, String)> = Vec::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((time, call)) = rest.trim_start().split_once(' ') else { continue };
        let Ok(thread) = thread.parse() else { continue };
        if let Some(begin) = call.strip_suffix(" <unfinished ...>") {
            // Its position is that of its start.
            ios.push(None);
            open.push((thread, ios.len() - 1, format!("{time} {begin}")));
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            let Some(at) = open.iter().position(|(other, ..)| *other == thread) else { continue };
            let (_, index, begin) = open.swap_remove(at);
            let Some((time, begin)) = begin.split_once(' ') else { continue };
            ios[index] = io(thread, time, &format!("{begin}{end}"));
        } else {
            ios.push(io(thread, time, call));
        }
    }
    ios.into_iter().flatten().collect()
}

/// `pread64(3</path>, "\x00"..., 4096, 8192) = 4096`; strings are all in hexadecimal.
fn io(thread: u32, time: &str, call: &str) -> Option<TracedIo> {
    let write = call.starts_with("pwrite64(");
    if !write && !call.starts_with("pread64(") {
        return None;
    }
    let (arguments, _) = call.rsplit_once(") = ").or_else(|| call.rsplit_once(')'))?;
    let path = arguments.split_once('<')?.1.split_once('>')?.0;
    let (arguments, offset) = arguments.rsplit_once(", ")?;
    let (arguments, length) = arguments.rsplit_once(", ")?;
    let start = arguments.split_once('"').map_or("", |(_, text)| text.split('"').next().unwrap_or_default());
    let (seconds, micros) = time.split_once('.')?;
    Some(TracedIo {
        thread,
        write,
        path: path_of(path),
        offset: offset.trim().parse().ok()?,
        length: length.trim().parse().ok()?,
        start: bytes(start),
        at_us: seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?,
    })
}

/// A path may be plain or in hexadecimal, depending on strace's version.
fn path_of(text: &str) -> String {
    if text.starts_with("\\x") { String::from_utf8_lossy(&bytes(text)).into_owned() } else { text.to_owned() }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    hexadecimal.split("\\x").filter_map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_whole_or_in_two_parts() {
        let text = r#"15266 1700000000.000001 pread64(4<\x2f\x74>,  <unfinished ...>
15265 1700000000.000002 pwrite64(3</t>, "\x00\x01"..., 4096, 0) = 4096
15266 1700000000.000009 <... pread64 resumed>"\x07"..., 512, 1024) = 512
15265 1700000000.000010 +++ exited with 0 +++"#;
        let ios = parse(text);
        assert_eq!(ios.len(), 2);
        let read = &ios[0];
        assert_eq!((read.thread, read.write, read.offset, read.length), (15266, false, 1024, 512));
        assert_eq!((read.path.as_str(), read.start.as_slice(), read.at_us % 1_000_000), ("/t", &[7][..], 1));
        let write = &ios[1];
        assert_eq!((write.write, write.path.as_str(), write.start.as_slice()), (true, "/t", &[0, 1][..]));
    }
}
