//! Tests that require exclusive disks, drivers and a kernel: run in a virtual machine by `cargo xtask vm-test`, skipped
//! everywhere else. The tests share the machine's disks and load and unload its drivers, so they run one at a time.

mod cuts;
mod disks;
mod faults;
mod guard;
mod integrity;
mod kernels;
mod names;
mod null_blk;
mod paths;
mod polling;
mod power_cut;
mod shares;
mod stacks;
mod tools;

/// A workplace in the virtual machine. Only its kernel was started with this word: on any other machine the disks may
/// be in use.
macro_rules! machine {
    () => {{
        let words = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
        if !words.split_whitespace().any(|word| word == "diskspd.vm-test") {
            testkit::skip!("it runs in the virtual machine of `cargo xtask vm-test`");
        }
        testkit::workplace!()
    }};
}
pub(crate) use machine;
