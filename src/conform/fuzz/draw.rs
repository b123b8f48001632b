//! Random programs: inputs first, then steps whose operands fit.

use rtv_semantics::dtype::DType;
use rtv_semantics::sample::{Sampler, Style, specials};
use rtv_semantics::scalar::Value as Element;
use rtv_semantics::tensor::Tensor;

use super::operators::{FAMILIES, Family};
use super::value::{Known, Outcome, step};
use super::{Node, Own, Program, Step};
use crate::conform::Ours;

/// Steps of a program, at most.
const MAX_STEPS: usize = 20;
/// Elements of one value, at most.
const MAX_ELEMENTS: usize = 10_000;
/// Draws for one step that do not fit, at most.
const MAX_DRAWS: usize = 12;

/// A program while it is drawn, with the values of the reference.
pub struct Draft<'a> {
    ours: &'a Ours,
    pub sampler: Sampler,
    /// Whether elements are such as programs go wrong at.
    hostile: bool,
    /// Whether axes are long enough for several blocks and threads.
    large: bool,
    program: Program,
    /// Of each node; of all but the last where that fails.
    values: Vec<Known>,
}

pub fn program(ours: &Ours, seed: u64) -> Program {
    let mut sampler = Sampler::new(seed);
    let (hostile, large) = (sampler.below(2) == 0, sampler.below(12) == 0);
    let (program, values) = (Program::default(), Vec::new());
    let mut draft = Draft { ours, sampler, hostile, large, program, values };
    draft.fill();
    draft.program
}

