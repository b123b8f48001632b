//! Files that NumPy wrote: `packed.npz` by `savez_compressed`, `stored.npz` by `savez`.

use std::path::{Path, PathBuf};

use rtv_runtime::io;
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Value, cast};
use rtv_semantics::tensor::Tensor;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy").join(name)
}

/// `numpy.arange(6).reshape(2, 3).astype(dtype)`
fn counted(dtype: DType) -> Tensor {
    let element = |i| cast(Domain::Ieee, DType::I64, dtype, &Value::Int(i)).expect("in range");
    Tensor::new(dtype, &[2, 3], (0..6).map(element).collect()).expect("six elements")
}

#[test]
fn every_dtype_and_layout_is_read() {
    let cases = [
        ("b1", DType::Bool),
        ("u1", DType::U8),
        ("i1", DType::I8),
        ("i2", DType::I16),
        ("i4", DType::I32),
        ("i8", DType::I64),
        ("f2", DType::F16),
        ("f4", DType::F32),
        ("f8", DType::F64),
        ("columns", DType::F32),
        ("big", DType::I32),
    ];
    for (key, dtype) in cases {
        let tensor = io::read(&file("packed.npz"), Some(key)).expect(key);
        assert_eq!(tensor.same(&counted(dtype)), Some(true), "{key}: {tensor:?}");
    }
    let empty = io::read(&file("packed.npz"), Some("empty.npy")).expect("empty");
    assert_eq!((empty.dtype, empty.shape()), (DType::F32, &[2, 0, 3][..]));
    let scalar = io::read(&file("packed.npz"), Some("scalar")).expect("scalar");
    let tenth = Tensor::from_f64(DType::F64, &[], &[0.1]).expect("one element");
    assert_eq!(scalar.same(&tenth), Some(true));
}

#[test]
fn stored_members_are_read_and_complex_numbers_refused() {
    let tensor = io::read(&file("stored.npz"), Some("x")).expect("x");
    assert_eq!(tensor.same(&counted(DType::F32)), Some(true));
    let why = io::read(&file("stored.npz"), Some("complex")).expect_err("complex");
    assert_eq!(why.code, io::UNSUPPORTED);
}
