//! The I/O engine of a thread, and the reason.

use model::engine_kind::EngineKind;
use model::facts::{Availability, SystemFacts};
use model::note::Note;
use model::plan::{EnginePlan, RingPlan};
use model::profile::{IoRing, IoRingBatch, TimeSpan};

/// The facts that decide one thread's engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread<'a> {
    pub(crate) time_span: &'a TimeSpan,
    /// Requests that it keeps outstanding.
    pub(crate) slots: u32,
    /// True if all its targets are memory mapped.
    pub(crate) all_mapped: bool,
    /// The option by which it discards or writes zeroes.
    pub(crate) without_data: Option<&'static str>,
    /// True if it writes through to a block device, where a synchronous write costs two flushes.
    pub(crate) writes_through_to_device: bool,
}

/// The reason why a thread has no engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoEngine {
    /// Two choices exclude each other.
    Contradiction(String),
    /// This machine lacks it.
    Unavailable(String),
}

/// The engine of a thread, with a note if it is not the preferred one.
pub(crate) fn choose(thread: Thread<'_>, system: &SystemFacts) -> Result<(EnginePlan, Option<Note>), NoEngine> {
    let time_span = thread.time_span;
    let (kind, reason, required) = wanted(thread)?;
    if let (EngineKind::LinuxAio | EngineKind::MemoryMapped, Some(option)) = (kind, thread.without_data) {
        return Err(NoEngine::Contradiction(format!(
            "{option} cannot be used with {} ({reason}): this engine can only read and write; use --engine=io_uring or \
             --engine=sync",
            kind.name()
        )));
    }
    let completions_max = time_span.completion_depth;
    let plan = |kind, reason: &'static str| EnginePlan {
        kind,
        reason: reason.into(),
        ring: (kind == EngineKind::IoUring).then(|| ring(time_span, thread.slots)),
        completions_max,
    };
    let instead_of_ring = |used: EngineKind, reason, cause: &str| {
        let (wanted, used_name) = (EngineKind::IoUring.name().to_owned(), used.name().to_owned());
        Ok((plan(used, reason), Some(Note::EngineFallback { wanted, used: used_name, reason: cause.to_owned() })))
    };
    match (kind, &system.io_uring, &system.linux_aio) {
        (EngineKind::IoUring, Availability::Unavailable { cause }, _) if required => {
            Err(NoEngine::Unavailable(format!(
                "io_uring was requested ({reason}) but is not available: {cause}. Enable it (sysctl \
             kernel.io_uring_disabled=0; in a container, its seccomp profile), or let diskspd choose the engine"
            )))
        }
        (EngineKind::LinuxAio, _, Availability::Unavailable { cause }) => Err(NoEngine::Unavailable(format!(
            "Linux AIO was requested ({reason}) but is not available: {cause}. Allow io_setup and io_submit (in a \
             container, its seccomp profile), or let diskspd choose the engine"
        ))),
        (EngineKind::IoUring, Availability::Unavailable { cause }, _) if thread.without_data.is_some() => {
            Err(NoEngine::Unavailable(format!(
                "{} needs io_uring or --engine=sync, but io_uring is not available: {cause}",
                thread.without_data.unwrap_or_default()
            )))
        }
        (EngineKind::IoUring, Availability::Unavailable { cause }, Availability::Available) => {
            instead_of_ring(EngineKind::LinuxAio, "io_uring is not available", cause)
        }
        (EngineKind::IoUring, Availability::Unavailable { cause }, _) if thread.slots == 1 => {
            instead_of_ring(EngineKind::Synchronous, "neither io_uring nor Linux AIO is available", cause)
        }
        (EngineKind::IoUring, Availability::Unavailable { cause }, Availability::Unavailable { cause: no_aio }) => {
            Err(NoEngine::Unavailable(format!(
                "several outstanding requests per thread (-o) need io_uring or Linux AIO, and neither is available: \
                 {cause}; {no_aio}. Allow one of them (in a container, its seccomp profile), or use -o1 and more \
                 threads (-t)"
            )))
        }
        _ => Ok((plan(kind, reason), None)),
    }
}

