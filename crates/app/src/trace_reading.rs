//! The thread that reads a trace ahead of those that issue its requests.

use hot::replay::{Feed, Request};
use model::plan::{Pattern, Plan};
use model::profile::Profile;
use model::replay::{Replay, ReplayChanges};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use trace::readers::TraceReader;
use trace::replay::{Mapper, Rules};

/// How long the reader waits for room in a queue, which lasts the thread that issues its requests far longer.
const FULL: Duration = Duration::from_micros(200);

/// A trace that is read for the threads of a run.
#[derive(Debug)]
pub(crate) struct TraceReading {
    /// By thread.
    pub(crate) feeds: Vec<Arc<Feed>>,
    thread: JoinHandle<Result<ReplayChanges, String>>,
}

impl TraceReading {
    /// Begins to read the trace of a replay; `None` if the profile is none.
    ///
    /// # Errors
    ///
    /// The machine gives no thread.
    pub(crate) fn begin(profile: &Profile, plan: &Plan) -> Result<Option<Self>, String> {
        let replay = profile.time_spans.first().and_then(|span| span.replay.clone());
        let Some((replay, span)) = replay.zip(plan.time_spans.first()) else { return Ok(None) };
        let target = span.workers.first().and_then(|worker| worker.targets.first());
        let Some((target, Pattern::Recorded { area })) = target.map(|target| (target, &target.pattern)) else {
            return Ok(None);
        };
        let rules = Rules {
            base_bytes: area.base_bytes,
            size_bytes: area.size_bytes,
            alignment_bytes: area.alignment_bytes,
            piece_bytes: target.block_bytes,
            scale_offsets: replay.scale_offsets,
            discards: replay.discards,
            closed: replay.closed,
        };
        let feeds: Vec<Arc<Feed>> = span.workers.iter().map(|_| Arc::default()).collect();
        let own = feeds.clone();
        let body = move || {
            let changes = read(&replay, rules, &own);
            for feed in &own {
                feed.finish();
            }
            changes
        };
        let thread = thread::Builder::new().name("trace reader".to_owned()).spawn(body);
        let thread = thread.map_err(|error| format!("cannot start the thread that reads the trace: {error}"))?;
        Ok(Some(Self { feeds, thread }))
    }

    /// The changes to the requests, once the run has ended.
    pub(crate) fn end(self) -> Result<ReplayChanges, String> {
        self.feeds.iter().for_each(|feed| feed.close());
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Reads up to the end, or until no thread takes more. Requests go to the threads in turn.
fn read(replay: &Replay, rules: Rules, feeds: &[Arc<Feed>]) -> Result<ReplayChanges, String> {
    let mut reader = open(&replay.trace)?;
    let mut mapper = Mapper::new(rules, replay);
    let mut threads = feeds.iter().cycle();
    for event in reader.by_ref() {
        mapper.map(&event, |request| {
            if let Some(feed) = threads.next() {
                put(feed, &request);
            }
        });
        if feeds.iter().all(|feed| feed.is_closed()) {
            break;
        }
    }
    let mut changes = mapper.changes().clone();
    changes.unread = replay.recorded.count().saturating_sub(mapper.events());
    changes.losses = reader.account().loss_count;
    Ok(changes)
}

fn put(feed: &Feed, request: &Request) {
    while !feed.is_closed() && !feed.put(request) {
        thread::sleep(FULL);
    }
}

/// Begins to read a trace.
pub(crate) fn open(path: &Path) -> Result<TraceReader<'static>, String> {
    let name = path.display();
    let file = File::open(path).map_err(|error| format!("cannot read '{name}': {error}"))?;
    TraceReader::new(vec![Box::new(file)]).map_err(|error| format!("'{name}': {error}"))
}
