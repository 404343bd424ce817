use super::*;

const ROM: &str = "\
ESP-ROM:esp32c3-api1-20210207
Build:Feb  7 2021
rst:0x1 (POWERON),boot:0xd (SPI_FAST_FLASH_BOOT)
SPIWP:0xee
mode:DIO, clock div:2
load:0x3fcd5820,len:0x1714
entry 0x403cc710
I (24) boot: ESP-IDF v5.1-beta1-378-gea5e0ff298-dirt 2nd stage bootloader
I (60) boot: Loaded app from partition at offset 0x10000
I (61) boot: Disabling RNG early entropy source...
";

fn read(text: &str) -> (Recogniser, Vec<Sign>) {
    let mut recogniser = Recogniser::default();
    let signs = text.lines().filter_map(|line| recogniser.line(line)).collect();
    (recogniser, signs)
}

fn reset(reason: &str, cause: Cause) -> Sign {
    Sign::Reset {
        reason: reason.to_owned(),
        cause,
    }
}

#[test]
fn a_good_start_is_one_reset() {
    let text = format!(
        "{ROM}mcp-device boot stage=reset reason=power-on\r\nmcp-device boot stage=build id=17f4\r\nmcp-device boot stage=serving url=http://192.168.4.2/mcp\r\n"
    );
    let (recogniser, signs) = read(&text);
    assert_eq!(
        signs,
        [reset("POWERON", Cause::Power), reset("power-on", Cause::Power)]
    );
    assert_eq!(recogniser.resets(), (1, Some("POWERON")));
    assert_eq!((recogniser.crash(), recogniser.is_loop()), (None, false));
}

#[test]
fn the_rom_says_that_it_waits_for_a_tool() {
    let (_, signs) = read("rst:0x1 (POWERON),boot:0x4 (DOWNLOAD(USB/UART0/1))\nwaiting for download\n");
    assert_eq!(signs, [reset("POWERON", Cause::Power), Sign::Download]);
}

#[test]
fn a_panic_of_esp_idf_has_its_registers() {
    let (recogniser, _) = read(
        "Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\n\
         \n\
         Core  0 register dump:\n\
         MEPC    : 0x42007d1e  RA      : 0x42007d16  SP      : 0x3fc92f60  GP      : 0x3fc8b600\n\
         TP      : 0x3fc8a1a8  T0      : 0x4005890e  T1      : 0x0000000f  T2      : 0x00000000\n\
         S0/FP   : 0x00000000  S1      : 0x00000000  A0      : 0x00000001  A1      : 0x3c023a08\n\
         MTVEC   : 0x40380001  MCAUSE  : 0x00000005  MTVAL   : 0x00000000  MHARTID : 0x00000000\n",
    );
    let crash = recogniser.crash().unwrap();
    assert!(crash.text.contains("Load access fault"), "{crash:?}");
    assert_eq!(crash.addresses, [0x4200_7d1e, 0x4200_7d16]);
}

#[test]
fn a_panic_of_esp_backtrace_has_its_place_and_its_callers() {
    let (recogniser, _) = read(
        "\n====================== PANIC ======================\n\
         panicked at src/main.rs:41:5:\n\
         index out of bounds: the len is 3 but the index is 7\n\
         \n\
         Backtrace:\n\
         \n\
         0x42001c34\n\
         0x42001c34 - _start\n\
         0x4200a1f0\n\
         0x3fc92f60\n",
    );
    let crash = recogniser.crash().unwrap();
    assert_eq!(crash.text, "panicked at src/main.rs:41:5:");
    assert_eq!(crash.addresses, [0x4200_1c34, 0x4200_a1f0]);
}

#[test]
fn an_exception_of_esp_hal_tells_where() {
    let (recogniser, _) =
        read("Exception 'Illegal instruction' mepc=0x420001fe, mtval=0x00000000\n0x42000200\n");
    assert_eq!(recogniser.crash().unwrap().addresses, [0x4200_01fe, 0x4200_0200]);
}

#[test]
fn our_own_panic_has_its_backtrace() {
    let (recogniser, _) = read(
        "mcp-device panic at src/main.rs:120:9: called `Option::unwrap()` on a `None` value\n\
         mcp-device backtrace 0x42001c34\n\
         mcp-device backtrace 0x80001000\n\
         mcp-device boot stage=reset reason=software\n\
         0x42009999\n",
    );
    let crash = recogniser.crash().unwrap();
    assert!(crash.text.ends_with("on a `None` value"));
    assert_eq!(crash.addresses, [0x4200_1c34, 0x8000_1000]);
}

