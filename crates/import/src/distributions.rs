//! Effective distributions during the read, before they become the lists of a result.

use model::plan::{EffectiveDistribution, EffectiveRange};
use model::result::{DistributionUse, DistributionUser, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Threads by path, in byte order of the paths.
type Users = BTreeMap<Vec<u8>, (PathBuf, BTreeSet<u32>)>;

/// More than the threads on targets of any run; bounds the memory that a text can claim.
const USERS_MAX: usize = 1 << 22;

/// Distinct lists, each with all its users.
#[derive(Default)]
pub(super) struct Distributions {
    lists: BTreeMap<EffectiveDistribution, Users>,
    users: usize,
}

impl Distributions {
    /// Adds threads that used a list on a path.
    pub(super) fn add(
        &mut self,
        distribution: &EffectiveDistribution,
        path: &Path,
        threads: &[u32],
    ) -> Result<(), String> {
        self.users = self.users.saturating_add(threads.len());
        if self.users > USERS_MAX {
            return Err(format!(
                "distributions (-rd) are used by more than {USERS_MAX} combinations of a thread and a \
                                target"
            ));
        }
        if !self.lists.contains_key(distribution) {
            self.lists.insert(distribution.clone(), Users::new());
        }
        if let Some(users) = self.lists.get_mut(distribution) {
            let bytes = path.as_os_str().as_encoded_bytes().to_vec();
            users.entry(bytes).or_insert_with(|| (path.to_owned(), BTreeSet::new())).1.extend(threads);
        }
        Ok(())
    }

    /// The lists in order of their ranges; assigns each row its list.
    pub(super) fn finish(self, rows: &mut [Row]) -> Vec<DistributionUse> {
        let mut lists: Vec<_> = self.lists.into_iter().collect();
        lists.sort_by(|(a, _), (b, _)| (&a.ranges, a.io_span).cmp(&(&b.ranges, b.io_span)));
        let mut places: BTreeMap<(u32, &[u8]), usize> = BTreeMap::new();
        for (index, (_, users)) in lists.iter().enumerate() {
            for (bytes, (_, threads)) in users {
                places.extend(threads.iter().map(|&thread| ((thread, bytes.as_slice()), index)));
            }
        }
        for row in rows {
            row.distribution = places.get(&(row.thread, row.path.as_os_str().as_encoded_bytes())).copied();
        }
        let user = |(path, threads): (PathBuf, BTreeSet<u32>)| DistributionUser {
            path,
            threads: threads.into_iter().collect(),
        };
        lists
            .into_iter()
            .map(|(distribution, users)| DistributionUse {
                distribution,
                users: users.into_values().map(user).collect(),
            })
            .collect()
    }
}

/// A list from shares, starts and lengths in order.
pub(super) fn effective(ranges: &[(u32, u64, u64)]) -> EffectiveDistribution {
    let mut io_start = 0u32;
    let ranges = ranges
        .iter()
        .map(|&(io_percent, start_bytes, length_bytes)| {
            let range = EffectiveRange { io_start, io_percent, start_bytes, length_bytes };
            io_start = io_start.saturating_add(io_percent);
            range
        })
        .collect();
    EffectiveDistribution { io_span: io_start, ranges }
}
