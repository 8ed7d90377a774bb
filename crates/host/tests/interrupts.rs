//! CPUs that handle the interrupts of disks' queues, on recorded machines.

#[allow(dead_code)]
mod support;

use model::block_device::BlockDevice;
use std::path::PathBuf;
use support::Machine;

/// CPUs of the queues of each disk below `path`.
fn cpus_of(machine: &Machine, path: &str) -> Vec<Vec<u32>> {
    let path = PathBuf::from(path);
    let environments = host::target_environment(&machine.root(), std::slice::from_ref(&path));
    let disks: Vec<&BlockDevice> = environments[&path].disks();
    disks.into_iter().map(|disk| disk.queue.interrupt_cpus.clone()).collect()
}

fn cpus(machine: &Machine, path: &str) -> Vec<u32> {
    cpus_of(machine, path).remove(0)
}

/// A virtio disk with a partition; the two lines of interrupts are those of the recorded machine.
const VIRTIO: &str = "
    block vda 254:0 pci0000:00/0000:00:02.0/virtio1/block/vda
    block vda1 254:1 pci0000:00/0000:00:02.0/virtio1/block/vda/vda1
    @vda/device -> ../../../virtio1
    @vda/mq/0/cpu_list = 0, 1
    @vda/../../../msi_irqs/35 = msix
    @vda/../../../msi_irqs/36 = msix
    @vda1/partition = 1
    sys/kernel/irq/35/actions = virtio1-config
    sys/kernel/irq/36/actions = virtio1-req.0
    proc/irq/35/effective_affinity_list = 0
    proc/irq/36/effective_affinity_list = 1";

#[test]
fn a_virtio_disk_of_one_queue_interrupts_one_cpu() {
    let machine = Machine::new(VIRTIO);
    assert_eq!(cpus(&machine, "/dev/vda"), [1]);
    assert_eq!(cpus(&machine, "/dev/vda1"), [1], "its disk's");
    // Where vectors are scarce.
    machine.write("sys/kernel/irq/36/actions", "virtio1-virtqueues");
    assert_eq!(cpus(&machine, "/dev/vda"), [1]);
}

#[test]
fn what_is_not_known_of_all_queues_is_not_told() {
    for (path, content) in [
        ("@vda/mq/1/cpu_list", "1"),
        ("proc/irq/36/effective_affinity_list", "0-1"),
        ("proc/irq/36/effective_affinity_list", ""),
        ("sys/kernel/irq/36/actions", "virtio11-req.0"),
        ("sys/kernel/irq/36/actions", "virtio1-req.x"),
        ("sys/kernel/irq/36/actions", ""),
    ] {
        let machine = Machine::new(VIRTIO);
        machine.write(path, content);
        assert_eq!(cpus(&machine, "/dev/vda"), [0; 0], "{path} = {content}");
    }
}

#[test]
fn queues_of_nvme_come_in_their_order_without_that_of_commands() {
    let machine = Machine::new(
        "block nvme0n1 259:0 pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1
         @nvme0n1/device -> ../../nvme0
         @nvme0n1/mq/0/nr_tags = 1023
         @nvme0n1/mq/1/nr_tags = 1023
         @nvme0n1/mq/2/nr_tags = 1023
         @nvme0n1/../../../msi_irqs/124 = msix
         @nvme0n1/../../../msi_irqs/125 = msix
         @nvme0n1/../../../msi_irqs/126 = msix
         @nvme0n1/../../../msi_irqs/99 = msix
         sys/kernel/irq/124/actions = nvme0q0
         sys/kernel/irq/125/actions = nvme0q1
         sys/kernel/irq/126/actions = nvme0q2
         sys/kernel/irq/99/actions = nvme0q3
         proc/irq/124/effective_affinity_list = 7
         proc/irq/125/effective_affinity_list = 0
         proc/irq/126/effective_affinity_list = 4
         proc/irq/99/effective_affinity_list = 2",
    );
    assert_eq!(cpus(&machine, "/dev/nvme0n1"), [0, 4, 2]);
}

#[test]
fn one_path_of_nvme_lends_the_namespace_its_interrupts() {
    let machine = Machine::new(
        "block nvme0n1 259:1 virtual/nvme-subsystem/nvme-subsys0/nvme0n1
         block nvme0c3n1 - pci0000:00/0000:03:00.0/nvme/nvme3/nvme0c3n1
         @nvme0n1/device -> ../../nvme-subsys0
         @nvme0c3n1/device -> ../../nvme3
         @nvme0c3n1/mq/0/nr_tags = 1023
         @nvme0c3n1/../../../msi_irqs/40 = msix
         @nvme0c3n1/../../../msi_irqs/41 = msix
         sys/kernel/irq/40/actions = nvme3q0
         sys/kernel/irq/41/actions = nvme3q1
         proc/irq/40/effective_affinity_list = 0
         proc/irq/41/effective_affinity_list = 3",
    );
    assert_eq!(cpus(&machine, "/dev/nvme0n1"), [3]);
}

#[test]
fn an_adapter_with_one_interrupt_needs_no_names() {
    let sata = |irqs: &str| {
        Machine::new(&format!(
            "block sda 8:0 pci0000:00/0000:00:1c.0/0000:02:00.0/ata1/host0/target0:0:0/0:0:0:0/block/sda
             @sda/device -> ../../../0:0:0:0
             @sda/mq/0/nr_tags = 32
             @sda/mq/1/nr_tags = 32
             sys/devices/pci0000:00/0000:00:1c.0/msi_irqs/30 = msi
             proc/irq/30/effective_affinity_list = 6
             proc/irq/31/effective_affinity_list = 2
             {irqs}"
        ))
    };
    let adapter = "sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0";
    assert_eq!(cpus(&sata(&format!("{adapter}/msi_irqs/31 = msi")), "/dev/sda"), [2, 2]);
    // The interrupts of the bridge above are not its own.
    assert_eq!(cpus(&sata(""), "/dev/sda"), [0; 0]);
    let two = format!("{adapter}/msi_irqs/31 = msi\n{adapter}/msi_irqs/32 = msi");
    assert_eq!(cpus(&sata(&two), "/dev/sda"), [0; 0]);
}

#[test]
fn what_has_no_adapter_interrupts_nobody() {
    let machine = Machine::new(
        "block loop0 7:0 virtual/block/loop0
         @loop0/mq/0/cpu_list = 0
         block vdb 254:16 platform/a0000000.virtio_mmio/virtio4/block/vdb
         @vdb/device -> ../../../virtio4
         @vdb/mq/0/cpu_list = 0",
    );
    assert_eq!(cpus_of(&machine, "/dev/loop0"), [[0; 0]; 0]);
    assert_eq!(cpus(&machine, "/dev/vdb"), [0; 0]);
}

#[test]
fn this_machine_can_be_asked() {
    for row in host::devices(&host::Root::machine()) {
        let path = PathBuf::from("/dev").join(&row.name);
        let environments = host::target_environment(&host::Root::machine(), std::slice::from_ref(&path));
        for disk in environments[&path].disks() {
            let (queues, cpus) = (disk.queue.hardware_queue_count, &disk.queue.interrupt_cpus);
            assert!(cpus.is_empty() || queues.is_none_or(|queues| queues as usize == cpus.len()), "{disk:?}");
        }
    }
}
