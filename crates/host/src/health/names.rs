//! Names of a device in the kernel's log.

use crate::block::place;
use crate::root::Root;

/// Its name, its number, and every numbered parent in /sys: adapter, link, address and controller (`ata3`, `host2`,
/// `2:0:0:0`, `nvme0`, `0000:01:00.0`).
pub(super) fn list(root: &Root, device: &str) -> Vec<String> {
    let mut names = vec![device.to_owned()];
    let Some(directory) = place::directory(root, device) else { return names };
    names.extend(place::number(root, &directory).map(|number| format!("{}:{}", number.major, number.minor)));
    let parts = directory.iter().filter_map(|part| part.to_str());
    names.extend(parts.filter(|part| part.bytes().any(|byte| byte.is_ascii_digit())).map(str::to_owned));
    names
}

/// True if a word of `message` is one of `names`: by itself, before a point (`ata3.00`) or after a colon
/// (`md/raid1:md0`).
pub(super) fn is_named(names: &[String], message: &str) -> bool {
    let is_name = |word: &str| names.iter().any(|name| name == word);
    message.split_whitespace().any(|word| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let before_point = word.split_once('.').map_or(word, |(before, _)| before);
        let behind_colon = word.rsplit_once(':').map_or(word, |(_, behind)| behind);
        // A number alone is not a name, and text after a colon may be part of an address.
        let is_word = behind_colon.bytes().any(|byte| byte.is_ascii_alphabetic());
        is_name(word) || is_name(before_point) || (is_word && is_name(behind_colon))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn words_are_compared_whole() {
        let sda = names("sda 8:0 0000:00:1f.2 ata3 host2 target2:0:0 2:0:0:0");
        for message in [
            "I/O error, dev sda, sector 8",
            "sd 2:0:0:0: [sda] tag#3 timing out command",
            "sd 2:0:0:0: Power-on or device reset occurred",
            "ata3.00: exception Emask 0x0",
            "ata3: hard resetting link",
            "device-mapper: multipath: 253:3: Failing path 8:0.",
            "md/raid1:sda: x",
        ] {
            assert!(is_named(&sda, message), "{message}");
        }
        for message in [
            "I/O error, dev sdaa, sector 8",
            "ata31: hard resetting link",
            "sd 12:0:0:0: reset",
            "Failing path 8:00.",
            "",
        ] {
            assert!(!is_named(&sda, message), "{message}");
        }
    }

    #[test]
    fn names_come_from_the_way_to_the_device() {
        let directory = tempfile::tempdir().expect("a folder");
        let device = "sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda";
        std::fs::create_dir_all(directory.path().join(device)).expect("a tree");
        std::fs::create_dir_all(directory.path().join("sys/class/block")).expect("a tree");
        std::fs::write(directory.path().join(device).join("dev"), "8:0\n").expect("a file");
        let link = directory.path().join("sys/class/block/sda");
        std::os::unix::fs::symlink(format!("../../../{device}"), link).expect("a link");
        assert_eq!(
            list(&Root::recorded(directory.path()), "sda"),
            names("sda 8:0 pci0000:00 0000:00:1f.2 ata3 host2 target2:0:0 2:0:0:0")
        );
        assert_eq!(list(&Root::recorded(directory.path()), "sdb"), names("sdb"));
    }
}
