//! A verdict as JSON.

use std::collections::BTreeMap;

use rtv_proofs::{Contract, Finding, Record, Verdict, Witness};
use rtv_semantics::diag::Code;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{ClaimKind, Mode};
use rtv_semantics::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// A record by the names of its parts.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    name: String,
    kind: String,
    verdict: String,
    mode: String,
    contracts: BTreeMap<String, Found>,
    note: String,
    code: Option<u16>,
    samples: u64,
    certificate: Option<String>,
    checked: Option<String>,
    facets: Option<String>,
    witness: Option<Input>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    verdict: String,
    method: String,
    reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    contract: String,
    dtypes: Vec<(String, String)>,
    rank: Option<usize>,
    sizes: Vec<(String, i64)>,
    tensors: Vec<(String, Elements)>,
}

/// A tensor; its bytes in hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Elements {
    dtype: String,
    shape: Vec<usize>,
    bytes: String,
}

impl Stored {
    /// None where an input has no bytes.
    pub fn of(record: &Record) -> Option<Stored> {
        let found = |(contract, found): (&Contract, &Finding)| {
            let (verdict, method) = (found.verdict.name().into(), found.method.to_string());
            (contract.name().to_string(), Found { verdict, method, reason: found.reason.clone() })
        };
        Some(Stored {
            name: record.name.clone(),
            kind: record.kind.name().into(),
            verdict: record.verdict.name().into(),
            mode: record.mode.into(),
            contracts: record.contracts.iter().map(found).collect(),
            note: record.note.clone(),
            code: record.code.map(|code| code.0),
            samples: record.samples,
            certificate: record.certificate.clone(),
            checked: record.checked.clone(),
            facets: record.facets.clone(),
            witness: match &record.witness {
                None => None,
                Some(witness) => Some(Input::of(witness)?),
            },
        })
    }

    pub fn record(self) -> Option<Record> {
        let found = |(contract, found): (String, Found)| {
            let (verdict, method) = (Verdict::from_name(&found.verdict)?, found.method.into());
            Some((Contract::from_name(&contract)?, Finding { verdict, method, reason: found.reason }))
        };
        Some(Record {
            name: self.name,
            kind: ClaimKind::from_name(&self.kind)?,
            verdict: Verdict::from_name(&self.verdict)?,
            mode: mode(&self.mode)?,
            contracts: self.contracts.into_iter().map(found).collect::<Option<_>>()?,
            note: self.note,
            code: self.code.map(Code),
            samples: self.samples,
            certificate: self.certificate,
            checked: self.checked,
            facets: self.facets,
            witness: match self.witness {
                None => None,
                Some(input) => Some(input.witness()?),
            },
        })
    }
}

/// The name of a mode, or that of none.
pub fn mode(name: &str) -> Option<&'static str> {
    Mode::NAMES.into_iter().chain([""]).find(|mode| *mode == name)
}

impl Input {
    fn of(witness: &Witness) -> Option<Input> {
        let tensor = |(name, tensor): &(String, Tensor)| Some((name.clone(), Elements::of(tensor)?));
        Some(Input {
            contract: witness.contract.name().into(),
            dtypes: witness.dtypes.iter().map(|(name, d)| (name.clone(), d.name().into())).collect(),
            rank: witness.rank,
            sizes: witness.sizes.clone(),
            tensors: witness.tensors.iter().map(tensor).collect::<Option<_>>()?,
        })
    }

    fn witness(self) -> Option<Witness> {
        let dtype = |(name, dtype): (String, String)| Some((name, DType::from_name(&dtype)?));
        let tensor = |(name, elements): (String, Elements)| Some((name, elements.tensor()?));
        Some(Witness {
            contract: Contract::from_name(&self.contract)?,
            dtypes: self.dtypes.into_iter().map(dtype).collect::<Option<_>>()?,
            rank: self.rank,
            sizes: self.sizes,
            tensors: self.tensors.into_iter().map(tensor).collect::<Option<_>>()?,
        })
    }
}

impl Elements {
    fn of(tensor: &Tensor) -> Option<Elements> {
        let bytes = tensor.to_le_bytes().ok()?;
        let bytes = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Elements { dtype: tensor.dtype.name().into(), shape: tensor.shape().to_vec(), bytes })
    }

    fn tensor(&self) -> Option<Tensor> {
        let pairs = self.bytes.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
        Tensor::from_le_bytes(DType::from_name(&self.dtype)?, &self.shape, &bytes?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let input = [
            Tensor::from_f64(DType::F16, &[1, 3], &[-0.0, f64::NAN, 65504.0]).expect("values of f16"),
            Tensor::from_i64(DType::I8, &[2], &[-128, 127]).expect("values of i8"),
            Tensor::from_bool(&[0], &[]).expect("no elements"),
        ];
        let tensors = input.into_iter().map(|tensor| ("x".to_string(), tensor)).collect();
        let (sizes, dtypes) = (vec![("N".into(), -3)], vec![("T".into(), DType::F16)]);
        let witness = Witness { contract: Contract::Value, dtypes, rank: Some(2), sizes, tensors };
        let record = Record {
            name: "r".into(),
            kind: ClaimKind::Calls,
            verdict: Verdict::Refuted,
            mode: "exact",
            contracts: [
                (Contract::Value, Finding::refuted()),
                (Contract::Shape, Finding::proved("normal form")),
            ]
            .into(),
            note: "value \"é\"\n".into(),
            code: Some(Code(411)),
            samples: 7,
            certificate: Some("00ff".into()),
            checked: Some("accepted, without a solver".into()),
            facets: None,
            witness: Some(witness),
        };
        let text = |record: &Record| {
            serde_json::to_string(&Stored::of(record).expect("IEEE values have bytes")).expect("JSON")
        };
        let read: Stored = serde_json::from_str(&text(&record)).expect("as it was written");
        let read = read.record().expect("known names");
        assert_eq!(text(&read), text(&record));
        assert_eq!(format!("{read:?}"), format!("{record:?}"));
    }
}
