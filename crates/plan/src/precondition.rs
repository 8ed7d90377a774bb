//! `--precondition`: writes before the measurement of a load.

use model::plan::Plan;
use model::profile::{CacheMode, EndAfter, Profile, Target, Throughput, TimeSpan, WriteSource};
use model::units::Bytes;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of passes over every target.
const PASSES: u64 = 2;
/// Bytes of each write.
const BLOCK_BYTES: u64 = 128 << 10;
/// Random data that is reused: compressible or repeating data would not fill a device.
const SOURCE_BYTES: u64 = 16 << 20;
/// Time limit: a week.
const TIME_MAX_S: u32 = 7 * 24 * 3600;

/// A profile that writes every target of a planned one twice, in sequence, a timespan for each; and its number of
/// bytes.
pub fn precondition(profile: &Profile, plan: &Plan) -> (Profile, u64) {
    let sizes: BTreeMap<PathBuf, u64> =
        plan.time_spans.iter().flat_map(|span| &span.targets).map(|t| (t.path.clone(), t.size_bytes)).collect();
    let mut time_spans = Vec::new();
    let mut bytes_all = 0_u64;
    for (path, size_bytes) in sizes {
        let spans = profile.time_spans.iter();
        let found = spans.flat_map(|span| span.targets.iter().map(move |t| (span, t))).find(|(_, t)| t.path == path);
        let Some((span, target)) = found else { continue };
        let block_bytes = BLOCK_BYTES.min(size_bytes);
        // Whole blocks: two passes end with the last block of the second one.
        let bytes = size_bytes / block_bytes.max(1) * block_bytes * PASSES;
        bytes_all = bytes_all.saturating_add(bytes);
        let target = Target {
            create_size: target.size_to_create(),
            block_size: Bytes(block_bytes),
            outstanding: 32,
            write_percent: 100,
            cache_mode: match target.cache_mode {
                CacheMode::Cached => CacheMode::Unbuffered,
                other => other,
            },
            throughput: Throughput::Unlimited,
            write_source: Some(WriteSource { size: Bytes(SOURCE_BYTES.max(block_bytes)), file: None }),
            ..Target::new(path)
        };
        time_spans.push(TimeSpan {
            duration_s: TIME_MAX_S,
            warm_up_s: 0,
            random_seed: span.random_seed,
            engine: span.engine,
            end_after: EndAfter { bytes: Some(bytes), ..EndAfter::default() },
            targets: vec![target],
            ..TimeSpan::default()
        });
    }
    (Profile { time_spans, ..profile.clone() }, bytes_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::{Expected, OpenPlan, Preparation, TargetPlan, TimeSpanPlan};

    #[test]
    fn every_target_is_written_twice_in_whole_blocks() {
        let target = |path: &str, size_bytes| TargetPlan {
            path: path.into(),
            stream: None,
            size_bytes,
            preparation: Preparation::Keep,
            expect: Expected::Character,
            open: OpenPlan::default(),
            write_source: None,
            shared_run: None,
        };
        let targets = vec![target("a", (1 << 20) + 5), target("b", 64 << 10)];
        let plan = Plan { time_spans: vec![TimeSpanPlan { targets, ..TimeSpanPlan::default() }], ..Plan::default() };
        let load = TimeSpan { targets: ["a", "b"].map(Target::new).to_vec(), ..TimeSpan::default() };
        let profile = Profile { time_spans: vec![load], ..Profile::default() };
        let (written, bytes) = precondition(&profile, &plan);
        let seen: Vec<_> =
            written.time_spans.iter().map(|span| (span.end_after.bytes, span.targets[0].block_size.0)).collect();
        assert_eq!(seen, [(Some(2 << 20), 128 << 10), (Some(128 << 10), 64 << 10)]);
        assert_eq!(bytes, (2 << 20) + (128 << 10));
        let findings = model::validate::validate(&written, model::validate::Purpose::Run);
        assert_eq!(findings.errors, Vec::<String>::new());
    }
}
