//! What is flashed is there, all of it, once.

use crate::{Bench, MAC, read};

#[test]
fn an_image_is_written_verified_and_the_second_time_skipped() {
    let bench = Bench::new();
    bench.write_image(200_001);
    let first = bench.flash(&[]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let lines: Vec<_> = first.stdout.lines().collect();
    assert!(
        lines[0].starts_with(&format!("bench-1  esp32c3 v0.3  {MAC}  ")),
        "{first:?}"
    );
    assert_eq!(
        first.stdout.matches("written and verified").count(),
        3,
        "{first:?}"
    );
    assert!(first.stdout.contains("at 2000000 baud"), "{first:?}");
    let app = read(&bench.path("app.bin"));
    let flash = bench.flash_content();
    assert_eq!(flash[..20_000], app[..20_000]);
    assert_eq!(flash[0x10000..0x10000 + app.len()], app);
    assert_eq!(flash[0x8000..0x8002], [0xaa, 0x50]);
    let second = bench.flash(&[]);
    assert_eq!(
        second.stdout.matches("unchanged, not written").count(),
        3,
        "{second:?}"
    );
    assert!(second.stdout.contains("nothing was written"), "{second:?}");
    let forced = bench.flash(&["--force"]);
    assert_eq!(
        forced.stdout.matches("written and verified").count(),
        3,
        "{forced:?}"
    );
}

#[test]
fn what_is_read_back_is_what_is_there() {
    let bench = Bench::new();
    bench.write_image(70_000);
    assert_eq!(bench.flash(&[]).code, Some(0));
    let ran = bench.run(&["read-flash", "bench-1", "back.bin", "--region", "0x10000,70000"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(read(&bench.path("back.bin")), read(&bench.path("app.bin")));
    let ran = bench.run(&["erase", "--region", "0x10000,0x1000"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let flash = bench.flash_content();
    assert!(flash[0x10000..0x11000].iter().all(|byte| *byte == 0xff));
    assert_eq!(
        flash[0x11000..0x12000],
        read(&bench.path("app.bin"))[0x1000..0x2000]
    );
    assert_eq!(bench.run(&["erase"]).code, Some(0));
    assert!(bench.flash_content().iter().all(|byte| *byte == 0xff));
}

#[test]
fn a_configuration_reaches_its_sector_and_is_shown_nowhere() {
    let bench = Bench::new();
    bench.write_image(30_000);
    bench.write(
        "wifi.json",
        r#"{"wifi": {"ssid": "S3CRETnet", "password": "S3CRETword"}}"#,
    );
    let ran = bench.flash(&["--config", "wifi.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("configuration"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("S3CRET"), "{ran:?}");
    let sector = bench.flash_content()[0x9000..0xa000].to_vec();
    assert_eq!(&sector[..4], b"MCPC");
    assert_eq!(&sector[14..23], b"S3CRETnet");
    // without one the board keeps what it has
    assert_eq!(bench.flash(&["--force"]).code, Some(0));
    assert_eq!(bench.flash_content()[0x9000..0xa000], sector);
    let mut command = bench.command(&["config", "bench-1"]);
    let output = command.env("MCP_HIL_HOSTNAME", "window").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(&bench.flash_content()[0x900c..0x9014], b"\x03\x06window");
}

#[test]
fn what_no_board_takes_is_refused_before_one_is_touched() {
    let bench = Bench::new();
    bench.write_image(30_000);
    let before = bench.flash_content();
    bench.write("text.bin", "#!/bin/sh");
    let mut other = read(&bench.path("app.bin"));
    other[12] = 13;
    bench.write("c6.bin", other);
    for (words, code, said) in [
        (&["flash", "text.bin"][..], 2, "it is no ELF file"),
        (&["flash", "none.bin"], 2, "No such file"),
        (
            &["flash", "c6.bin", "--partitions", "partitions.csv"],
            3,
            "wrong-chip: the image is for esp32c6",
        ),
        (&["flash", "app.bin"], 2, "no partition table yet"),
        (
            &["flash", "other-board", "app.bin"],
            2,
            "no board \"other-board\"",
        ),
        (&["flash", "--any", "chip=esp32h2", "app.bin"], 2, "is an esp32h2"),
        (&["config"], 2, "no configuration"),
        (&["erase", "--region", "0x10,0x1000"], 2, "erased by sectors"),
        (
            &["read-flash", "x", "--region", "0x400000,1"],
            2,
            "not within the flash",
        ),
    ] {
        let ran = bench.run(words);
        assert_eq!(ran.code, Some(code), "{words:?} {ran:?}");
        assert!(ran.stderr.contains(said), "{words:?} {ran:?}");
    }
    assert_eq!(bench.flash_content(), before);
}
