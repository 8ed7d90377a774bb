//! CPU caches.

use crate::root::{Root, cpu_directory};
use crate::syntax;
use model::topology::{Cache, CacheKind};

/// The associativity that means "fully".
const FULLY_ASSOCIATIVE: u32 = 255;

/// Each cache once, in order of its lowest CPU, then of the kernel's index.
pub(crate) fn read(root: &Root, online: &[u32]) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for &cpu in online {
        let cache_directory = format!("{}/cache", cpu_directory(cpu));
        for index in root.numbered(&cache_directory, "index") {
            let Some(cache) = one(root, &format!("{cache_directory}/index{index}"), cpu, online) else { continue };
            let is_known =
                |other: &Cache| other.level == cache.level && other.kind == cache.kind && other.cpus == cache.cpus;
            if !caches.iter().any(is_known) {
                caches.push(cache);
            }
        }
    }
    caches
}

/// The cache that a directory describes; `None` if it does not even contain the level.
fn one(root: &Root, directory: &str, cpu: u32, online: &[u32]) -> Option<Cache> {
    let level = small(root, directory, "level").filter(|level| *level > 0)?;
    let kind = match root.word(format!("{directory}/type")).as_deref() {
        Some("Data") => CacheKind::Data,
        Some("Instruction") => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    let mut cpus = root.cpu_list(format!("{directory}/shared_cpu_list")).unwrap_or_default();
    cpus.retain(|other| online.binary_search(other).is_ok());
    if !cpus.contains(&cpu) {
        cpus = vec![cpu];
    }
    let ways = small(root, directory, "ways_of_associativity").unwrap_or(0);
    let has_one_set = small(root, directory, "number_of_sets") == Some(1);
    Some(Cache {
        level,
        kind,
        size_bytes: root.word(format!("{directory}/size")).and_then(|size| syntax::size_bytes(&size)).unwrap_or(0),
        line_bytes: small(root, directory, "coherency_line_size").unwrap_or(0),
        associativity: if has_one_set { FULLY_ASSOCIATIVE } else { ways.min(FULLY_ASSOCIATIVE) },
        cpus,
    })
}

fn small(root: &Root, directory: &str, file: &str) -> Option<u32> {
    root.number(format!("{directory}/{file}")).and_then(|number| u32::try_from(number).ok())
}
