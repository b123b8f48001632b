//! NumPy's `.npz`: a zip archive of `.npy` members.

use std::io::{Cursor, Read, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{Flaw, MAX_BYTES, npy};
use crate::array::Array;

/// Most members of one archive.
const MAX_MEMBERS: usize = 1 << 16;

pub(super) fn decode(bytes: &[u8], key: Option<&str>) -> Result<Array, Flaw> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(flaw)?;
    if archive.len() > MAX_MEMBERS {
        return Err(Flaw::TooLarge(format!("{} members", archive.len())));
    }
    let names: Result<Vec<String>, ZipError> =
        archive.file_names().map(|name| name.map(|n| n.into_owned())).collect();
    let names = names.map_err(flaw)?;
    let keys = || names.iter().map(|n| n.strip_suffix(".npy").unwrap_or(n).to_string()).collect();
    let place = match key {
        Some(key) => names.iter().position(|n| n == key || n.strip_suffix(".npy") == Some(key)),
        None if names.len() == 1 => Some(0),
        None => None,
    };
    let Some(place) = place else {
        return Err(Flaw::Key { wanted: key.map(str::to_string), present: keys() });
    };
    let member = archive.by_name(&names[place]).map_err(flaw)?;
    // The declared length is only a claim: count while unpacking.
    let mut data = Vec::new();
    let broken = |why: std::io::Error| Flaw::corrupt(format!("a member does not unpack: {why}"));
    member.take(MAX_BYTES + 1).read_to_end(&mut data).map_err(broken)?;
    if data.len() as u64 > MAX_BYTES {
        return Err(Flaw::TooLarge(format!("a member unpacks to more than {MAX_BYTES} bytes")));
    }
    npy::decode(&data)
}

pub(super) fn encode(arrays: &[(&str, &Array)]) -> Result<Vec<u8>, Flaw> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // No time of day: equal tensors give equal files.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, array) in arrays {
        archive.start_file(format!("{name}.npy"), options).map_err(flaw)?;
        let bytes = npy::encode(array)?;
        archive.write_all(&bytes).map_err(|why| Flaw::corrupt(why.to_string()))?;
    }
    Ok(archive.finish().map_err(flaw)?.into_inner())
}

fn flaw(why: ZipError) -> Flaw {
    match why {
        ZipError::UnsupportedArchive(what) => Flaw::Unsupported {
            what: format!("a zip archive that is not read: {what}"),
            help: "write the archive with numpy.savez or numpy.savez_compressed",
        },
        other => Flaw::corrupt(format!("not a valid zip archive: {other}")),
    }
}
