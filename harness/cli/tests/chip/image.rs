//! A flash of the C3 that a bootloader takes, and whose application holds a build id as the C3's firmware does: among its constants.

use esp_idf_part::PartitionTable;
use mcp_hil_harness::bench::image::DEFAULT_TABLE;

/// Where the application is.
const APPLICATION: usize = 0x10000;
const C3: u8 = 5;

/// All of flash up to the application's end, with this build id in hex.
pub fn flash(build: &str) -> Vec<u8> {
    let id = (0..20).map(|at| u8::from_str_radix(&build[2 * at..2 * at + 2], 16).unwrap());
    let mut constants = vec![0x55; 500];
    constants.extend(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0");
    constants.extend(id);
    let mut flash = image(0x403c_c710, &[(0x403c_c710, &[0x13; 64])]);
    flash.resize(0x8000, 0xff);
    let table = PartitionTable::try_from_str(DEFAULT_TABLE).unwrap();
    flash.extend(table.to_bin().unwrap());
    flash.resize(APPLICATION, 0xff);
    flash.extend(image(
        0x4038_0000,
        &[(0x3c00_0020, &constants), (0x4038_0000, &[0x13; 64])],
    ));
    flash
}

/// An image without a hash ("Firmware Image Format" of esptool's documentation).
fn image(entry: u32, segments: &[(u32, &[u8])]) -> Vec<u8> {
    let mut image = vec![0xe9, u8::try_from(segments.len()).unwrap(), 2, 0x20];
    image.extend(entry.to_le_bytes());
    image.resize(24, 0);
    image[12] = C3;
    let mut sum = 0xef;
    for (address, data) in segments {
        assert_eq!(data.len() % 4, 0);
        image.extend(address.to_le_bytes());
        image.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
        image.extend(*data);
        sum = data.iter().fold(sum, |sum, byte| sum ^ byte);
    }
    image.resize(image.len() / 16 * 16 + 15, 0);
    image.push(sum);
    image
}
