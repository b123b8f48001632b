//! Elements as little-endian bytes, the layout of files and of other backends.

use half::{bf16, f16};

use super::{Tensor, TensorError, element_count};
use crate::dtype::DType;
use crate::scalar::Value;

/// Bytes of one stored element.
pub(super) fn width(dtype: DType) -> usize {
    (dtype.bits() as usize).div_ceil(8)
}

impl Tensor {
    /// Row-major elements; exact values have no bytes.
    pub fn to_le_bytes(&self) -> Result<Vec<u8>, TensorError> {
        let mut bytes = Vec::with_capacity(self.numel() * width(self.dtype));
        for value in self.values() {
            push(self.dtype, value, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Any NaN becomes the one NaN; a bool byte other than 0 is true.
    pub fn from_le_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Tensor, TensorError> {
        let count = element_count(shape).ok_or(TensorError::TooLarge)?;
        let expected = count.checked_mul(width(dtype)).ok_or(TensorError::TooLarge)?;
        if expected != bytes.len() {
            return Err(TensorError::Count { expected, given: bytes.len() });
        }
        let values = bytes.chunks_exact(width(dtype)).map(|chunk| element(dtype, chunk)).collect();
        Tensor::trusted(dtype, shape, values)
    }
}

fn push(dtype: DType, value: &Value, into: &mut Vec<u8>) -> Result<(), TensorError> {
    let misfit = || TensorError::Element { value: value.to_string(), dtype };
    match dtype {
        DType::Bool => into.push(value.as_bool().ok_or_else(misfit)?.into()),
        // Two's complement: the low bytes of the i64 are the narrower integer.
        DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
            let int = value.as_int().ok_or_else(misfit)?;
            into.extend_from_slice(&int.to_le_bytes()[..width(dtype)]);
        }
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => {
            let x = value.as_float().ok_or_else(misfit)?;
            match dtype {
                DType::F16 => into.extend_from_slice(&f16::from_f64(x).to_le_bytes()),
                DType::BF16 => into.extend_from_slice(&bf16::from_f64(x).to_le_bytes()),
                DType::F32 => into.extend_from_slice(&(x as f32).to_le_bytes()),
                _ => into.extend_from_slice(&x.to_le_bytes()),
            }
        }
    }
    Ok(())
}

/// The element of `width(dtype)` bytes.
fn element(dtype: DType, bytes: &[u8]) -> Value {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let float = |x: f64| Value::Float(if x.is_nan() { f64::NAN } else { x });
    match dtype {
        DType::Bool => Value::Bool(bits != 0),
        DType::U8 => Value::Int((bits as u8).into()),
        DType::I8 => Value::Int((bits as u8 as i8).into()),
        DType::I16 => Value::Int((bits as u16 as i16).into()),
        DType::I32 => Value::Int((bits as u32 as i32).into()),
        DType::I64 => Value::Int(bits as i64),
        DType::F16 => float(f16::from_bits(bits as u16).to_f64()),
        DType::BF16 => float(bf16::from_bits(bits as u16).to_f64()),
        DType::F32 => float(f32::from_bits(bits as u32).into()),
        DType::F64 => float(f64::from_bits(bits)),
    }
}
