//! Tensors as bytes, for backends.

use std::sync::Arc;

use rtv_semantics::dtype::DType;
use rtv_semantics::tensor::{Tensor, TensorError};

use crate::cpu::memory::Memory;
use crate::loops::ArrayDecl;

/// Row-major elements in the machine's own byte order; cloning shares them.
#[derive(Clone)]
pub struct Array {
    pub dtype: DType,
    pub shape: Vec<usize>,
    memory: Arc<Memory>,
}

impl Array {
    pub(crate) fn over(decl: &ArrayDecl, memory: Arc<Memory>) -> Array {
        Array { dtype: decl.dtype, shape: decl.shape.clone(), memory }
    }

    /// The array of these bytes.
    ///
    /// # Errors
    /// When there are not as many as dtype and shape ask for.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Array, TensorError> {
        let decl = ArrayDecl { dtype, shape: shape.to_vec() };
        if decl.bytes() != bytes.len() {
            return Err(TensorError::Count { expected: decl.bytes(), given: bytes.len() });
        }
        let memory = Memory::new(bytes.len());
        // SAFETY: the memory is new and holds as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.pointer(), bytes.len()) };
        Ok(Array::over(&decl, Arc::new(memory)))
    }

    /// As [`Array::from_bytes`], of bytes that somebody else wrote.
    ///
    /// # Errors
    /// As there.
    pub fn from_foreign(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Array, TensorError> {
        let array = Array::from_bytes(dtype, shape, bytes)?;
        // SAFETY: the memory is new and holds as many bytes.
        settle(dtype, unsafe { std::slice::from_raw_parts_mut(array.pointer(), bytes.len()) });
        Ok(array)
    }

    /// The bytes as they are written to files: all NaNs are one.
    pub fn settled_bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes().to_vec();
        settle(self.dtype, &mut bytes);
        bytes
    }

    /// # Errors
    /// When an element is exact: it has no bytes.
    pub fn from_tensor(tensor: &Tensor) -> Result<Array, TensorError> {
        Array::from_bytes(tensor.dtype, tensor.shape(), &tensor.to_le_bytes()?)
    }

    pub fn to_tensor(&self) -> Tensor {
        let tensor = Tensor::from_le_bytes(self.dtype, &self.shape, self.bytes());
        tensor.expect("invariant: an array has the bytes of its shape")
    }

    pub fn decl(&self) -> ArrayDecl {
        ArrayDecl { dtype: self.dtype, shape: self.shape.clone() }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the memory holds the elements, and nobody writes to it while an array
        // shares it.
        unsafe { std::slice::from_raw_parts(self.memory.pointer(), self.decl().bytes()) }
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.memory.pointer()
    }
}

/// Makes any NaN the one NaN, and any bool 0 or 1: what tensors of the reference hold.
fn settle(dtype: DType, bytes: &mut [u8]) {
    /// The bits after the sign: above those of infinity is a NaN.
    macro_rules! one_nan {
        ($bits:ty, $infinity:expr, $nan:expr) => {
            for element in bytes.chunks_exact_mut(size_of::<$bits>()) {
                let mut own = [0; size_of::<$bits>()];
                own.copy_from_slice(element);
                if <$bits>::from_le_bytes(own) & (<$bits>::MAX >> 1) > $infinity {
                    element.copy_from_slice(&<$bits>::to_le_bytes($nan));
                }
            }
        };
    }
    match dtype {
        DType::Bool => bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
        DType::F16 => one_nan!(u16, 0x7c00, 0x7e00),
        DType::BF16 => one_nan!(u16, 0x7f80, 0x7fc0),
        DType::F32 => one_nan!(u32, f32::INFINITY.to_bits(), f32::NAN.to_bits()),
        DType::F64 => one_nan!(u64, f64::INFINITY.to_bits(), f64::NAN.to_bits()),
        DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => {}
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)
    }
}
