//! `--stream` and `--mix`: targets whose options follow the grammar of a command line within one word.

use super::scan::{self, ScanResult};
use super::{Line, apply};
use crate::builder::{Builder, TargetSettings};
use crate::options::{Pass, Scope};
use crate::request::{Environment, ParseFailure};
use crate::typed_stream::{PartKind, TypedStream};
use crate::words::row_of;
use model::profile::{CacheMode, Target};
use std::ffi::OsString;
use std::path::PathBuf;

impl TypedStream {
    /// A failure in this stream.
    fn failure(&self, failure: ParseFailure) -> ParseFailure {
        let placed = |message: String| match message.split_once(": ") {
            Some((kind @ ("ERROR" | "WARNING"), text)) => format!("{kind}: {}: {text}", self.kind),
            _ => message,
        };
        ParseFailure { messages: failure.messages.into_iter().map(placed).collect(), ..failure }
    }

    /// Its targets with their settings. Settings that it does not give are those of `defaults`; without targets of its
    /// own it has those `of_line`.
    fn targets(
        &self,
        defaults: &Target,
        of_line: &[OsString],
        warnings: &mut Vec<String>,
        environment: &dyn Environment,
    ) -> Result<Vec<Target>, ParseFailure> {
        self.check_scopes()?;
        let args: Vec<OsString> = self.words.iter().map(OsString::from).collect();
        // Options that are answered have been refused.
        let ScanResult::Line(line) = scan::scan(&args, environment)? else { return Ok(Vec::new()) };
        let mut settings = match &self.kind {
            PartKind::Stream(name) => Target { stream: Some(name.clone()), ..defaults.clone() },
            PartKind::Mix { weight } => Target { weight: *weight, ..defaults.clone() },
        };
        forget_replaced(&self.words, &mut settings);
        let mut builder = Builder { target: TargetSettings(settings), ..Builder::default() };
        apply(Pass::One, &line.short, &mut builder, environment)?;
        apply(Pass::Two, &line.short, &mut builder, environment)?;
        let mut settings = builder.target.0;
        line.overrides.apply_to_target(&mut settings);
        let own = line.warnings.into_iter().chain(builder.warnings);
        warnings.extend(own.map(|warning| format!("{}: {warning}", self.kind)));
        let paths = if line.targets.is_empty() { of_line } else { &line.targets };
        if paths.is_empty() {
            return Err(ParseFailure::because(
                "need to provide at least one target: the path of a file or device, inside the stream or at the end \
                 of the command line",
            ));
        }
        Ok(paths.iter().map(|path| Target { path: PathBuf::from(path), ..settings.clone() }).collect())
    }

    /// Refuses options that do not apply to targets.
    fn check_scopes(&self) -> Result<(), ParseFailure> {
        for word in self.words.iter().take_while(|word| *word != "--") {
            let Some(row) = row_of(word).filter(|row| row.scope != Scope::Target) else { continue };
            let place = match row.scope {
                Scope::Target | Scope::TimeSpan => "it applies to all threads of the run",
                Scope::Profile | Scope::Invocation => "it applies to the whole run",
            };
            return Err(ParseFailure::because(format!(
                "'{word}' is not an option of a target: {place}; give {} outside of {}",
                row.name,
                self.option()
            )));
        }
        Ok(())
    }
}

/// The targets of all streams, in the order given.
pub(super) fn targets(
    line: &Line,
    builder: &mut Builder,
    environment: &dyn Environment,
) -> Result<Vec<Target>, ParseFailure> {
    let mut defaults = builder.settings().clone();
    line.overrides.apply_to_target(&mut defaults);
    let mut targets: Vec<Target> = Vec::new();
    for stream in &line.streams {
        let of_stream = stream.targets(&defaults, &line.targets, &mut builder.warnings, environment);
        targets.extend(of_stream.map_err(|failure| stream.failure(failure))?);
    }
    // A stream without targets uses all of the line's.
    let unused = line.targets.iter().find(|path| targets.iter().all(|target| target.path.as_os_str() != *path));
    if let Some(path) = unused {
        return Err(ParseFailure::because(format!(
            "target '{}' is not used: every {} names its own targets",
            path.display(),
            line.streams.first().map_or("--stream", TypedStream::option)
        )));
    }
    Ok(targets)
}

