//! Which messages of the kernel may have to do with slow I/Os.

use model::kernel_log::KernelMessage;
use model::limits::KERNEL_MESSAGES;
use model::record::SlowIo;

/// How far a message may be from an I/O.
const NEAR_NS: i128 = 1_000_000_000;

/// Messages that were logged while one of the I/Os was outstanding, or within a second of that, by the time since the
/// measurement began at `start_ns`. The first ones, if they are many: later ones mostly repeat them.
pub(crate) fn beside(slowest: &[SlowIo], messages: &[KernelMessage], start_ns: u64) -> Vec<KernelMessage> {
    let since_start_ns = |message: &KernelMessage| message.at_ns.saturating_sub(start_ns.cast_signed());
    let is_near = |message: &&KernelMessage| slowest.iter().any(|io| is_near(io, since_start_ns(message)));
    let near = messages.iter().filter(is_near).take(KERNEL_MESSAGES);
    near.map(|message| KernelMessage { at_ns: since_start_ns(message), text: message.text.clone() }).collect()
}

fn is_near(io: &SlowIo, at_ns: i64) -> bool {
    let ended_at_ns = i128::from(io.ended_at_ns);
    let began_at_ns = ended_at_ns - i128::from(io.latency_ns);
    (began_at_ns - NEAR_NS..=ended_at_ns + NEAR_NS).contains(&i128::from(at_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_was_said_while_an_io_was_slow_is_told() {
        let slow = SlowIo { ended_at_ns: 10 * S, latency_ns: 3 * S, ..SlowIo::default() };
        // The measurement began at 100 s.
        let at = |tenths: i64| KernelMessage { at_ns: (1000 + tenths) * 100_000_000, text: tenths.to_string() };
        let messages: Vec<KernelMessage> = [-5, 59, 60, 85, 110, 111].map(at).into();
        let messages_beside = |ios: &[SlowIo]| {
            beside(ios, &messages, 100 * S).into_iter().map(|message| message.text).collect::<Vec<_>>()
        };
        assert_eq!(messages_beside(&[slow]), ["60", "85", "110"]);
        let early = SlowIo { ended_at_ns: S / 10, latency_ns: S / 5, ..SlowIo::default() };
        assert_eq!(messages_beside(&[slow, early]), ["-5", "60", "85", "110"]);
        assert_eq!(messages_beside(&[]), [""; 0]);
        let many = vec![at(80); 2 * KERNEL_MESSAGES];
        let nearest = beside(&[slow], &many, 100 * S);
        assert_eq!((nearest.len(), nearest[0].at_ns), (KERNEL_MESSAGES, 8_000_000_000));
    }
}
