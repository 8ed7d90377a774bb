//! Randomised evidence: no sound history is ever reported as corrupt, and no damage that docs/integrity.md and
//! docs/power-cut.md claim to find is ever missed. The permitted outcomes follow from the construction of a case,
//! without any code of the program.
//!
//! A case is one verification of a history, as it is or damaged. `DISKSPD_TEST_EVIDENCE` is their number in all tests
//! together, `DISKSPD_TEST_EVIDENCE_SEED` the seed of the first history of each test. A history that fails prints both,
//! so that it can be run alone.

mod damage;
mod disks;
mod history;

use history::Case;
use std::rc::Rc;
use testkit::workplace;

/// Default number of cases of all tests together.
const CASES: u64 = 2000;
const COUNT: &str = "DISKSPD_TEST_EVIDENCE";
const SEED: &str = "DISKSPD_TEST_EVIDENCE_SEED";
/// Maximum number of failed histories that are shown.
const SHOWN_MAX: usize = 10;

fn set(variable: &str, usual: u64) -> u64 {
    let set = std::env::var(variable);
    set.map_or(usual, |number| number.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// Runs histories until a share of the cases, given in percent, is done.
fn each_case(test: &str, percent: u64, run: fn(&mut Case) -> Result<(), String>) {
    let place = Rc::new(workplace!());
    let wanted = (set(COUNT, CASES) * percent).div_ceil(100);
    let first = set(SEED, 1);
    let mut cases = 0;
    let mut failed = Vec::new();
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    for seed in first.. {
        if cases >= wanted {
            break;
        }
        let mut case = Case::new(Rc::clone(&place), seed);
        let ended = run(&mut case);
        let words = case.lines.join("\n  ");
        case.kinds.iter().for_each(|kind| *counts.entry(kind).or_default() += 1);
        // At least one: it may have failed before.
        cases += case.verified.max(1);
        let skipped = case.skipped.take();
        drop(case);
        if let Some(reason) = skipped {
            testkit::skip!("{reason}");
        }
        if let Err(reason) = ended {
            let again = format!("{COUNT}=1 {SEED}={seed} cargo test -p app --test e2e evidence::{test}");
            eprintln!("FAILED: {again}\n  {words}\n  {reason}\n");
            failed.push(format!("{again}\n  {words}\n  {reason}"));
        }
    }
    println!("{test}: {cases} cases from seed {first}: {counts:?}");
    let shown = failed.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(failed.is_empty(), "{} histories failed, the first of them:\n{shown}", failed.len());
}

#[test]
fn sound_files_are_not_accused() {
    each_case("sound_files_are_not_accused", 22, Case::sound);
}

#[test]
fn damage_is_not_acquitted_with_a_map() {
    each_case("damage_is_not_acquitted_with_a_map", 25, Case::damaged_with_map);
}

#[test]
fn damage_is_not_acquitted_without_a_map() {
    each_case("damage_is_not_acquitted_without_a_map", 25, Case::damaged_alone);
}

#[test]
fn killed_loads_are_not_accused_and_their_damage_is_found() {
    each_case("killed_loads_are_not_accused_and_their_damage_is_found", 15, Case::killed);
}

#[test]
fn faulty_disks_are_accused_and_sound_ones_are_not() {
    each_case("faulty_disks_are_accused_and_sound_ones_are_not", 8, disks::judge_faulty);
}

#[test]
fn disks_that_lose_power_are_judged_as_they_deserve() {
    each_case("disks_that_lose_power_are_judged_as_they_deserve", 5, disks::judge_cut);
}