/// The engine, the reason as a clause, and true if no other may replace it.
fn wanted(thread: Thread<'_>) -> Result<(EngineKind, &'static str, bool), NoEngine> {
    let Thread { time_span, slots, all_mapped, writes_through_to_device, .. } = thread;
    if let Some(kind) = time_span.engine {
        return explicit(time_span, kind, all_mapped).map(|()| (kind, "--engine", true));
    }
    if (time_span.submission_polling || time_span.completion_polling) && time_span.completion_routines {
        return Err(contradiction("-x", "--sqpoll and --iopoll, which need io_uring"));
    }
    Ok(match () {
        () if time_span.io_ring.is_some() => (EngineKind::IoUring, "-u", true),
        () if all_mapped => (EngineKind::MemoryMapped, "every target is memory mapped", true),
        () if time_span.submission_polling => (EngineKind::IoUring, "--sqpoll", true),
        () if time_span.completion_polling => (EngineKind::IoUring, "--iopoll", true),
        () if slots == 1 && !writes_through_to_device => (EngineKind::Synchronous, "one request outstanding", false),
        () if time_span.completion_routines => (EngineKind::LinuxAio, "-x", true),
        () if slots == 1 => (EngineKind::IoUring, "a synchronous write would flush the device twice", false),
        () => (EngineKind::IoUring, "several requests outstanding", false),
    })
}

/// Refuses options that conflict with `--engine`.
fn explicit(time_span: &TimeSpan, kind: EngineKind, all_mapped: bool) -> Result<(), NoEngine> {
    let name = format!("--engine {}", kind.option());
    if time_span.io_ring.is_some() && kind != EngineKind::IoUring {
        return Err(contradiction("-u", &name));
    }
    if time_span.completion_routines && kind != EngineKind::LinuxAio {
        return Err(contradiction("-x", &name));
    }
    if (time_span.submission_polling || time_span.completion_polling) && kind != EngineKind::IoUring {
        return Err(contradiction("--sqpoll and --iopoll", &name));
    }
    if kind == EngineKind::MemoryMapped && !all_mapped {
        return Err(contradiction(&name, "targets that are not memory mapped (-Sm maps them)"));
    }
    Ok(())
}

fn contradiction(one: &str, other: &str) -> NoEngine {
    NoEngine::Contradiction(format!("{one} conflicts with {other}; leave one of them out"))
}

fn ring(time_span: &TimeSpan, slots: u32) -> RingPlan {
    RingPlan {
        registered_buffers: time_span.io_ring.is_none_or(|ring| ring.registered_buffers),
        batch: time_span.io_ring.map(|ring| batch(ring, slots)),
        submission_polling: time_span.submission_polling,
        completion_polling: time_span.completion_polling,
    }
}