/// Clears defaults that an option inside the stream replaces as a whole, as if they had not been given: those that
/// would otherwise conflict with it or remain in effect.
fn forget_replaced(words: &[String], settings: &mut Target) {
    let has = |names: &[&str]| words.iter().filter_map(|word| row_of(word)).any(|row| names.contains(&row.name));
    if has(&["-s", "--append"]) {
        (settings.random_percent, settings.alignment) = (0, None);
        (settings.distribution, settings.skew) = (None, None);
    }
    if has(&["--append"]) {
        (settings.create_size, settings.write_percent) = (None, 0);
        (settings.interlocked, settings.parallel) = (false, false);
        settings.thread_stride = model::units::Bytes(0);
    }
    if has(&["-r", "-rs"]) && settings.random_percent == 0 {
        (settings.alignment, settings.interlocked, settings.parallel) = (None, false, false);
        settings.thread_stride = model::units::Bytes(0);
    }
    if has(&["-S", "-h"]) {
        (settings.cache_mode, settings.write_through) = (CacheMode::Cached, false);
        (settings.memory_mapped, settings.bypass_io) = (false, None);
    }
    if has(&["-Z"]) {
        (settings.zero_write_buffers, settings.write_source) = (false, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::LineCommand;
    use crate::command::Command;
    use crate::request::FakeEnv;
    use model::profile::{Throughput, TimeSpan};
    use model::units::Bytes;

    fn parse(args: &[&str]) -> Result<TimeSpan, String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        match crate::parse(&args, &FakeEnv) {
            Ok(Command::Line(LineCommand::Run(mut request))) => Ok(request.profile.time_spans.remove(0)),
            Ok(other) => panic!("{args:?}: {other:?}"),
            Err(failure) => {
                assert_eq!(failure.exit_status, 3);
                Err(failure.messages.join("\n"))
            }
        }
    }

    fn span(args: &[&str]) -> TimeSpan {
        parse(args).unwrap_or_else(|failure| panic!("{args:?}: {failure}"))
    }

    fn shown(span: &TimeSpan) -> Vec<String> {
        let name = |target: &Target| target.stream.as_ref().map(ToString::to_string).unwrap_or_default();
        span.targets.iter().map(|target| format!("{} {}", name(target), target.path.display())).collect()
    }

    #[test]
    fn streams_are_over_the_targets_of_the_line_or_their_own() {
        let span = span(&[
            "-d3",
            "-w20",
            "-Sh",
            "--stream",
            "oltp: -b8K -r -w30 -t2 -o8 -g2000i",
            "--stream=backup: -b1M -o4",
            "--stream=log: -Sw 'a b.log' c\\ d",
            "a.dat",
            "b.dat",
        ]);
        assert_eq!(
            shown(&span),
            ["oltp a.dat", "oltp b.dat", "backup a.dat", "backup b.dat", "log a b.log", "log c d"]
        );
        let [oltp, _, backup, _, log, _] = &span.targets[..] else { panic!("{span:?}") };
        assert_eq!((oltp.block_size, oltp.random_percent, oltp.write_percent), (Bytes(8192), 100, 30));
        assert_eq!((oltp.threads, oltp.outstanding, oltp.throughput), (2, 8, Throughput::Iops(2000)));
        assert_eq!((backup.block_size, backup.outstanding, backup.write_percent), (Bytes(1 << 20), 4, 20));
        assert_eq!((backup.threads, backup.cache_mode, backup.write_through), (1, CacheMode::Unbuffered, true));
        assert_eq!((log.cache_mode, log.write_through, span.duration_s), (CacheMode::Cached, true, 3));
    }

    #[test]
    fn parts_of_a_mix_have_weights_and_share_the_threads() {
        let span =
            span(&["-F2", "-O8", "-Sh", "--mix", "3: -b8K -r", "--mix=1: -b64K -w100", "--mix=1: -b64K -w100", "f"]);
        let seen: Vec<_> = span.targets.iter().map(|of| (of.weight, of.block_size.0, of.write_percent)).collect();
        assert_eq!(seen, [(3, 8192, 0), (1, 65536, 100), (1, 65536, 100)]);
        assert!(span.targets.iter().all(|of| of.stream.is_none() && of.cache_mode == CacheMode::Unbuffered));
        assert_eq!((span.thread_count, span.request_count), (2, 8));
    }

    #[test]
    fn options_inside_win_over_those_outside() {
        let target_with = |outside: &[&str], inside: &str| {
            let stream = format!("--stream=a: {inside} f");
            span(&[outside, &[&stream]].concat()).targets.remove(0)
        };
        let target = target_with(&["-r4K", "-rdpct90/10"], "-si");
        assert_eq!((target.random_percent, target.alignment, target.interlocked), (0, None, true));
        assert_eq!(target.distribution, None);
        let target = target_with(&["-si1M", "-t2"], "-rs40");
        assert_eq!((target.random_percent, target.alignment, target.interlocked), (40, None, false));
        assert_eq!(target_with(&["-r4K"], "-rs40").alignment, Some(Bytes(4096)));
        let target = target_with(&["-Sw"], "-Sw");
        assert!(target.write_through && target.cache_mode == CacheMode::Cached);
        assert!(target_with(&["-Z1M"], "-Z").zero_write_buffers);
        assert_eq!(target_with(&["-Z1M"], "-Z").write_source, None);
        let target = target_with(&["--discard=10", "--sizes=4K/50:8K/50"], "--discard 20");
        assert_eq!(target.discard_percent, Some(20));
        assert!(target.sizes.is_some());
        let target = target_with(&["-r4K", "-w30", "-c1G"], "--append=1M");
        assert_eq!((target.random_percent, target.write_percent, target.create_size), (0, 100, None));
        // The unit b is the block of the stream.
        assert_eq!(target_with(&["-b4K"], "-b8K -B2b").base_offset, Bytes(16384));
    }

    #[test]
    fn what_is_wrong_is_said_with_stream_and_word() {
        for (args, expected) in [
            (&["--stream=-b8K", "f"][..], "'-b8K' has no name (expected: a name, a colon"),
            (&["--stream=a b: -b8K", "f"], "'a b' is not a name of a stream"),
            (&["--stream=a: -b8K", "--stream=a: -b4K", "f"], "stream 'a' is given twice"),
            (&["--stream=a: -b8K -q5", "f"], "ERROR: stream 'a': invalid option: '-q5'"),
            (&["--stream=a: -o5", "--stream=b: -o0", "f"], "stream 'b': incorrectly provided option: '-o0'"),
            (&["--stream=a: --skew=x -r", "f"], "stream 'a': option '--skew=x': 'x' is not a skew"),
            (&["--stream=a: -d5", "f"], "stream 'a': '-d5' is not an option of a target: it applies to all threads"),
            (&["--stream=a: --overwrite", "f"], "'--overwrite' is not an option of a target: it applies to the whole"),
            (&["--stream=a: --stream=b", "f"], "give --stream outside of --stream"),
            (&["--stream=a: --help", "f"], "'--help' is not an option of a target"),
            (&["--stream=a: -r f -b8K"], "stream 'a': parameters (-b8K) must come before targets"),
            (&["--stream=a: 'f", "f"], "stream 'a': the quotation mark ' is not closed"),
            (&["--stream=a: f\\", "f"], "nothing follows the backslash"),
            (&["--stream=a: f", "--stream=b: -r"], "stream 'b': need to provide at least one target"),
            (&["--stream=a: f", "g"], "target 'g' is not used"),
            (&["--stream=a: -r", "-Xp.xml"], "--stream cannot be combined with an XML profile (-X) or a job file"),
            (&["--stream=a: #1"], "is a Windows physical drive"),
            (&["--mix=a: -r", "f"], "'a: -r' has no weight (expected: 1 to 1000000, a colon"),
            (&["--mix=0: -r", "f"], "has no weight"),
            (
                &["--mix=1: -d5", "f"],
                "mix '1': '-d5' is not an option of a target: it applies to all threads of the run; give -d outside of --mix",
            ),
            (&["--mix=1: -q", "f"], "ERROR: mix '1': invalid option: '-q'"),
            (&["--mix=1: -r", "--stream=a: -r", "f"], "--stream and --mix cannot be used together"),
            (&["--stream=a: -r", "--mix=1: -r", "f"], "--stream and --mix cannot be used together"),
            (&["--mix=1: -r", "-Xp.xml"], "--mix cannot be combined with an XML profile (-X) or a job file"),
        ] {
            let failure = parse(args).expect_err(&args.join(" "));
            assert!(failure.contains(expected), "{args:?}: {failure}");
        }
    }
}
