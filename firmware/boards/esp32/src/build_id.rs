//! The GNU build id of the running image.

use core::str;

/// Length of a SHA-1 build id, bytes.
const LENGTH: usize = 20;
/// Length of its text, bytes.
pub const TEXT: usize = 2 * LENGTH;

/// An ELF note as `--build-id=sha1` writes it.
#[repr(C)]
struct Note {
    name_size: u32,
    id_size: u32,
    kind: u32,
    name: [u8; 4],
    id: [u8; LENGTH],
}

unsafe extern "C" {
    #[link_name = "_build_id_note"]
    static NOTE: Note;
}

/// The build id in lowercase hex, written into `text`.
pub fn read(text: &mut [u8; TEXT]) -> &str {
    // SAFETY: the linker script keeps a note of this shape at the symbol, four-byte aligned, and nothing writes it.
    let id = unsafe { &NOTE.id };
    for (pair, byte) in text.chunks_exact_mut(2).zip(id) {
        pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    str::from_utf8(text).unwrap_or_default()
}
