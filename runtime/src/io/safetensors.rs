//! The `.safetensors` format: a JSON header with dtypes, shapes and offsets, then bytes.

use std::borrow::Cow;

use rtv_semantics::dtype::DType;
use safetensors::{Dtype, SafeTensors, View};

use super::{Flaw, from_bytes};
use crate::array::Array;

/// Longest header that is read; about a hundred thousand tensors.
const MAX_HEADER: u64 = 1 << 24;

const NAMES: [(Dtype, DType); 10] = [
    (Dtype::BOOL, DType::Bool),
    (Dtype::U8, DType::U8),
    (Dtype::I8, DType::I8),
    (Dtype::I16, DType::I16),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
];

pub(super) fn decode(bytes: &[u8], key: Option<&str>) -> Result<Array, Flaw> {
    let declared = bytes.first_chunk().map(|len| u64::from_le_bytes(*len));
    if declared.is_some_and(|len| len > MAX_HEADER) {
        return Err(Flaw::corrupt("the header claims more than 16 MiB"));
    }
    let file = SafeTensors::deserialize(bytes).map_err(|why| Flaw::corrupt(why.to_string()))?;
    let mut names: Vec<String> = file.names().into_iter().map(str::to_string).collect();
    names.sort();
    let name = match (key, names.as_slice()) {
        (Some(key), _) => Some(key),
        (None, [only]) => Some(only.as_str()),
        (None, _) => None,
    };
    let view = name.and_then(|name| file.tensor(name).ok());
    let Some(view) = view else {
        return Err(Flaw::Key { wanted: key.map(str::to_string), present: names });
    };
    let Some((_, dtype)) = NAMES.iter().find(|(stored, _)| *stored == view.dtype()) else {
        return Err(Flaw::Unsupported {
            what: format!("elements of dtype {:?}", view.dtype()),
            help: "cast the tensor to a dtype of the language before saving it",
        });
    };
    from_bytes(*dtype, view.shape(), view.data())
}

/// One tensor on its way into a file.
struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

pub(super) fn encode(arrays: &[(&str, &Array)]) -> Result<Vec<u8>, Flaw> {
    let stored: Vec<(&str, Stored)> = arrays
        .iter()
        .map(|(name, array)| {
            let (dtype, _) = NAMES
                .iter()
                .find(|(_, dtype)| *dtype == array.dtype)
                .expect("invariant: every dtype has a name in the format");
            let (shape, bytes) = (array.shape.clone(), array.settled_bytes());
            (*name, Stored { dtype: *dtype, shape, bytes })
        })
        .collect();
    safetensors::serialize(stored, None).map_err(|why| Flaw::corrupt(why.to_string()))
}
