//! Linear infeasibility over the rationals, in exact arithmetic.
//!
//! A system `sum_j a_ij x_j + c_i >= 0` has no solution exactly when nonnegative
//! multipliers `y` exist with `sum_i y_i a_ij <= 0` for every nonnegative unknown,
//! `= 0` for every other one, and `sum_i y_i c_i < 0` (Farkas). The multipliers form
//! a cone, so the simplex method starts at its apex and ends at a ray or at none.

use num_integer::Integer;
use std::cell::Cell;

/// Work left for one question; a unit is about one step of arithmetic.
pub(crate) struct Fuel(Cell<u64>);

impl Fuel {
    pub(crate) fn new(units: u64) -> Fuel {
        Fuel(Cell::new(units))
    }

    /// Whether there was enough.
    pub(crate) fn spend(&self, units: usize) -> bool {
        let left = self.0.get().checked_sub(units as u64);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// `sum coefficient * unknown + constant >= 0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// Pairs of unknown and coefficient, each unknown at most once.
    pub coefficients: Vec<(usize, i128)>,
    pub constant: i128,
}

impl Row {
    /// Divides by the content; over the integers the constant rounds down.
    pub fn tightened(mut self) -> Row {
        let content = self.coefficients.iter().fold(0, |g: i128, (_, c)| g.gcd(c));
        if content > 1 {
            self.coefficients.iter_mut().for_each(|(_, c)| *c /= content);
            self.constant = Integer::div_floor(&self.constant, &content);
        }
        self
    }
}

/// Steps of the simplex method before giving up.
const PIVOTS: usize = 400;
/// Steps that take the steepest direction; later ones follow Bland's rule, which
/// cannot cycle.
const STEEP: usize = 40;

/// Whether no assignment satisfies all rows; unknown `j` is `>= 0` where `natural[j]`.
/// `false` also where a limit or a 128-bit overflow is met.
pub(crate) fn infeasible(rows: &[Row], natural: &[bool], fuel: &Fuel) -> bool {
    fuel.spend(rows.len() * natural.len()) && Dictionary::new(rows, natural).find_ray(fuel).unwrap_or(false)
}

/// Every basic variable as a linear form in the nonbasic ones, up to a positive
/// factor. All constants are zero, so only signs matter and factors may be dropped.
struct Dictionary {
    forms: Vec<Vec<i128>>,
    /// What is to become negative.
    goal: Vec<i128>,
    /// Labels of rows and columns, for Bland's rule.
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
}

impl Dictionary {
    fn new(rows: &[Row], natural: &[bool]) -> Dictionary {
        let mut forms = Vec::new();
        for (unknown, natural) in natural.iter().enumerate() {
            let form: Vec<i128> = rows
                .iter()
                .map(|row| row.coefficients.iter().filter(|(u, _)| *u == unknown).map(|t| -t.1).sum())
                .collect();
            if !natural {
                forms.push(form.iter().map(|c: &i128| -c).collect());
            }
            forms.push(form);
        }
        let count = rows.len();
        Dictionary {
            basic: (count..count + forms.len()).collect(),
            nonbasic: (0..count).collect(),
            goal: rows.iter().map(|row| row.constant).collect(),
            forms,
        }
    }

    /// `None` on overflow or too many steps.
    fn find_ray(&mut self, fuel: &Fuel) -> Option<bool> {
        for step in 0..PIVOTS {
            let falling = (0..self.goal.len()).filter(|e| self.goal[*e] < 0);
            let entering = if step < STEEP {
                falling.min_by_key(|e| (self.goal[*e], self.nonbasic[*e]))
            } else {
                falling.min_by_key(|e| self.nonbasic[*e])
            };
            let Some(entering) = entering else {
                return Some(false);
            };
            let blocking = (0..self.forms.len()).filter(|r| self.forms[*r][entering] < 0);
            let Some(leaving) = blocking.min_by_key(|r| self.basic[*r]) else {
                return Some(true);
            };
            if !fuel.spend(self.goal.len() * (self.forms.len() + 1)) {
                return None;
            }
            self.pivot(leaving, entering)?;
        }
        None
    }

    fn pivot(&mut self, leaving: usize, entering: usize) -> Option<()> {
        let mut row = self.forms[leaving].clone();
        let scale = row[entering].checked_neg()?;
        // scale * entering = row without it - leaving
        row[entering] = -1;
        let replace = |form: &mut Vec<i128>| -> Option<()> {
            let factor = form[entering];
            if factor == 0 {
                return Some(());
            }
            form[entering] = 0;
            for (c, r) in form.iter_mut().zip(&row) {
                *c = c.checked_mul(scale)?.checked_add(factor.checked_mul(*r)?)?;
            }
            reduce(form);
            Some(())
        };
        replace(&mut self.goal)?;
        for (k, form) in self.forms.iter_mut().enumerate() {
            if k != leaving {
                replace(form)?;
            }
        }
        reduce(&mut row);
        self.forms[leaving] = row;
        std::mem::swap(&mut self.basic[leaving], &mut self.nonbasic[entering]);
        Some(())
    }
}

fn reduce(form: &mut [i128]) {
    let mut content: i128 = 0;
    for c in form.iter().filter(|c| **c != 0) {
        content = content.gcd(c);
        if content == 1 {
            return;
        }
    }
    if content > 1 {
        form.iter_mut().for_each(|c| *c /= content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuted(rows: &[Row], natural: &[bool]) -> bool {
        infeasible(rows, natural, &Fuel::new(1000))
    }

    fn row(coefficients: &[(usize, i128)], constant: i128) -> Row {
        Row { coefficients: coefficients.to_vec(), constant }
    }

    #[test]
    fn contradictions_are_found() {
        // x >= 3 and x <= 2
        assert!(refuted(&[row(&[(0, 1)], -3), row(&[(0, -1)], 2)], &[false]));
        // x <= -1 for a natural x
        assert!(refuted(&[row(&[(0, -1)], -1)], &[true]));
        // x + y <= 1, x >= 1, y >= 1
        let rows = [row(&[(0, -1), (1, -1)], 1), row(&[(0, 1)], -1), row(&[(1, 1)], -1)];
        assert!(refuted(&rows, &[false, false]));
    }

    #[test]
    fn solvable_systems_stay() {
        assert!(!refuted(&[row(&[(0, -1)], -1)], &[false]));
        assert!(!refuted(&[row(&[(0, 2)], -1), row(&[(0, -2)], 1)], &[true]));
        assert!(!refuted(&[], &[]));
    }

    #[test]
    fn rows_tighten_to_integers() {
        assert_eq!(row(&[(0, 2)], -1).tightened(), row(&[(0, 1)], -1));
    }
}