/// Operations per submission of a thread with `slots` requests.
fn batch(ring: IoRing, slots: u32) -> u32 {
    let wanted = match ring.batch {
        IoRingBatch::Percent(percent) => (u64::from(slots) * u64::from(percent)).div_ceil(100),
        IoRingBatch::Count(count) => u64::from(count),
    };
    // At most `slots`, so it fits.
    wanted.clamp(1, u64::from(slots.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(time_span: &TimeSpan, slots: u32) -> Thread<'_> {
        Thread { time_span, slots, all_mapped: false, without_data: None, writes_through_to_device: false }
    }

    fn available() -> SystemFacts {
        SystemFacts::default()
    }

    fn unavailable() -> SystemFacts {
        let cause = "io_uring_setup: Operation not permitted".to_owned();
        SystemFacts { io_uring: Availability::Unavailable { cause }, ..available() }
    }

    fn without_both() -> SystemFacts {
        let cause = "io_setup: Function not implemented".to_owned();
        SystemFacts { linux_aio: Availability::Unavailable { cause }, ..unavailable() }
    }

    fn kind(thread: Thread<'_>, system: &SystemFacts) -> Option<EngineKind> {
        choose(thread, system).ok().map(|(plan, _)| plan.kind)
    }

    #[test]
    fn without_a_wish_the_number_of_requests_decides() {
        let plain = TimeSpan::default();
        assert_eq!(kind(thread(&plain, 1), &available()), Some(EngineKind::Synchronous));
        assert_eq!(kind(thread(&plain, 2), &available()), Some(EngineKind::IoUring));
        let to_device = Thread { writes_through_to_device: true, ..thread(&plain, 1) };
        assert_eq!(kind(to_device, &available()), Some(EngineKind::IoUring));
        let mapped = Thread { all_mapped: true, ..thread(&plain, 8) };
        assert_eq!(kind(mapped, &available()), Some(EngineKind::MemoryMapped));
    }

    #[test]
    fn without_io_uring_aio_takes_its_place_and_says_so() {
        let span = TimeSpan::default();
        let (plan, note) = choose(thread(&span, 8), &unavailable()).expect("AIO");
        assert_eq!(plan.kind, EngineKind::LinuxAio);
        insta::assert_snapshot!(note.expect("a note"), @"Linux AIO is used instead of io_uring: io_uring_setup: Operation not permitted");
        assert_eq!(kind(thread(&span, 1), &unavailable()), Some(EngineKind::Synchronous));
    }

    #[test]
    fn without_both_several_requests_are_refused_and_one_is_synchronous() {
        let span = TimeSpan::default();
        let Err(NoEngine::Unavailable(refused)) = choose(thread(&span, 8), &without_both()) else { panic!("planned") };
        insta::assert_snapshot!(refused, @"several outstanding requests per thread (-o) need io_uring or Linux AIO, and neither is available: io_uring_setup: Operation not permitted; io_setup: Function not implemented. Allow one of them (in a container, its seccomp profile), or use -o1 and more threads (-t)");
        assert_eq!(kind(thread(&span, 1), &without_both()), Some(EngineKind::Synchronous));
        let to_device = Thread { writes_through_to_device: true, ..thread(&span, 1) };
        let (plan, note) = choose(to_device, &without_both()).expect("synchronous");
        assert_eq!((plan.kind, note.is_some()), (EngineKind::Synchronous, true));
        let aio = TimeSpan { engine: Some(EngineKind::LinuxAio), ..TimeSpan::default() };
        let Err(NoEngine::Unavailable(refused)) = choose(thread(&aio, 8), &without_both()) else { panic!("planned") };
        assert!(refused.starts_with("Linux AIO was requested (--engine) but is not available: io_setup"), "{refused}");
    }

    #[test]
    fn a_wish_is_kept_or_refused() {
        let ring = TimeSpan { io_ring: Some(IoRing::default()), ..TimeSpan::default() };
        assert_eq!(kind(thread(&ring, 1), &available()), Some(EngineKind::IoUring));
        let refused = choose(thread(&ring, 8), &unavailable());
        assert!(matches!(refused, Err(NoEngine::Unavailable(message)) if message.contains("(-u)")));
        let routines = TimeSpan { completion_routines: true, ..TimeSpan::default() };
        assert_eq!(kind(thread(&routines, 8), &available()), Some(EngineKind::LinuxAio));
        assert_eq!(kind(thread(&routines, 1), &available()), Some(EngineKind::Synchronous));
        for engine in [EngineKind::Null, EngineKind::Synchronous, EngineKind::LinuxAio] {
            let explicit = TimeSpan { engine: Some(engine), ..TimeSpan::default() };
            assert_eq!(kind(thread(&explicit, 8), &unavailable()), Some(engine));
        }
    }

    fn discarding(span: &TimeSpan) -> Thread<'_> {
        Thread { without_data: Some("--discard"), ..thread(span, 8) }
    }

    #[test]
    fn what_transfers_no_data_needs_an_engine_that_can() {
        let span = TimeSpan::default();
        assert_eq!(kind(discarding(&span), &available()), Some(EngineKind::IoUring));
        let refused = choose(discarding(&span), &unavailable());
        assert!(matches!(refused, Err(NoEngine::Unavailable(message)) if message.starts_with("--discard needs")));
        let aio = TimeSpan { engine: Some(EngineKind::LinuxAio), ..TimeSpan::default() };
        let refused = choose(discarding(&aio), &available());
        assert!(matches!(refused, Err(NoEngine::Contradiction(message)) if message.contains("--engine=sync")));
        for engine in [EngineKind::Synchronous, EngineKind::Null] {
            let span = TimeSpan { engine: Some(engine), ..TimeSpan::default() };
            assert_eq!(kind(discarding(&span), &unavailable()), Some(engine));
        }
    }

    #[test]
    fn contradictions_are_named() {
        let base = TimeSpan { engine: Some(EngineKind::LinuxAio), ..TimeSpan::default() };
        for span in [
            TimeSpan { io_ring: Some(IoRing::default()), ..base.clone() },
            TimeSpan { submission_polling: true, ..base.clone() },
            TimeSpan { engine: Some(EngineKind::MemoryMapped), ..base.clone() },
            TimeSpan { completion_routines: true, engine: Some(EngineKind::IoUring), ..base.clone() },
            TimeSpan { completion_routines: true, completion_polling: true, engine: None, ..base },
        ] {
            assert!(matches!(choose(thread(&span, 8), &available()), Err(NoEngine::Contradiction(_))), "{span:?}");
        }
    }

    #[test]
    fn batches_are_those_of_the_table() {
        let percent = |n| IoRing { batch: IoRingBatch::Percent(n), registered_buffers: true };
        let count = |n| IoRing { batch: IoRingBatch::Count(n), registered_buffers: true };
        for (slots, expected) in [
            (1, [1, 1, 1, 1, 1]),
            (2, [1, 1, 1, 2, 2]),
            (4, [1, 1, 2, 4, 4]),
            (5, [2, 1, 3, 4, 5]),
            (8, [2, 1, 4, 4, 8]),
            (32, [8, 1, 16, 4, 32]),
            (65_536, [16_384, 656, 32_768, 4, 100]),
        ] {
            let found = [percent(25), percent(1), percent(50), count(4), count(100)].map(|ring| batch(ring, slots));
            assert_eq!(found, expected, "{slots}");
        }
    }
}
