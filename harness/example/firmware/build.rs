//! Names the linker scripts, so that a plain `cargo build` is all it takes.

fn main() {
    println!("cargo::rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
    for argument in ["-Tmemory.x", "-Tlink.x", "-Tbuild-id.x", "--build-id=sha1"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    println!("cargo::rerun-if-changed=memory.x");
    println!("cargo::rerun-if-changed=build-id.x");
}
