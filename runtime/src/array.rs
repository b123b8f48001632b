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

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)
    }
}
