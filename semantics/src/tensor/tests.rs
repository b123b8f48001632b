//! Tensors: construction, bytes, comparison, and printing as PyTorch prints.

use proptest::prelude::*;

use super::*;
use crate::sample::{Sampler, Style};

use DType::*;

fn floats(dtype: DType, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_f64(dtype, shape, values).expect("as many values as the shape asks for")
}

fn ints(dtype: DType, shape: &[usize], values: &[i64]) -> Tensor {
    Tensor::from_i64(dtype, shape, values).expect("values of the dtype")
}

/// `arange(n)` of i64 in this shape.
fn arange(shape: &[usize]) -> Tensor {
    let count = element_count(shape).expect("a small shape") as i64;
    ints(I64, shape, &(0..count).collect::<Vec<_>>())
}

#[test]
fn construction_checks_count_and_elements() {
    let wrong = Tensor::new(F32, &[2], vec![Value::Float(1.0)]);
    assert_eq!(wrong.err(), Some(TensorError::Count { expected: 2, given: 1 }));
    assert!(Tensor::from_i64(I8, &[1], &[128]).is_err());
    assert!(Tensor::new(F16, &[], vec![Value::Float(0.1)]).is_err());
    assert!(Tensor::new(F32, &[], vec![Value::Int(1)]).is_err());
    assert!(Tensor::new(Bool, &[], vec![Value::BOTTOM]).is_ok());
    let zeros = Tensor::zeros(BF16, &[3, 0], Domain::Ieee).expect("an empty tensor");
    assert_eq!((zeros.shape(), zeros.numel()), (&[3, 0][..], 0));
    assert_eq!(Tensor::zeros(I8, &[usize::MAX, 2], Domain::Ieee).err(), Some(TensorError::TooLarge));
    assert_eq!(element_count(&[usize::MAX, 2, 0]), Some(0));
    assert_eq!(Tensor::from_bool(&[1; 65], &[true]).err(), Some(TensorError::Rank(65)));
    assert_eq!(floats(F32, &[2, 1], &[1.0, 2.0]).type_text(), "f32[2, 1]");
}

proptest! {
    #[test]
    fn bytes_and_back(seed: u64, dtype in proptest::sample::select(DType::ALL.to_vec()), n in 0usize..6) {
        let tensor = Sampler::new(seed).tensor(dtype, &[n, 2], Style::Specials).expect("a tensor");
        let bytes = tensor.to_le_bytes().expect("IEEE elements");
        prop_assert_eq!(bytes.len(), 2 * n * (dtype.bits() as usize).div_ceil(8));
        let back = Tensor::from_le_bytes(dtype, &[n, 2], &bytes).expect("as many bytes");
        prop_assert_eq!(tensor.same(&back), Some(true));
    }
}

#[test]
fn bytes_are_little_endian() {
    assert_eq!(ints(I16, &[2], &[-2, 258]).to_le_bytes(), Ok(vec![0xfe, 0xff, 2, 1]));
    assert_eq!(floats(F16, &[1], &[1.0]).to_le_bytes(), Ok(vec![0, 0x3c]));
    assert_eq!(floats(BF16, &[1], &[-2.0]).to_le_bytes(), Ok(vec![0, 0xc0]));
    assert_eq!(floats(F32, &[1], &[1.0]).to_le_bytes(), Ok(vec![0, 0, 0x80, 0x3f]));
    assert!(floats(F32, &[1], &[1.0]).to_exact().to_le_bytes().is_err());
    assert!(Tensor::from_le_bytes(F32, &[2], &[0; 7]).is_err());
}

#[test]
fn sameness_is_of_bits() {
    let x = floats(F32, &[3], &[0.0, f64::NAN, 1.0]);
    assert_eq!(x.same(&x), Some(true));
    let y = floats(F32, &[3], &[-0.0, f64::NAN, 1.0]);
    assert_eq!(x.same(&y), Some(false));
    assert_eq!(x.first_difference(&y), Some(vec![0]));
    assert_eq!(x.same(&floats(F64, &[3], &[0.0, f64::NAN, 1.0])), Some(false));
    assert_eq!(x.same(&floats(F32, &[3, 1], &[0.0, f64::NAN, 1.0])), Some(false));
    let exact = y.to_exact();
    assert_eq!(x.to_exact().same(&exact), Some(true));
    assert_eq!(x.to_exact().to_ieee().same(&x), Some(true));
}

#[test]
fn closeness_and_last_places() {
    let x = floats(F32, &[2, 2], &[1.0, 100.0, f64::INFINITY, f64::NAN]);
    let next = f64::from(1.0f32.next_up().next_up());
    let y = floats(F32, &[2, 2], &[next, 100.0, f64::INFINITY, f64::NAN]);
    assert!(x.close(&y, 1e-6, 0.0) && !x.close(&y, 1e-7, 0.0) && x.close(&y, 0.0, 1e-6));
    assert_eq!(x.worst(&y), Some(Worst { ulp: 2, index: vec![0, 0] }));
    let z = floats(F32, &[2, 2], &[1.0, 100.0, 1.0, f64::NAN]);
    assert!(!x.close(&z, 1.0, 1.0) && !z.close(&x, 1.0, 1.0));
    let nan = floats(F32, &[2, 2], &[1.0, f64::NAN, f64::INFINITY, f64::NAN]);
    assert!(!x.close(&nan, 1.0, 1.0));
    assert_eq!(x.worst(&nan), Some(Worst { ulp: u64::MAX, index: vec![0, 1] }));
    assert!(x.to_exact().close(&y.to_exact(), 1e-6, 0.0));
    assert!(!x.to_exact().close(&y.to_exact(), 1e-8, 0.0));
    assert!(ints(I64, &[1], &[i64::MAX]).close(&ints(I64, &[1], &[i64::MAX]), 0.0, 0.0));
    assert!(!ints(I64, &[1], &[i64::MIN]).close(&ints(I64, &[1], &[i64::MAX]), 0.5, 0.0));
}

