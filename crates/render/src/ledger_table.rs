//! Bytes asked for and bytes at each level of storage: a table and lines of their own below those of `DiskSpd`.

use model::ledger::{Account, Ledger, Level};
use model::printable::printable;
use model::units::mib;
use report::words::plain_table::PlainTable;
use std::io::{self, Write};

/// Levels that the text has room for. The others are in JSON.
const LEVELS_MAX: usize = 12;

/// The levels, and how much of what was asked for reached storage, beginning with an empty line.
pub(crate) fn block(out: &mut dyn Write, ledger: &Ledger) -> io::Result<()> {
    let Ledger { accounts, levels } = ledger;
    if accounts.is_empty() {
        return Ok(());
    }
    let others = levels.len().saturating_sub(LEVELS_MAX);
    let left_out = if others > 0 { format!("; {others} levels only in JSON results") } else { String::new() };
    writeln!(out, "\nbytes asked and bytes at storage, in MiB{left_out}")?;
    of_levels(&levels[..levels.len() - others]).write(out)?;
    accounts.iter().try_for_each(|account| writeln!(out, "{}", printable(&reached(account))))
}

/// What the program transferred, and each level below it.
fn of_levels(levels: &[Level]) -> PlainTable {
    let mut header = vec!["level", "kind", "read", "written", "dirty left"];
    if levels.iter().any(|level| level.other_read_bytes.is_some()) {
        header.extend(["others read", "others wrote"]);
    }
    let columns = header.len();
    let mut table = PlainTable::new(header, 2..columns);
    let shown = |bytes: u64| format!("{:.2}", mib(bytes as f64));
    let known = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), shown);
    for Level { name, kind, read_bytes, write_bytes, other_read_bytes, other_write_bytes, dirty_left_bytes } in levels {
        let cells = [
            name.clone(),
            kind.clone(),
            shown(*read_bytes),
            shown(*write_bytes),
            known(*dirty_left_bytes),
            known(*other_read_bytes),
            known(*other_write_bytes),
        ];
        table.add(cells.into_iter().take(columns));
    }
    table
}

/// How much of it reached storage.
fn reached(account: &Account) -> String {
    let what = account.words();
    let Some(percent) = account.reached_percent else {
        return format!("{what}: unknown how much reached a device below {}", account.storage);
    };
    let at_most = if account.without_others { "" } else { "at most " };
    let below = if account.is_complete { "" } else { ", of what is below it nothing is known" };
    format!("{what}: {at_most}{percent:.1} % reached {}{below}", account.level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ledger::CacheUse;

    fn level(name: &str, kind: &str, read_bytes: u64) -> Level {
        Level { name: name.to_owned(), kind: kind.to_owned(), read_bytes, ..Level::default() }
    }

    fn text(ledger: &Ledger) -> String {
        let mut out = Vec::new();
        block(&mut out, ledger).expect("memory takes all");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn levels_and_what_reached_storage_are_shown() {
        let disk =
            Level { other_read_bytes: Some(1 << 20), other_write_bytes: Some(0), ..level("sda", "disk", 9 << 20) };
        let account = Account {
            cache_use: CacheUse::Direct,
            reached_percent: Some(12.5),
            level: "sda".to_owned(),
            is_complete: true,
            without_others: true,
            ..Account::default()
        };
        let unknown = Account { storage: "fuse.sshfs".to_owned(), ..Account::default() };
        let accounts = vec![account, unknown];
        let ledger = Ledger { accounts, levels: vec![level("diskspd", "program", 64 << 20), disk] };
        insta::assert_snapshot!(text(&ledger), @r"

        bytes asked and bytes at storage, in MiB
         level    kind      read  written  dirty left  others read  others wrote
         diskspd  program  64.00     0.00           -            -             -
         sda      disk      9.00     0.00           -         1.00          0.00
        direct reads: 12.5 % reached sda
        cached reads: unknown how much reached a device below fuse.sshfs
        ");
        assert_eq!(text(&Ledger::default()), "");
    }

    #[test]
    fn bytes_of_others_make_it_an_upper_bound() {
        let account = Account { reached_percent: Some(100.0), level: "loop0".to_owned(), ..Account::default() };
        let expected = "cached reads: at most 100.0 % reached loop0, of what is below it nothing is known";
        assert_eq!(reached(&account), expected);
    }
}
