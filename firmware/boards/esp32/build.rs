//! Names the linker scripts, so that a plain `cargo build` is all it takes.

use std::env;

fn main() {
    let here = env!("CARGO_MANIFEST_DIR");
    println!("cargo::rustc-link-search={here}");
    link_by(&["-Tlinkall.x", "-Tbuild-id.x", "--build-id=sha1"]);
    if env::var_os("CARGO_FEATURE_ESP32C3").is_some() {
        link_by(&["-Tbuild-id-esp32c3.x"]);
    }
    println!("cargo::rerun-if-changed=build-id.x");
    println!("cargo::rerun-if-changed=build-id-esp32c3.x");
}

fn link_by(arguments: &[&str]) {
    for argument in arguments {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
