//! `Linux`: settings that `DiskSpd` does not have, in a timespan or a target.

use super::element::Element;
use super::target::Draft;
use model::plan::EngineKind;
use model::profile::{RateProcess, TimeSpan};

pub(super) const IN_TIME_SPAN: &[Element<TimeSpan>] = &[
    Element::word(
        "Engine",
        &[
            ("io_uring", |span| span.engine = Some(EngineKind::IoUring)),
            ("aio", |span| span.engine = Some(EngineKind::LinuxAio)),
            ("sync", |span| span.engine = Some(EngineKind::Synchronous)),
            ("mmap", |span| span.engine = Some(EngineKind::MemoryMapped)),
            ("null", |span| span.engine = Some(EngineKind::Null)),
        ],
    ),
    Element::flag("SubmissionPolling", |span, on| span.submission_polling = on),
    Element::flag("CompletionPolling", |span, on| span.completion_polling = on),
    Element::flag("Cold", |span, on| span.cold = on),
    Element::flag("NearDevice", |span, on| span.near_device = on),
    Element::u64_within("MaxIos", 1..=u64::MAX, |span, ios| span.end_after.ios = Some(ios)),
    Element::u64_within("MaxBytes", 1..=u64::MAX, |span, bytes| span.end_after.bytes = Some(bytes)),
    Element::u64_within("MaxWriteBytes", 1..=u64::MAX, |span, bytes| span.end_after.written_bytes = Some(bytes)),
    Element::u32_within("Rate", 1..=u32::MAX, |span, iops| span.rate_iops = Some(iops)),
    Element::u32_within("FlushAfterWrites", 1..=u32::MAX, |span, writes| span.flush_after_writes = Some(writes)),
    Element::word(
        "RateProcess",
        &[
            ("constant", |span| span.rate_process = Some(RateProcess::Constant)),
            ("poisson", |span| span.rate_process = Some(RateProcess::Poisson)),
        ],
    ),
];

pub(super) const IN_TARGET: &[Element<Draft>] = &[];
