//! Starts boards and runs a program beside them: `boards ELF N IMPAIRMENT [PROGRAM [ARGUMENT]…]`, for example
//! `boards mcp-device-virt 2 loss=10%,delay=20ms sh`. Frames are captured to the file named by `PCAP`.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::path::PathBuf;
    use std::time::Duration;

    use mcp_hil_virtual_board::{BoardOptions, Options, VirtualNetwork};

    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [elf, count, impairment, command @ ..] = arguments.as_slice() else {
        return Err("usage: boards ELF N IMPAIRMENT [PROGRAM [ARGUMENT]…]".into());
    };
    let boards = count.to_string_lossy().parse()?;
    let capture = std::env::var_os("PCAP").map(PathBuf::from);
    let network = VirtualNetwork::enter(&Options {
        boards,
        capture,
        ..Options::default()
    })?;
    network.impair_all(impairment.to_string_lossy().parse()?);

    let start = |board| network.start_board(board, elf.as_ref(), &BoardOptions::default());
    let running = (0..boards).map(start).collect::<Result<Vec<_>, _>>()?;
    for board in &running {
        let serving = board.wait_until_serving(Duration::from_secs(20))?;
        let outside = network.relay_url(board.number())?;
        println!(
            "board {}: inside {}, outside {outside}, serving after {:.3?}",
            board.number(),
            serving.url,
            serving.after
        );
    }
    if let Some((program, arguments)) = command.split_first() {
        network.run_inside(program, arguments)?;
    }
    for board in &running {
        println!(
            "board {}: {:?}",
            board.number(),
            network.counters(board.number())?
        );
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("virtual boards need Linux: network namespaces and TAP");
}
