//! The live table of devices: its state and its keys. Drawing is in [`mod@draw`].

mod draw;

pub use draw::draw;

use crate::device_column::Column;
use crate::screen::terminal::Key;
use crate::watch::Device;
use model::device_interval::{DeviceInterval, DeviceRates, WatchedDevice};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

/// Intervals in the charts: ten minutes at one second.
const HISTORY_MAX: usize = 600;

/// Longest filter that can be typed.
const FILTER_CHARS_MAX: usize = 40;

/// State of the screen: data and view.
#[derive(Clone, Debug)]
pub struct MonitorScreen {
    /// Name of the machine.
    host: String,
    live: MonitorData,
    /// The data shown while paused; the rest is still updated.
    frozen: Option<Box<MonitorData>>,
    sort: Column,
    is_reversed: bool,
    filter: String,
    is_typing_filter: bool,
    shows_help: bool,
    /// The device of the charts below; the first one if it is not there.
    selected: Option<String>,
}

/// Data shown.
#[derive(Clone, Debug, Default)]
struct MonitorData {
    last: Option<DeviceInterval>,
    facts: BTreeMap<String, WatchedDevice>,
    history: BTreeMap<String, VecDeque<DeviceRates>>,
}

/// Result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyResult {
    /// Go on.
    Continue,
    /// Quit.
    Quit,
}

impl MonitorScreen {
    /// A screen without data.
    pub fn new(host: String) -> Self {
        Self {
            host,
            live: MonitorData::default(),
            frozen: None,
            sort: Column::Busy,
            is_reversed: false,
            filter: String::new(),
            is_typing_filter: false,
            shows_help: false,
            selected: None,
        }
    }

