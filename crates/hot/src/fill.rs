//! Content of buffers.

use crate::rng::Rng;

/// The bytes 00, 01 ... FF repeating, as `DiskSpd` fills; byte `j` of a buffer is `j mod 256`
/// counted from `phase`.
pub fn ramp(buffer: &mut [u8], phase: u64) {
    for (byte, value) in buffer.iter_mut().zip(phase..) {
        *byte = value as u8;
    }
}

/// Random bytes: incompressible and never repeating.
pub fn random(buffer: &mut [u8], rng: &mut Rng) {
    let mut words = buffer.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    let tail = words.into_remainder();
    if !tail.is_empty() {
        let last = rng.next_u64().to_le_bytes();
        tail.copy_from_slice(&last[..tail.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_keeps_its_phase() {
        let mut buffer = [0u8; 300];
        ramp(&mut buffer, 254);
        assert_eq!(buffer[..4], [254, 255, 0, 1]);
    }

    #[test]
    fn random_bytes_fill_odd_lengths() {
        let mut buffer = [0u8; 4099];
        random(&mut buffer, &mut Rng::new(1));
        let mut seen = [false; 256];
        for &byte in &buffer {
            seen[usize::from(byte)] = true;
        }
        assert!(seen.iter().all(|&seen| seen));
        assert_ne!(buffer[4096..], [0, 0, 0]);
    }
}
