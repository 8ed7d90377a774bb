//! Recorded storage: tables for [`super::Machine`].

/// Two `NVMe` disks of one maker, each with two partitions, without multipath.
pub(crate) fn two_nvme_disks() -> String {
    [nvme_disk(0), nvme_disk(1)].concat()
}

fn nvme_disk(disk: u32) -> String {
    let bus = disk + 1;
    let minor = disk * 3;
    format!(
            "block nvme{disk}n1 259:{minor} pci0000:00/0000:00:1d.{disk}/0000:0{bus}:00.0/nvme/nvme{disk}/nvme{disk}n1
             block nvme{disk}n1p1 259:{p1} pci0000:00/0000:00:1d.{disk}/0000:0{bus}:00.0/nvme/nvme{disk}/nvme{disk}n1/nvme{disk}n1p1
             block nvme{disk}n1p2 259:{p2} pci0000:00/0000:00:1d.{disk}/0000:0{bus}:00.0/nvme/nvme{disk}/nvme{disk}n1/nvme{disk}n1p2
             @nvme{disk}n1/device -> ../../nvme{disk}
             @nvme{disk}n1/size = 7501476528
             @nvme{disk}n1/wwid = eui.000000000000000{bus}
             @nvme{disk}n1/removable = 0
             @nvme{disk}n1/ro = 0
             @nvme{disk}n1/stat = 10 0 80 1 20 0 160 2 0 3 3 0 0 0 0 0 0
             @nvme{disk}n1/queue/rotational = 0
             @nvme{disk}n1/queue/scheduler = [none] mq-deadline kyber
             @nvme{disk}n1/queue/nr_requests = 1023
             @nvme{disk}n1/queue/write_cache = write back
             @nvme{disk}n1/queue/fua = 1
             @nvme{disk}n1/queue/logical_block_size = 512
             @nvme{disk}n1/queue/physical_block_size = 4096
             @nvme{disk}n1/queue/wbt_lat_usec = 2000
             @nvme{disk}n1/queue/max_sectors_kb = 128
             @nvme{disk}n1/queue/discard_max_bytes = 2199023255040
             @nvme{disk}n1/mq/0/nr_tags = 1023
             @nvme{disk}n1/mq/1/nr_tags = 1023
             @nvme{disk}n1/mq/10/nr_tags = 1023
             @nvme{disk}n1/../model = EXAMPLE SSD 3.84TB                      
             @nvme{disk}n1/../serial = S00{disk}            
             @nvme{disk}n1/../firmware_rev = FW12
             @nvme{disk}n1/../transport = pcie
             @nvme{disk}n1/../sqsize = 1023
             @nvme{disk}n1/../address = 0000:0{bus}:00.0
             @nvme{disk}n1/../../../numa_node = {disk}
             @nvme{disk}n1/../../../current_link_speed = 8.0 GT/s PCIe
             @nvme{disk}n1/../../../max_link_speed = 16.0 GT/s PCIe
             @nvme{disk}n1/../../../current_link_width = 2
             @nvme{disk}n1/../../../max_link_width = 4
             @nvme{disk}n1p1/partition = 1
             @nvme{disk}n1p1/size = 2048
             @nvme{disk}n1p2/partition = 2
             @nvme{disk}n1p2/size = 7501472432
            ",
            p1 = minor + 1,
            p2 = minor + 2,
        )
}

/// A SCSI disk behind `adapter`, which is a directory below /sys/devices.
pub(crate) fn scsi_disk(name: &str, number: &str, adapter: &str, address: &str) -> String {
    format!(
        "block {name} {number} {adapter}/{address}/block/{name}
         @{name}/device -> ../../../{address}
         @{name}/size = 1953525168
         @{name}/../../vendor = EXAMPLE 
         @{name}/../../model = Array   LUN     
         @{name}/../../rev = 0430
         @{name}/../../queue_depth = 64
         @{name}/../../wwid = naa.600000000000000000000e000001000{last}
         @{name}/queue/rotational = 1
         @{name}/queue/scheduler = none [mq-deadline]
         @{name}/queue/nr_requests = 256
        ",
        last = &address[address.len() - 1..],
    )
}