impl Draft<'_> {
    fn fill(&mut self) {
        let wanted = 1 + self.sampler.below(if self.large { 8 } else { MAX_STEPS });
        let dtype = self.dtype();
        let shape = self.shape();
        self.input(dtype, &shape);
        for _ in 0..wanted {
            let drawn = (0..MAX_DRAWS).any(|_| self.draw_step());
            if !drawn || self.ended() {
                break;
            }
        }
    }

    /// Whether the last step fails when it runs: nothing comes after it.
    fn ended(&self) -> bool {
        self.values.len() < self.program.nodes.len()
    }

    /// Whether a step was found that fits.
    fn draw_step(&mut self) -> bool {
        let family: Family = *self.sampler.pick(&FAMILIES).expect("invariant: there are families");
        let before = self.values.len();
        let found = family(self).is_some_and(|step| self.try_step(step));
        if !found {
            // Inputs that were made for it.
            self.program.nodes.truncate(before);
            self.values.truncate(before);
        }
        found
    }

    fn try_step(&mut self, one: Step) -> bool {
        let operands: Vec<&Known> = one.operands.iter().map(|value| &self.values[*value]).collect();
        match step(self.ours, &one, &operands) {
            Outcome::Value(known) if known.want.numel() <= MAX_ELEMENTS => self.values.push(*known),
            // An error ends a program, so not each that may is taken.
            Outcome::Fails(_) if self.sampler.below(4) == 0 => {}
            _ => return false,
        }
        self.program.nodes.push(Node::Step(one));
        true
    }

    /// A new input.
    pub fn input(&mut self, dtype: DType, shape: &[usize]) -> usize {
        let tensor = self.elements(dtype, shape);
        self.input_of(tensor)
    }

    pub fn input_of(&mut self, tensor: Tensor) -> usize {
        self.values.push(Known { want: tensor.clone(), error: None });
        self.program.nodes.push(Node::Input(tensor));
        self.values.len() - 1
    }

    fn elements(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let plain = [Style::SmallIntegers, Style::Normal, Style::Normal, Style::Distinct];
        let style = match self.hostile {
            true => Style::Specials,
            false => *self.sampler.pick(&plain).expect("invariant: there are styles"),
        };
        let mut tensor = self.sampler.tensor(dtype, shape, style).expect("invariant: a small tensor");
        if self.hostile && tensor.numel() > 0 && self.sampler.below(2) == 0 {
            // Few hostile elements among plain ones, so that more of them is seen of results.
            let mut elements: Vec<Element> = self
                .sampler
                .tensor(dtype, shape, Style::Normal)
                .expect("invariant: as before")
                .values()
                .cloned()
                .collect();
            let hostile = specials(dtype);
            for _ in 0..1 + elements.len() / 16 {
                let at = self.sampler.below(elements.len());
                elements[at] = self.sampler.pick(&hostile).cloned().expect("invariant: there are some");
            }
            tensor = Tensor::new(dtype, shape, elements).expect("invariant: as many elements");
        }
        tensor
    }

    /// Indices below an extent; of a hostile program now and then some that are not.
    pub fn indices(&mut self, shape: &[usize], extent: usize) -> usize {
        let count: usize = shape.iter().product();
        let wild = self.hostile && self.sampler.below(4) == 0;
        let most = extent.max(1) as i64 - 1;
        let mut elements: Vec<i64> = (0..count).map(|_| self.sampler.integer(0, most)).collect();
        if wild && count > 0 {
            let at = self.sampler.below(count);
            let odd = [-1, extent as i64, i64::MIN, i64::MAX];
            elements[at] = *self.sampler.pick(&odd).expect("invariant: there are some");
        }
        let tensor = Tensor::from_i64(DType::I64, shape, &elements).expect("invariant: as many elements");
        self.input_of(tensor)
    }

    pub fn dtype(&mut self) -> DType {
        // Those that kernels are made for come more often.
        let dtypes = [
            DType::F32,
            DType::F32,
            DType::F32,
            DType::F64,
            DType::F16,
            DType::BF16,
            DType::I64,
            DType::I32,
            DType::I16,
            DType::I8,
            DType::U8,
            DType::Bool,
        ];
        *self.sampler.pick(&dtypes).expect("invariant: there are dtypes")
    }

    pub fn extent(&mut self) -> usize {
        let extents = [0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 33];
        *self.sampler.pick(&extents).expect("invariant: there are extents")
    }

    pub fn shape(&mut self) -> Vec<usize> {
        let rank = [0, 1, 1, 2, 2, 2, 3, 3][self.sampler.below(8)];
        let mut shape: Vec<usize> = (0..rank).map(|_| self.extent()).collect();
        while shape.iter().product::<usize>() > 4096 {
            let at = self.sampler.below(rank);
            shape[at] = 2;
        }
        if self.large && rank > 0 {
            let long = [1023, 1024, 1025, 2049, 4096, 4100, 9000];
            let at = self.sampler.below(rank);
            let rest: usize = shape.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, n)| n).product();
            let fits: Vec<usize> = long.into_iter().filter(|n| n * rest <= MAX_ELEMENTS).collect();
            if let Some(extent) = self.sampler.pick(&fits) {
                shape[at] = *extent;
            }
        }
        shape
    }

    /// A value that fits, the later the likelier; a new input if there is none, and now and
    /// then anyway.
    pub fn value(&mut self, fits: impl Fn(&Tensor) -> bool) -> Option<usize> {
        let known: Vec<usize> = (0..self.values.len()).filter(|k| fits(&self.values[*k].want)).collect();
        if known.is_empty() {
            return None;
        }
        let last = known.len() - 1;
        let at = last - self.sampler.below(known.len()).min(self.sampler.below(known.len()));
        Some(known[at])
    }

    /// A value of this type, a new input if there is none.
    pub fn of(&mut self, dtype: DType, shape: &[usize]) -> usize {
        let fits = |t: &Tensor| t.dtype == dtype && t.shape() == shape;
        match self.sampler.below(3) {
            0 => None,
            _ => self.value(fits),
        }
        .unwrap_or_else(|| self.input(dtype, shape))
    }

    pub fn tensor(&self, value: usize) -> &Tensor {
        &self.values[value].want
    }

    /// An axis of the value and its extent, as it is written.
    pub fn axis(&mut self, value: usize) -> Option<(usize, usize)> {
        let rank = self.tensor(value).rank();
        let axis = (rank > 0).then(|| self.sampler.below(rank))?;
        Some((axis, self.tensor(value).shape()[axis]))
    }

    /// A number that fits the dtype, as it is written.
    pub fn number(&mut self, dtype: DType) -> String {
        let number = match dtype {
            DType::Bool => return ["true", "false"][self.sampler.below(2)].to_string(),
            DType::U8 => self.sampler.integer(0, 5),
            _ => self.sampler.integer(-3, 5),
        };
        match dtype.is_float() {
            true => format!("{:?}", number as f64 / 2.0),
            false => number.to_string(),
        }
    }
}

impl Own {
    /// So many epsilons of the result.
    pub fn of_result(count: usize) -> Own {
        Own::Epsilons(format!("abs(r) * {count}.0"))
    }
}
