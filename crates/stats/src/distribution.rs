//! Effective distributions: each list once, with all its users.

use model::plan::{EffectiveDistribution, EffectiveRange, TimeSpanPlan};
use model::result::{DistributionUse, DistributionUser};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Lists in the order of their ranges.
type Lists<'a> = BTreeMap<(&'a [EffectiveRange], u32), Users<'a>>;

/// Threads by path; keyed by bytes, because paths themselves compare by component.
type Users<'a> = BTreeMap<&'a [u8], (&'a PathBuf, BTreeSet<u32>)>;

/// Groups the lists of all threads and targets.
pub(crate) fn uses(plan: &TimeSpanPlan) -> Vec<DistributionUse> {
    let mut lists = Lists::new();
    for worker in &plan.workers {
        for served in &worker.targets {
            let (Some(distribution), Some(target)) = (&served.effective_distribution, plan.targets.get(served.target))
            else {
                continue;
            };
            let users = lists.entry(key(distribution)).or_default();
            let bytes = target.path.as_os_str().as_encoded_bytes();
            users.entry(bytes).or_insert_with(|| (&target.path, BTreeSet::new())).1.insert(worker.thread);
        }
    }
    lists.into_iter().map(|((ranges, io_span), users)| in_order(ranges, io_span, users)).collect()
}

fn key(list: &EffectiveDistribution) -> (&[EffectiveRange], u32) {
    (&list.ranges, list.io_span)
}

fn in_order(ranges: &[EffectiveRange], io_span: u32, users: Users<'_>) -> DistributionUse {
    DistributionUse {
        distribution: EffectiveDistribution { io_span, ranges: ranges.to_vec() },
        users: users
            .into_values()
            .map(|(path, threads)| DistributionUser { path: path.clone(), threads: threads.into_iter().collect() })
            .collect(),
    }
}

/// Which of the lists each thread used on each target.
pub(crate) struct UsedLists(BTreeMap<(u32, usize), usize>);

impl UsedLists {
    /// `lists`: the result of [`uses`].
    pub(crate) fn new(plan: &TimeSpanPlan, lists: &[DistributionUse]) -> Self {
        let numbers: BTreeMap<_, usize> = lists.iter().map(|list| key(&list.distribution)).zip(0..).collect();
        let mut used = BTreeMap::new();
        for worker in &plan.workers {
            for served in &worker.targets {
                let number = served.effective_distribution.as_ref().and_then(|list| numbers.get(&key(list)));
                used.extend(number.map(|number| ((worker.thread, served.target), *number)));
            }
        }
        Self(used)
    }

    pub(crate) fn index(&self, thread: u32, target: usize) -> Option<usize> {
        self.0.get(&(thread, target)).copied()
    }
}