    /// Adds an interval, and the facts of the devices.
    pub fn take<'a>(&mut self, interval: &DeviceInterval, devices: impl Iterator<Item = (&'a str, &'a Device)>) {
        self.live.facts = devices.map(|(name, device)| (name.to_owned(), device.facts.clone())).collect();
        let is_there = |name: &String, _: &mut VecDeque<DeviceRates>| self.live.facts.contains_key(name);
        self.live.history.retain(is_there);
        for (name, rates) in &interval.devices {
            let history = self.live.history.entry(name.clone()).or_default();
            if history.len() == HISTORY_MAX {
                history.pop_front();
            }
            history.push_back(*rates);
        }
        self.live.last = Some(interval.clone());
    }

    /// Executes the action of a key.
    pub fn press(&mut self, key: Key) -> KeyResult {
        if key == Key::Interrupt || (key.is_end() && !self.is_typing_filter) {
            return KeyResult::Quit;
        }
        if self.is_typing_filter {
            self.type_filter(key);
            return KeyResult::Continue;
        }
        if self.shows_help {
            self.shows_help = false;
            return KeyResult::Continue;
        }
        match key {
            Key::Character('p' | ' ') => self.pause(),
            Key::Character('s') | Key::Right | Key::Tab => self.sort = self.sort.next(),
            Key::Left => self.sort = self.sort.before(),
            Key::Character('r') => self.is_reversed = !self.is_reversed,
            Key::Character('/') => self.is_typing_filter = true,
            Key::Character('?' | 'h') => self.shows_help = true,
            Key::Escape => self.filter.clear(),
            Key::Up => self.select(-1),
            Key::Down => self.select(1),
            Key::PageUp => self.select(-10),
            Key::PageDown => self.select(10),
            Key::Home => self.select(isize::MIN),
            Key::End => self.select(isize::MAX),
            _ => {}
        }
        KeyResult::Continue
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing_filter = false,
            Key::Escape => {
                self.is_typing_filter = false;
                self.filter.clear();
            }
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Character(character) if self.filter.chars().count() < FILTER_CHARS_MAX => self.filter.push(character),
            _ => {}
        }
    }

    fn pause(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(Box::new(self.live.clone())),
        };
    }

    fn select(&mut self, steps: isize) {
        let rows = self.rows();
        let Some(last) = rows.len().checked_sub(1) else { return };
        let chosen = self.selected_row(&rows).saturating_add_signed(steps).min(last);
        self.selected = Some(rows[chosen].name.to_owned());
    }

    fn seen(&self) -> &MonitorData {
        self.frozen.as_deref().unwrap_or(&self.live)
    }

    /// The rows to show, in order.
    fn rows(&self) -> Vec<Row<'_>> {
        let seen = self.seen();
        let filter = self.filter.to_lowercase();
        let is_wanted = |facts: &WatchedDevice| {
            let is_in = |text: &str| text.to_lowercase().contains(&filter);
            is_in(&facts.name) || facts.mapped_name.as_deref().is_some_and(is_in)
        };
        let row = |(name, facts): (&'_ String, &'_ WatchedDevice)| {
            let name = seen.facts.get_key_value(name)?.0;
            let facts = seen.facts.get(name).filter(|_| is_wanted(facts))?;
            let rates = seen.last.as_ref().and_then(|last| last.devices.get(name));
            Some(Row { name, facts, rates, history: seen.history.get(name) })
        };
        let mut rows: Vec<Row<'_>> = seen.facts.iter().filter_map(row).collect();
        rows.sort_by(|one, other| natural(one.name, other.name));
        if self.sort != Column::Device {
            // Descending; equal ones stay in the order of their names.
            let value = |row: &Row<'_>| row.rates.and_then(|rates| self.sort.value(rates)).unwrap_or(-1.0);
            let ios = |row: &Row<'_>| row.rates.map_or(0.0, |rates| rates.read.per_s + rates.write.per_s);
            // The kernel counts busy time in ticks: a device with some I/O may have none.
            let by_ios = |one: &Row<'_>, other: &Row<'_>| match self.sort {
                Column::Busy => ios(other).total_cmp(&ios(one)),
                _ => Ordering::Equal,
            };
            rows.sort_by(|one, other| value(other).total_cmp(&value(one)).then_with(|| by_ios(one, other)));
        }
        if self.is_reversed {
            rows.reverse();
        }
        rows
    }

    fn selected_row(&self, rows: &[Row<'_>]) -> usize {
        rows.iter().position(|row| Some(row.name) == self.selected.as_deref()).unwrap_or(0)
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    name: &'a str,
    facts: &'a WatchedDevice,
    /// `None` if the device is new.
    rates: Option<&'a DeviceRates>,
    history: Option<&'a VecDeque<DeviceRates>>,
}

/// sda2 before sda10.
fn natural(one: &str, other: &str) -> Ordering {
    let key = |name: &str| {
        let start = name.trim_end_matches(|character: char| character.is_ascii_digit());
        (start.to_owned(), name[start.len()..].parse::<u64>().ok())
    };
    key(one).cmp(&key(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests_support {
    use super::*;
    use crate::testing::{device, interval};
    use jiff::tz::TimeZone;
    use model::counter_object::CounterObject;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// A screen that has seen a minute of four devices, in the order of their names.
    pub(super) fn filled() -> MonitorScreen {
        let mut screen = MonitorScreen::new("db-server".to_owned());
        screen.sort = Column::Device;
        for number in 1..=60u32 {
            let wave = f64::from((number + 5) % 12) * 100.0;
            feed(&mut screen, number.into(), &[("sda", wave), ("nvme0n1", 250_000.0), ("dm-0", 3.0), ("sdb", 0.0)]);
        }
        screen.press(Key::Down);
        screen.press(Key::Down);
        screen
    }

    pub(super) fn feed(screen: &mut MonitorScreen, number: u64, devices: &[(&str, f64)]) {
        let facts: Vec<(&str, Device)> =
            devices.iter().map(|(name, _)| (*name, device(name, CounterObject::PhysicalDisk))).collect();
        screen.take(&interval(number, devices), facts.iter().map(|(name, device)| (*name, device)));
    }

    /// The frame on a terminal of this size.
    pub(super) fn picture(screen: &MonitorScreen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
        terminal.draw(|frame| draw(frame, screen, false, &TimeZone::UTC)).expect("memory");
        terminal.backend().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::feed;
    use super::*;
    use proptest::prelude::*;

    fn screen(devices: &[(&str, f64)]) -> MonitorScreen {
        let mut screen = MonitorScreen::new("host".to_owned());
        screen.sort = Column::Device;
        feed(&mut screen, 1, devices);
        screen
    }

    fn names(screen: &MonitorScreen) -> Vec<String> {
        screen.rows().iter().map(|row| row.name.to_owned()).collect()
    }

    fn type_in(screen: &mut MonitorScreen, text: &str) {
        for character in text.chars() {
            assert_eq!(screen.press(Key::Character(character)), KeyResult::Continue);
        }
    }

    #[test]
    fn rows_are_sorted_and_turned_round() {
        let mut screen = screen(&[("sda10", 5.0), ("sda2", 50.0), ("nvme0n1", 20.0)]);
        assert_eq!(names(&screen), ["nvme0n1", "sda2", "sda10"]);
        type_in(&mut screen, "s");
        assert_eq!(
            (screen.sort, names(&screen)),
            (Column::Reads, ["sda2", "nvme0n1", "sda10"].map(str::to_owned).to_vec())
        );
        type_in(&mut screen, "r");
        assert_eq!(names(&screen), ["sda10", "nvme0n1", "sda2"]);
        screen.press(Key::Left);
        assert_eq!(screen.sort, Column::Device);
    }

    #[test]
    fn busy_devices_come_first() {
        let mut screen = MonitorScreen::new("host".to_owned());
        feed(&mut screen, 1, &[("sda", 0.0), ("sdb", 20.0), ("sdc", 500.0), ("sdd", 0.0)]);
        assert_eq!(names(&screen), ["sdc", "sdb", "sda", "sdd"], "those that are alike by their names");
    }

    #[test]
    fn a_filter_is_typed_and_taken_back() {
        let mut screen = screen(&[("sda", 1.0), ("nvme0n1", 1.0), ("dm-0", 1.0)]);
        type_in(&mut screen, "/Dq");
        assert_eq!(names(&screen), [""; 0]);
        screen.press(Key::Backspace);
        assert_eq!(names(&screen), ["dm-0", "sda"], "the q was a letter of the filter");
        screen.press(Key::Enter);
        type_in(&mut screen, "s");
        assert_eq!(screen.sort, Column::Reads, "and letters are keys again");
        screen.press(Key::Escape);
        assert_eq!(names(&screen).len(), 3);
        type_in(&mut screen, "/vg-data");
        assert_eq!(names(&screen), ["dm-0"], "names that people gave are looked at too");
    }

    #[test]
    fn a_pause_shows_what_was_and_loses_nothing() {
        let mut screen = screen(&[("sda", 1.0)]);
        type_in(&mut screen, "p");
        feed(&mut screen, 2, &[("sda", 2.0), ("sdb", 2.0)]);
        assert_eq!(names(&screen), ["sda"]);
        assert_eq!(screen.seen().last.as_ref().map(|last| last.number), Some(1));
        type_in(&mut screen, " ");
        assert_eq!(names(&screen), ["sda", "sdb"]);
        assert_eq!(screen.seen().history["sda"].len(), 2);
    }

    #[test]
    fn the_selection_stays_with_its_device() {
        let mut screen = screen(&[("sda", 1.0), ("sdb", 2.0), ("sdc", 3.0)]);
        screen.press(Key::Down);
        assert_eq!(screen.selected.as_deref(), Some("sdb"));
        screen.press(Key::End);
        screen.press(Key::Down);
        assert_eq!(screen.selected.as_deref(), Some("sdc"));
        type_in(&mut screen, "s");
        assert_eq!(screen.selected_row(&screen.rows()), 0, "most reads, so it is the first row now");
        feed(&mut screen, 2, &[("sda", 1.0)]);
        assert_eq!(screen.selected_row(&screen.rows()), 0, "it is gone");
        assert_eq!(screen.seen().history.len(), 1);
        screen.press(Key::Home);
        assert_eq!(screen.selected.as_deref(), Some("sda"));
    }

    #[test]
    fn it_ends_on_request() {
        for key in [Key::Character('q'), Key::Character('Q'), Key::Interrupt] {
            assert_eq!(screen(&[]).press(key), KeyResult::Quit);
            let mut helped = screen(&[]);
            helped.press(Key::Character('?'));
            assert_eq!(helped.press(key), KeyResult::Quit, "from the help, too");
        }
        let mut typing = screen(&[]);
        type_in(&mut typing, "/q");
        assert_eq!(typing.press(Key::Interrupt), KeyResult::Quit);
    }

    #[test]
    fn history_has_an_end() {
        let mut screen = screen(&[("sda", 1.0)]);
        for number in 0..700 {
            feed(&mut screen, number, &[("sda", 1.0)]);
        }
        assert_eq!(screen.live.history["sda"].len(), HISTORY_MAX);
    }

    fn key() -> impl Strategy<Value = Key> {
        prop_oneof![
            any::<char>().prop_map(Key::Character),
            prop::sample::select(vec!['s', 'r', '/', '?', 'p', 'q']).prop_map(Key::Character),
            prop::sample::select(vec![
                Key::Enter,
                Key::Escape,
                Key::Backspace,
                Key::Up,
                Key::Down,
                Key::PageUp,
                Key::PageDown,
                Key::Home,
                Key::End,
            ]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_keys_and_no_size_are_too_odd(
            keys in prop::collection::vec(key(), 0..40), width in 0u16..200, height in 0u16..60, device_count in 0usize..30,
        ) {
            let names: Vec<String> = (0..device_count).map(|index| format!("sd{index}")).collect();
            let devices: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1e9)).collect();
            let mut screen = screen(&devices);
            for key in keys {
                screen.press(key);
                feed(&mut screen, 2, &devices);
            }
            let backend = ratatui::backend::TestBackend::new(width, height);
            let mut terminal = ratatui::Terminal::new(backend).expect("memory");
            terminal.draw(|frame| draw(frame, &screen, true, &jiff::tz::TimeZone::UTC)).expect("memory");
        }
    }
}