fn shows(tensor: &Tensor, expected: &str) {
    assert_eq!(tensor.to_string(), expected);
}

#[test]
fn short_tensors_print_on_one_line() {
    shows(&floats(F32, &[2], &[1.0, 2.0]), "tensor([1., 2.])");
    shows(&floats(F32, &[2], &[1.5, -2.25]), "tensor([ 1.5000, -2.2500])");
    shows(&floats(F32, &[], &[3.0]), "tensor(3.)");
    shows(&floats(F32, &[], &[0.1]), "tensor(0.1000)");
    shows(&ints(I64, &[3], &[1, -20, 3]), "tensor([  1, -20,   3])");
    shows(&Tensor::from_bool(&[2], &[true, false]).expect("bools"), "tensor([ True, False])");
    shows(&floats(F32, &[1], &[-0.0]), "tensor([-0.])");
}

#[test]
fn other_dtypes_are_named() {
    shows(&floats(F16, &[1], &[1.0]), "tensor([1.], dtype=f16)");
    shows(&floats(F64, &[], &[0.5]), "tensor(0.5000, dtype=f64)");
    shows(&ints(U8, &[2], &[1, 2]), "tensor([1, 2], dtype=u8)");
}

#[test]
fn empty_tensors_show_their_size() {
    shows(&floats(F32, &[0], &[]), "tensor([])");
    shows(&floats(F32, &[0, 3], &[]), "tensor([], size=(0, 3))");
    shows(&ints(I64, &[0], &[]), "tensor([], dtype=i64)");
    shows(&ints(I8, &[2, 0], &[]), "tensor([], size=(2, 0), dtype=i8)");
}

#[test]
fn rows_are_lines_and_matrices_are_apart() {
    shows(&arange(&[2, 3]), "tensor([[0, 1, 2],\n        [3, 4, 5]])");
    shows(&arange(&[2, 2, 2]), "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
}

#[test]
fn infinities_and_nan_stand_among_numbers() {
    let all = [1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    shows(&floats(F32, &[4], &all), "tensor([1., inf, -inf, nan])");
    let mixed = [1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    shows(&floats(F32, &[4], &mixed), "tensor([1.5000,    inf,   -inf,    nan])");
    shows(&floats(F32, &[2], &[f64::NAN, 0.0]), "tensor([nan, 0.])");
}

#[test]
fn far_magnitudes_use_scientific_notation() {
    shows(&floats(F32, &[2], &[1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])");
    shows(&floats(F32, &[2], &[1.0, 1e9]), "tensor([1.0000e+00, 1.0000e+09])");
    shows(&floats(F32, &[2], &[1.0, 1000.0]), "tensor([   1., 1000.])");
    shows(&floats(F64, &[1], &[1e-300]), "tensor([1.0000e-300], dtype=f64)");
    shows(&floats(F32, &[2], &[1e-5, f64::NAN]), "tensor([1.0000e-05,        nan])");
}

#[test]
fn long_rows_wrap_at_eighty_columns() {
    shows(
        &arange(&[30]),
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n        \
         18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])",
    );
    let shorts = floats(F16, &[12], &[0.5; 12]);
    shows(
        &shorts,
        "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000,\n        \
         0.5000, 0.5000, 0.5000], dtype=f16)",
    );
    let nine = floats(F16, &[9], &[0.5; 9]);
    shows(
        &nine,
        "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000],\n       \
         dtype=f16)",
    );
}

#[test]
fn more_than_a_thousand_elements_are_summarized() {
    shows(&arange(&[1001]), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
    shows(
        &arange(&[7, 150]),
        "tensor([[   0,    1,    2,  ...,  147,  148,  149],\n        \
         [ 150,  151,  152,  ...,  297,  298,  299],\n        \
         [ 300,  301,  302,  ...,  447,  448,  449],\n        \
         ...,\n        \
         [ 600,  601,  602,  ...,  747,  748,  749],\n        \
         [ 750,  751,  752,  ...,  897,  898,  899],\n        \
         [ 900,  901,  902,  ..., 1047, 1048, 1049]])",
    );
    // The format is chosen from what is shown: 0.5 in the middle is not.
    let mut values = vec![1.0; 1001];
    values[500] = 0.5;
    shows(&floats(F32, &[1001], &values), "tensor([1., 1., 1.,  ..., 1., 1., 1.])");
}

#[test]
fn exact_tensors_print_as_numbers() {
    let third = crate::scalar::Exact::rational(num_rational::BigRational::new(1.into(), 3.into()));
    let third = Value::Exact(third.expect("a small number"));
    shows(
        &Tensor::new(F32, &[2], vec![third, Value::BOTTOM]).expect("two values"),
        "tensor([0.3333,    nan])",
    );
}
