//! Requested bytes, and bytes at each level of storage.

use crate::block::{Column, Table, dash};
use model::ledger::{Account, Ledger, Level};
use model::units::mib;

/// Bytes of the program and of each level below it, and the number that reached storage.
pub(crate) fn table(Ledger { accounts, levels }: &Ledger) -> Option<Table> {
    let has_others = levels.iter().any(|level| level.other_read_bytes.is_some());
    let shown = |bytes: u64| format!("{:.2}", mib(bytes as f64));
    let known = |bytes: Option<u64>| bytes.map_or_else(dash, shown);
    let row = |level: &Level| {
        let mut cells = vec![
            level.name.clone(),
            level.kind.clone(),
            shown(level.read_bytes),
            shown(level.write_bytes),
            known(level.dirty_left_bytes),
        ];
        if has_others {
            cells.extend([known(level.other_read_bytes), known(level.other_write_bytes)]);
        }
        cells
    };
    let others = ["others read", "others wrote"].into_iter().filter(|_| has_others);
    let numbers = ["read", "written", "dirty left"].into_iter().chain(others).map(Column::number);
    let reached: Vec<String> = accounts.iter().map(reached).collect();
    (!accounts.is_empty()).then(|| Table {
        heading: "bytes asked and bytes at storage, in MiB".to_owned(),
        columns: ["level", "kind"].map(Column::text).into_iter().chain(numbers).collect(),
        rows: levels.iter().map(row).collect(),
        note: format!("{}.", reached.join("; ")),
        ..Table::default()
    })
}

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

    #[test]
    fn levels_and_what_reached_storage_are_shown() {
        let level = |name: &str, kind: &str, read_bytes| Level {
            name: name.to_owned(),
            kind: kind.to_owned(),
            read_bytes,
            ..Level::default()
        };
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
        let found = table(&ledger).expect("a table");
        let rows: Vec<String> = found.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["diskspd program 64.00 0.00 - - -", "sda disk 9.00 0.00 - 1.00 0.00"]);
        assert_eq!(
            found.note,
            "direct reads: 12.5 % reached sda; cached reads: unknown how much reached a device below fuse.sshfs."
        );
        assert!(table(&Ledger::default()).is_none());
    }

    #[test]
    fn bytes_of_others_make_it_an_upper_bound() {
        let account = Account { reached_percent: Some(100.0), level: "loop0".to_owned(), ..Account::default() };
        let expected = "cached reads: at most 100.0 % reached loop0, of what is below it nothing is known";
        assert_eq!(reached(&account), expected);
    }
}
