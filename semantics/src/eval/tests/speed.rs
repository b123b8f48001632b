use super::build::*;
use crate::eval::Env;
use crate::scalar::Scalar;
use crate::term::Monoid;
#[test]
fn speed() {
    for n in [64i64, 128] {
        let x = crate::sample::Sampler::new(1)
            .randn(F32, &[n as usize, n as usize])
            .unwrap();
        let (sm, vx, vy) = (sym("M"), var("x"), var("y"));
        let (tx, ty) = (
            use_var(&vx, F32, &[s(&sm), s(&sm)]),
            use_var(&vy, F32, &[s(&sm), s(&sm)]),
        );
        let (i, j, l) = (index("i"), index("j"), index("l"));
        let product = f(
            Scalar::Mul,
            &[read(&tx, &[s(&i), s(&l)]), read(&ty, &[s(&l), s(&j)])],
        );
        let sum = reduce(Monoid::Sum, vec![over(&l, s(&sm))], product);
        let term = comp(vec![over(&i, s(&sm)), over(&j, s(&sm))], sum);
        let env = Env::new()
            .with_size(&sm, n)
            .with_tensor(&vx, x.clone())
            .with_tensor(&vy, x.clone());
        let t = std::time::Instant::now();
        tensor(&term, &env);
        let d = t.elapsed();
        println!("matmul {n}: {d:?} {:?} per inner", d / (n * n * n) as u32);
        let t = std::time::Instant::now();
        let env = Env::new()
            .with_size(&sm, n)
            .with_tensor(&vx, x.to_exact())
            .with_tensor(&vy, x.to_exact());
        exact(&term, &env);
        println!("exact {:?}", t.elapsed());
    }
}
