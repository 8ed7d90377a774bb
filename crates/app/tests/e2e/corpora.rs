//! The readers of untrusted bytes withstand the fuzzer's inputs: its corpora, the project's other examples, and both
//! with parts changed. Crashes that fuzzing found are files in `fuzz/corpus`, named after the fault.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(dead_code, unreachable_pub)] // a library of its own elsewhere
mod fuzzed;

use std::path::{Path, PathBuf};

/// Above this the program under test is not optimised enough to try changed bytes.
const CHANGED_BYTES_MAX: usize = 4096;

/// The examples of a target, each with its name.
fn examples(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folders = xtask::fuzz::examples(root, target).into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let paths = folders.flatten().map(|entry| entry.expect("the corpus can be read").path());
    paths.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(path).expect("an example"))).collect()
}

#[test]
fn every_target_stands_its_examples() {
    for (name, target) in fuzzed::TARGETS {
        let examples = examples(name);
        assert!(!examples.is_empty(), "no examples for {name}");
        for (path, bytes) in examples {
            // A panic is followed by the path in this line.
            println!("{name} {}", path.display());
            target(&bytes);
            for end in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
                target(&bytes[..end]);
            }
        }
    }
}

/// A few bytes of each example changed, the same ones every time.
#[test]
fn every_target_stands_changed_examples() {
    for (name, target) in fuzzed::TARGETS.into_iter().filter(|(name, _)| *name != "page") {
        for (path, bytes) in
            examples(name).into_iter().filter(|(_, bytes)| (1..CHANGED_BYTES_MAX).contains(&bytes.len()))
        {
            println!("{name} {}", path.display());
            let mut state = bytes.len() as u64;
            for _ in 0..32 {
                let mut changed = bytes.clone();
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % changed.len();
                changed[at] = (state >> 24) as u8;
                target(&changed);
            }
        }
    }
}

#[test]
fn every_target_is_a_program() {
    for (name, _) in fuzzed::TARGETS {
        let program = format!("{}/../../fuzz/targets/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(program).expect(name);
        assert!(text.contains(&format!("fuzz::{name}(bytes)")), "{text}");
    }
    let programs = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/targets")).expect("the programs");
    assert_eq!(programs.count(), fuzzed::TARGETS.len());
}
