//! Units on a target without a record: each is only compared with itself.

use crate::check::{Expected, Place, Verdict, check_unit, marks};
use crate::unit::{Header, Mark, SECTOR_BYTES, UnitSize, is_intact};
use model::corruption::CorruptionClass as Class;

/// The unit that begins at `offset` of a target, at which `bytes` were read, and its verdict; `None` if no unit begins
/// there, or if it does not end within `bytes`.
///
/// Without a record, any program may have overwritten a unit. So it counts as damaged only if all of its sectors are
/// still those of its place. Sectors of several writes are the result of a killed run or a power cut: no damage. The
/// same holds for any fault of a unit that was written through a mapping.
pub fn check_alone(bytes: &[u8], offset: u64) -> Option<(Header, Verdict)> {
    let header = bytes.get(..SECTOR_BYTES).and_then(Header::read)?;
    let size = UnitSize::new(header.unit_bytes.into())?;
    let bytes = bytes.get(..size.bytes() as usize)?;
    let place = Place { run: header.run, target: header.target, unit: size.count(offset) };
    let is_here = header.unit.checked_mul(size.bytes()) == Some(offset);
    let verdict = match (is_intact(bytes), is_here) {
        (true, true) => Verdict::Right,
        (true, false) => Verdict::Wrong(Class::Misdirected),
        (false, false) => Verdict::NotCheckable,
        (false, true) if marks(bytes, &place, Some(header.generation)).any(|mark| mark == Mark::None) => {
            Verdict::NotCheckable
        }
        (false, true) => match check_unit(bytes, &place, Expected::Itself, u64::MAX) {
            Verdict::Wrong(class) if class == Class::Torn || header.traits.is_mapped => Verdict::Unfinished,
            verdict => verdict,
        },
    };
    Some((header, verdict))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Traits;
    use crate::unit::fixture::{header, unit};

    /// The verdict on bytes at the place of unit 8.
    fn check(bytes: &[u8]) -> Option<Verdict> {
        check_alone(bytes, 8 * 4096).map(|(_, verdict)| verdict)
    }

    #[test]
    fn a_unit_is_right_at_its_own_place_only() {
        let bytes = unit(&header(8, 6));
        assert_eq!(check_alone(&bytes, 8 * 4096), Some((header(8, 6), Verdict::Right)));
        for offset in [0, 512, 8 * 4096 + 512, 9 * 4096] {
            let misplaced = Some((header(8, 6), Verdict::Wrong(Class::Misdirected)));
            assert_eq!(check_alone(&bytes, offset), misplaced, "{offset}");
        }
    }

    #[test]
    fn other_data_is_no_unit() {
        assert_eq!(check(&[0; 4096]), None);
        assert_eq!(check(&unit(&header(8, 6))[..2048]), None);
        assert_eq!(check(&unit(&header(8, 6))[512..]), None);
        assert_eq!(check(&[]), None);
    }

    #[test]
    fn sectors_of_two_writes_are_unfinished_and_changed_bits_are_rot() {
        let (old, new) = (unit(&header(8, 5)), unit(&header(8, 6)));
        for sectors in 1..8 {
            let mut torn = old.clone();
            torn[..sectors * SECTOR_BYTES].copy_from_slice(&new[..sectors * SECTOR_BYTES]);
            assert_eq!(check(&torn), Some(Verdict::Unfinished), "{sectors}");
        }
        let mapped = |number| {
            let traits = Traits { is_mapped: true, ..header(8, number).traits };
            unit(&Header { traits, ..header(8, number) })
        };
        for byte in (64..4096).step_by(100) {
            let mut torn = mapped(6);
            torn[byte..].copy_from_slice(&mapped(5)[byte..]);
            assert_eq!(check(&torn), Some(Verdict::Unfinished), "{byte}");
        }
        for byte in (64..4096).step_by(100) {
            let mut rotten = new.clone();
            rotten[byte] ^= 0x10;
            assert_eq!(check(&rotten), Some(Verdict::Wrong(Class::Rot)), "{byte}");
        }
    }

    #[test]
    fn a_unit_that_others_wrote_over_is_not_accused() {
        let whole = unit(&header(8, 6));
        for sector in 1..8 {
            for other in [0, 0xA5] {
                let mut bytes = whole.clone();
                bytes[sector * SECTOR_BYTES..][..SECTOR_BYTES].fill(other);
                assert_eq!(check(&bytes), Some(Verdict::NotCheckable), "{sector}");
            }
        }
        let mut elsewhere = unit(&header(9, 6));
        elsewhere[3000] ^= 1;
        assert_eq!(check(&elsewhere), Some(Verdict::NotCheckable));
    }
}