#[test]
fn an_abort_and_its_pairs_of_a_backtrace() {
    let (recogniser, _) = read(
        "abort() was called at PC 0x4200a3b2 on core 0\n\
         Backtrace: 0x4008_bad0:0x3ffb 0x42007d1e:0x3fc92f60 0x42007d16:0x3fc92f80\n",
    );
    assert_eq!(
        recogniser.crash().unwrap().addresses,
        [0x4200_a3b2, 0x4200_7d1e, 0x4200_7d16]
    );
}

#[test]
fn watchdogs_and_the_supply_are_told_apart() {
    let (recogniser, signs) = read(
        "E (10303) task_wdt: Task watchdog got triggered. The following tasks/users did not reset the watchdog in time:\n\
         rst:0x7 (TG0WDT_SYS_RST),boot:0xd (SPI_FAST_FLASH_BOOT)\n\
         rst:0x10 (RTCWDT_RTC_RST),boot:0xd (SPI_FAST_FLASH_BOOT)\n\
         Brownout detector was triggered\n\
         rst:0xf (BROWN_OUT_RST),boot:0xd (SPI_FAST_FLASH_BOOT)\n\
         rst:0x3 (RTC_SW_SYS_RST),boot:0xd (SPI_FAST_FLASH_BOOT)\n",
    );
    assert!(matches!(&signs[0], Sign::Watchdog(_)));
    assert_eq!(signs[1], reset("TG0WDT_SYS_RST", Cause::Watchdog));
    assert_eq!(signs[2], reset("RTCWDT_RTC_RST", Cause::Watchdog));
    assert!(matches!(&signs[3], Sign::BrownOut(_)));
    assert_eq!(signs[4], reset("BROWN_OUT_RST", Cause::BrownOut));
    assert_eq!(signs[5], reset("RTC_SW_SYS_RST", Cause::Software));
    assert!(recogniser.brown_out());
}

#[test]
fn the_third_turn_makes_a_loop() {
    let turn = "rst:0x3 (RTC_SW_SYS_RST),boot:0xd (SPI_FAST_FLASH_BOOT)\nmcp-device boot stage=reset reason=software\nmcp-device panic at a:1:1: x\n";
    let first =
        ROM.to_owned() + "mcp-device boot stage=reset reason=power-on\nmcp-device panic at a:1:1: x\n";
    for turns in 0..3 {
        assert!(
            !read(&(first.clone() + &turn.repeat(turns))).0.is_loop(),
            "{turns}"
        );
    }
    let (recogniser, _) = read(&(first + &turn.repeat(3)));
    assert!(recogniser.is_loop());
    assert_eq!(recogniser.reasons(), "RTC_SW_SYS_RST");
}

#[test]
fn a_loop_without_a_rom_counts_our_own_lines() {
    let (recogniser, _) = read(&"mcp-device boot stage=reset reason=watchdog\n".repeat(4));
    assert!(recogniser.is_loop());
    assert_eq!(recogniser.reasons(), "watchdog");
}

#[test]
fn an_image_that_cant_be_started_is_named() {
    for line in [
        "invalid header: 0xffffffff",
        "ets_main.c 333",
        "E (46) boot: No bootable app partitions in the partition table",
        "E (120) esp_image: Image hash failed - image is corrupt",
        "E (31) esp_image: Checksum failed. Calculated 0x3b read 0x3a",
    ] {
        let (recogniser, signs) = read(line);
        assert_eq!(signs, [Sign::BadImage(line.to_owned())]);
        assert_eq!(recogniser.bad_image(), Some(line));
    }
}

#[test]
fn ordinary_text_is_no_sign() {
    for line in [
        "",
        "I (61) boot: Disabling RNG early entropy source...",
        "mcp-device warning: configuration: no network is named",
        "mcp-device boot stage=mac mac=60:55:f9:00:00:01",
        "the first reset: never",
        "0x42001c34",
    ] {
        let (recogniser, signs) = read(line);
        assert_eq!((signs, recogniser.crash()), (vec![], None), "{line}");
    }
}
