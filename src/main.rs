//! The program `rtv`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rtv::cli::main()
}
