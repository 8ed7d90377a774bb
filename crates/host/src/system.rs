//! The machine without its targets.

use crate::root::Root;
use crate::{cpus, kernel, memory, processor};
use model::facts::SystemFacts;

/// Reads the facts about the machine that planning and reports need.
///
/// Raises this process's limit of open files to the most it may have.
pub fn system(root: &Root) -> SystemFacts {
    let topology = cpus::topology(root);
    let first_cpu = topology.cpus.first().map_or(0, |cpu| cpu.id);
    SystemFacts {
        computer_name: kernel::computer_name(root),
        processor_name: processor::name(root),
        power_scheme: processor::power_scheme(root, first_cpu),
        page_size_bytes: sys::limits::page_size_bytes(),
        topology,
        kernel_release: kernel::release(root),
        cache_line_write_back: sys::cache_lines::can_write_back(),
        io_uring: kernel::io_uring(root, sys::io_uring_probe::probe()),
        linux_aio: kernel::linux_aio(sys::aio_probe::probe()),
        memory: memory::read(root, sys::limits::locked_memory_bytes()),
        open_files_max: sys::limits::raise_open_files(),
    }
}
