//! How a thread does I/O, and why.

use model::facts::IoUring;
use model::plan::{EngineKind, EnginePlan};

/// The engine of a thread with `slots` requests, or why it has none.
pub(crate) fn choose(
    slots: u32,
    ring_wanted: bool,
    io_uring: &IoUring,
    chosen: Option<EngineKind>,
) -> Result<EnginePlan, String> {
    let (kind, reason) = match chosen {
        Some(kind) => (kind, "chosen for the whole run"),
        None if ring_wanted => (EngineKind::IoUring, "-u"),
        None if slots == 1 => (EngineKind::Synchronous, "one request outstanding"),
        None => (EngineKind::IoUring, "several requests outstanding"),
    };
    match (kind, io_uring) {
        (EngineKind::IoUring, IoUring::Unavailable { cause }) => Err(format!(
            "a thread with more than one outstanding I/O needs io_uring, which is not available here: {cause}. Allow it \
             (sysctl kernel.io_uring_disabled=0; in a container, its seccomp profile), or keep one outstanding: -o1 \
             with one target, or -O1 with -F"
        )),
        _ => Ok(EnginePlan { kind, reason: reason.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_requests_decides() {
        let none = IoUring::Unavailable { cause: "io_uring_setup: Operation not permitted".to_owned() };
        let choose = |slots, ring_wanted, io_uring: &IoUring, chosen| {
            choose(slots, ring_wanted, io_uring, chosen).map(|engine| engine.kind)
        };
        for (slots, ring_wanted, available, chosen, expected) in [
            (1, false, true, None, Some(EngineKind::Synchronous)),
            (1, false, false, None, Some(EngineKind::Synchronous)),
            (2, false, true, None, Some(EngineKind::IoUring)),
            (2, false, false, None, None),
            (1, true, true, None, Some(EngineKind::IoUring)),
            (1, true, false, None, None),
            (64, false, false, Some(EngineKind::Null), Some(EngineKind::Null)),
            (2, false, false, Some(EngineKind::Synchronous), Some(EngineKind::Synchronous)),
        ] {
            let io_uring = if available { &IoUring::Available } else { &none };
            let found = choose(slots, ring_wanted, io_uring, chosen);
            assert_eq!(found.clone().ok(), expected, "{slots} {ring_wanted} {available} {chosen:?}");
        }
        let message = choose(2, false, &none, None).expect_err("no io_uring");
        insta::assert_snapshot!(message, @"a thread with more than one outstanding I/O needs io_uring, which is not available here: io_uring_setup: Operation not permitted. Allow it (sysctl kernel.io_uring_disabled=0; in a container, its seccomp profile), or keep one outstanding: -o1 with one target, or -O1 with -F");
    }
}
