//! The partition table, as ESP-IDF's bootloader reads it.

use mcp_hil_board_startup::partition::{Partition, find};

/// An entry as `gen_esp32part.py` writes it.
fn entry(kind: u8, subtype: u8, offset: u32, size: u32, label: &str) -> Vec<u8> {
    let mut bytes = vec![0xaa, 0x50, kind, subtype];
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(label.as_bytes());
    bytes.resize(32, 0);
    bytes
}

/// The table's checksum, which is no partition.
fn md5() -> Vec<u8> {
    let mut bytes = vec![0xeb; 2];
    bytes.resize(32, 0xff);
    bytes
}

fn table(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(0xc00, 0xff);
    bytes
}

const CONFIG: Partition = Partition {
    offset: 0x9000,
    size: 0x1000,
};

#[test]
fn a_partition_is_found_by_its_whole_label() {
    let app = entry(0, 0, 0x10000, 0x1f0000, "factory");
    let longer = entry(1, 6, 0xa000, 0x1000, "config2");
    let config = entry(1, 6, 0x9000, 0x1000, "config");
    assert_eq!(
        find(&table(&[app.clone(), longer.clone(), config, md5()]), "config"),
        Some(CONFIG)
    );
    assert_eq!(find(&table(&[app, longer, md5()]), "config"), None);
}

#[test]
fn a_label_may_fill_its_field() {
    let full = entry(1, 6, 0x9000, 0x1000, "sixteen-letters!");
    assert_eq!(find(&table(&[full]), "sixteen-letters!"), Some(CONFIG));
}

#[test]
fn what_comes_behind_the_end_is_no_partition() {
    let config = entry(1, 6, 0x9000, 0x1000, "config");
    assert_eq!(find(&table(&[md5(), config.clone()]), "config"), None);
    assert_eq!(find(&[0xff; 0xc00], "config"), None);
    assert_eq!(find(&config[..31], "config"), None, "half an entry");
    assert_eq!(find(&[], "config"), None);
}
