//! A firmware small enough to be written by hand: it prints a text, waits for a line on the console and switches
//! the machine off. RV32I, at the start of the `virt` machine's RAM.

const RAM: u32 = 0x8000_0000;
const ZERO: u32 = 0;
const UART: u32 = 10;
const TEXT: u32 = 11;
const BYTE: u32 = 12;
const OTHER: u32 = 13;
const POWER: u32 = 14;

fn lui(register: u32, upper: u32) -> u32 {
    upper << 12 | register << 7 | 0x37
}

fn auipc(register: u32, upper: u32) -> u32 {
    upper << 12 | register << 7 | 0x17
}

fn addi(register: u32, from: u32, value: u32) -> u32 {
    value << 20 | from << 15 | register << 7 | 0x13
}

fn andi(register: u32, from: u32, value: u32) -> u32 {
    value << 20 | from << 15 | 0b111 << 12 | register << 7 | 0x13
}

fn lbu(register: u32, base: u32, offset: u32) -> u32 {
    offset << 20 | base << 15 | 0b100 << 12 | register << 7 | 0x03
}

fn sb(register: u32, base: u32) -> u32 {
    register << 20 | base << 15 | 0x23
}

fn sw(register: u32, base: u32) -> u32 {
    register << 20 | base << 15 | 0b010 << 12 | 0x23
}

/// Branches by an even number of bytes between -4096 and 4094; `unequal` is 0 for `beq`, 1 for `bne`.
fn branch(unequal: u32, left: u32, right: u32, by: i32) -> u32 {
    let by = by as u32;
    (by >> 12 & 1) << 31
        | (by >> 5 & 0x3f) << 25
        | right << 20
        | left << 15
        | unequal << 12
        | (by >> 1 & 0xf) << 8
        | (by >> 11 & 1) << 7
        | 0x63
}

/// The firmware as an ELF file.
pub fn elf(text: &str) -> Vec<u8> {
    let mut code = vec![
        lui(UART, 0x10000),
        auipc(TEXT, 0),
        0, // the text's place, filled in below
        lbu(BYTE, TEXT, 0),
        branch(0, BYTE, ZERO, 16),
        sb(BYTE, UART),
        addi(TEXT, TEXT, 1),
        branch(0, ZERO, ZERO, -16),
        lbu(BYTE, UART, 5), // line status: bit 0 says that a byte has come
        andi(BYTE, BYTE, 1),
        branch(0, BYTE, ZERO, -8),
        lbu(BYTE, UART, 0),
        addi(OTHER, ZERO, u32::from(b'\n')),
        branch(1, BYTE, OTHER, -20),
        lui(POWER, 0x100),
        lui(OTHER, 0x5),
        addi(OTHER, OTHER, 0x555),
        sw(OTHER, POWER),
        branch(0, ZERO, ZERO, 0),
    ];
    let size = 4 * code.len() as u32;
    code[2] = addi(TEXT, TEXT, size - 4);
    let mut image: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
    image.extend(text.as_bytes());
    image.push(0);

    let length = image.len() as u32;
    let mut elf = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half =
        |elf: &mut Vec<u8>, values: &[u16]| elf.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let word =
        |elf: &mut Vec<u8>, values: &[u32]| elf.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    half(&mut elf, &[2, 243]); // an executable for RISC-V
    word(&mut elf, &[1, RAM, 52, 0, 0]); // version, entry, program headers at 52, no sections, no flags
    half(&mut elf, &[52, 32, 1, 40, 0, 0]);
    word(&mut elf, &[1, 84, RAM, RAM, length, length, 7, 4]); // load it all
    elf.extend(image);
    elf
}
