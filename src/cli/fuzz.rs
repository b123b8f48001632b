//! `rtv fuzz`: random programs by the reference and by the CPU backend.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rtv_proofs::Stage;
use rtv_runtime::cpu::Settings;
use rtv_runtime::io;
use rtv_semantics::tensor::Tensor;

use super::effort::Effort;
use crate::conform::fuzz::{Fuzzer, Program, seed_of};
use crate::optimize::{Optimizing, RuleBook};
use crate::report::{Exit, Reporter};

/// Programs that differ are made small; after so many the run ends.
const MAX_FOUND: usize = 20;

#[derive(Args)]
pub struct Fuzz {
    /// Seed of the run; each program has one made of it and its number
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Programs to run, if the time is enough
    #[arg(long, value_name = "COUNT")]
    programs: Option<u64>,
    /// Seconds to run; 60 where no count is given
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// The number of the first program
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    from: u64,
    /// Optimize each program, bit for bit and over the reals: derivations are checked, and results compared
    #[arg(long)]
    optimize: bool,
    /// Where programs that differ are written
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    out: PathBuf,
}

impl Fuzz {
    pub fn run(&self, reporter: &mut Reporter) {
        if let Err(fault) = Settings::check() {
            return reporter.fault(&fault);
        }
        let seconds = self.seconds.or(self.programs.is_none().then_some(60.0));
        let limit = seconds.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
        let (started, fuzzer) = (Instant::now(), Fuzzer::default());
        let (mut programs, mut steps, mut found) = (0, 0, 0);
        let book = if self.optimize { RuleBook::shipped() } else { RuleBook::default() };
        let effort = Effort::usual();
        let checker = effort.checker(Stage::Proofs, effort.pool(), Box::new(|_| {}));
        let mut optimizing = self.optimize.then(|| Optimizing::new(&book, &checker));
        while self.programs.is_none_or(|most| programs < most)
            && limit.is_none_or(|limit| started.elapsed() < limit)
            && found < MAX_FOUND
        {
            let number = self.from + programs;
            let program = fuzzer.draw(seed_of(self.seed, number));
            programs += 1;
            steps += program.steps().count();
            if let Some(Err(wrong)) = optimizing.as_mut().map(|optimizing| optimizing.check(&program)) {
                found += 1;
                reporter.result(&format!("  differs  seed {} program {number}: {wrong}", self.seed));
                self.write(number, &program, reporter);
            }
            if let Some(difference) = fuzzer.difference(&program) {
                found += 1;
                let small = fuzzer.shrink(&program, &difference);
                let told = fuzzer.difference(&small).unwrap_or(difference);
                reporter.result(&format!("  differs  seed {} program {number}: {told}", self.seed));
                self.write(number, &small, reporter);
            }
        }
        if found > 0 {
            reporter.at_least(Exit::Refuted);
        }
        let seconds = started.elapsed().as_secs_f64();
        for (mode, changed) in optimizing.iter().flat_map(|optimizing| &optimizing.changed) {
            reporter.result(&format!("  {changed} programs got cheaper up to {mode}"));
        }
        reporter.result(&format!(
            "  {programs} programs of {steps} operators from seed {}: {found} differ   {seconds:.1} s",
            self.seed
        ));
    }

    /// The program as a file, its arguments beside it, and the command that runs it.
    fn write(&self, number: u64, program: &Program, reporter: &mut Reporter) {
        // Where it cannot be made, writing tells.
        let _ = std::fs::create_dir_all(&self.out);
        let stem = self.out.join(format!("fuzz-{}-{number}", self.seed));
        let named: Vec<(String, Tensor)> = program.named_inputs().collect();
        let arguments = stem.with_extension("safetensors");
        let tensors: Vec<(&str, &Tensor)> = named.iter().map(|(name, t)| (name.as_str(), t)).collect();
        if !tensors.is_empty()
            && let Err(fault) = io::write(&arguments, &tensors)
        {
            return reporter.fault(&fault);
        }
        let given: Vec<String> =
            named.iter().map(|(name, _)| format!(" --arg {name}={}:{name}", arguments.display())).collect();
        let file = stem.with_extension("rtl");
        let command = format!("rtv run {} case --backend cpu{}", file.display(), given.concat());
        let text = program.text().replacen('\n', &format!("\n# {command}\n"), 1);
        if let Err(why) = std::fs::write(&file, text) {
            let fact = format!("cannot write `{}`: {}", file.display(), io::reason(&why));
            return reporter.fault(&io::placeless(io::UNWRITABLE, fact));
        }
        reporter.result(&format!("    {command}"));
    }
}
