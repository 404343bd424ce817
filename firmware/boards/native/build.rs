//! Gives the program a GNU build id, by which a test knows which build it talks to.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,--build-id=sha1");
}
