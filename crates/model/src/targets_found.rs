//! Files and devices at the paths of a run's targets.

use crate::cache_probe::CacheProbe;
use crate::environment::TargetEnvironment;
use crate::facts::TargetFacts;
use crate::placement::Placement;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Files and devices at each distinct target path before a run. In documents it is one list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetsFound {
    /// Facts about them, if they were examined.
    pub facts: BTreeMap<PathBuf, TargetFacts>,
    /// The storage below each target, if it was examined.
    pub environments: BTreeMap<PathBuf, TargetEnvironment>,
    /// Results of the probe for caches below each target (`--probe-host-cache`).
    pub cache_probes: BTreeMap<PathBuf, CacheProbe>,
    /// Where the bytes of each file lay after the run, if the file system reports it.
    pub placements: BTreeMap<PathBuf, Placement>,
}

/// A target path and what was found there before the run.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TargetFound<'a> {
    /// The path, as the user wrote it.
    #[serde(with = "crate::path::One")]
    path: PathBuf,
    /// Facts about it; null = unknown.
    facts: Option<Cow<'a, TargetFacts>>,
    /// The mount and the devices below it; null = not examined.
    environment: Option<Cow<'a, TargetEnvironment>>,
    /// Result of the probe for a cache below it; null = `--probe-host-cache` was not given, or it could not be probed.
    #[serde(default)]
    cache_probe: Option<CacheProbe>,
    /// Where the bytes of the file lay after the run; null = it is not a file, or the file system does not report it.
    #[serde(default)]
    placement: Option<Cow<'a, Placement>>,
}

impl Serialize for TargetsFound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { facts, environments, cache_probes, placements } = self;
        let keys = facts.keys().chain(environments.keys()).chain(cache_probes.keys()).chain(placements.keys());
        let paths: BTreeSet<&PathBuf> = keys.collect();
        serializer.collect_seq(paths.into_iter().map(|path| TargetFound {
            path: path.clone(),
            facts: facts.get(path).map(Cow::Borrowed),
            environment: environments.get(path).map(Cow::Borrowed),
            cache_probe: cache_probes.get(path).copied(),
            placement: placements.get(path).map(Cow::Borrowed),
        }))
    }
}

impl<'de> Deserialize<'de> for TargetsFound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = Self::default();
        for TargetFound { path, facts, environment, cache_probe, placement } in Vec::deserialize(deserializer)? {
            found.facts.extend(facts.map(|facts| (path.clone(), facts.into_owned())));
            found.environments.extend(environment.map(|environment| (path.clone(), environment.into_owned())));
            found.placements.extend(placement.map(|placement| (path.clone(), placement.into_owned())));
            found.cache_probes.extend(cache_probe.map(|probe| (path, probe)));
        }
        Ok(found)
    }
}
