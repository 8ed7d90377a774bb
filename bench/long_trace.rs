//! Writes a trace of a given length, to measure memory and speed of what reads it: requests of 4 KiB to 64 KiB at random
//! offsets of 1 PiB, on average 20,000 a second.
//!
//! `cargo run --profile release-fast -p trace --example long-trace -- FILE BYTES`

use hot::rng::Rng;
use model::operation::Operation;
use std::fs::File;
use std::io::BufWriter;
use trace::event::{Action, Event, Flags, Names};
use trace::format::{Header, Writer};

/// Requests between looks at the length of the file.
const STEP: u64 = 1 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(Ok(bytes))) = (arguments.next(), arguments.next().map(|bytes| bytes.parse::<u64>())) else {
        panic!("expected: FILE BYTES");
    };
    let file = File::create(path).expect("the file can be created");
    let mut names = Names::default();
    names.intern_device("generated");
    names.intern_process(1, "generator");
    let out = BufWriter::with_capacity(1 << 20, file.try_clone().expect("a descriptor"));
    let mut writer = Writer::new(out, &Header::default()).expect("there is room");
    let (mut rng, mut issue_ns, mut requests) = (Rng::new(7), 0, 0_u64);
    while !requests.is_multiple_of(STEP) || file.metadata().expect("it is open").len() < bytes {
        issue_ns += rng.below(100_000);
        let event = Event {
            issue_ns,
            latency_ns: Some(rng.below(1 << 30)),
            device: 0,
            process: 0,
            offset: rng.below(1 << 38) * 4096,
            length: (1 + rng.below(16)) * 4096,
            action: Action::Operation(if rng.below(10) < 3 { Operation::Write } else { Operation::Read }),
            flags: Flags::default(),
        };
        writer.push(&event, &names).expect("there is room");
        requests += 1;
    }
    writer.finish(&names).expect("there is room");
    println!("{requests} requests");
}
