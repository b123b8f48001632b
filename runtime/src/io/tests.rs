//! Tensor files round trip, and hostile ones are refused with a code.

use rtv_semantics::scalar::Value;

use super::*;

/// A file in a folder of its own, removed with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("rtv-io-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("a file for the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on the folder's removal.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn samples() -> Vec<Tensor> {
    let mut all = Vec::new();
    for dtype in DType::ALL {
        let element = |x: i32| Value::small(x, dtype, rtv_semantics::scalar::Domain::Ieee);
        for shape in [&[][..], &[0], &[3], &[2, 3], &[2, 0, 4], &[1, 2, 1, 2]] {
            let count = shape.iter().product::<usize>() as i32;
            let values = (0..count).map(element).collect();
            all.push(Tensor::new(dtype, shape, values).expect("valid"));
        }
    }
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 1.5, 65504.0];
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        all.push(Tensor::from_f64(dtype, &[2, 3], &special).expect("valid"));
    }
    all.push(Tensor::from_i64(DType::I64, &[2], &[i64::MIN, i64::MAX]).expect("valid"));
    all
}

#[test]
fn every_format_gives_back_what_was_written() {
    let folder = Folder::new("round-trip");
    for tensor in samples() {
        for format in Format::ALL {
            let path = folder.0.join(format!("x{}", format.ending()));
            let written = write(&path, &[("x", &tensor)]);
            if tensor.dtype == DType::BF16 && format != Format::Safetensors {
                assert_eq!(written.expect_err("refused").code, UNSUPPORTED);
                continue;
            }
            written.expect("written");
            let back = read(&path, None).expect("read");
            assert_eq!(back.same(&tensor), Some(true), "{format:?} {tensor:?} {back:?}");
        }
    }
}

#[test]
fn archives_hold_several_tensors_by_key() {
    let folder = Folder::new("keys");
    let a = Tensor::from_i64(DType::I32, &[2], &[1, 2]).expect("valid");
    let b = Tensor::from_f64(DType::F32, &[], &[0.5]).expect("valid");
    for format in [Format::Npz, Format::Safetensors] {
        let path = folder.0.join(format!("x{}", format.ending()));
        write(&path, &[("a", &a), ("b.c", &b)]).expect("written");
        assert_eq!(read(&path, Some("a")).expect("read").same(&a), Some(true));
        assert_eq!(read(&path, Some("b.c")).expect("read").same(&b), Some(true));
        let missing = read(&path, Some("c")).expect_err("no such key");
        assert_eq!(missing.code, NO_SUCH_KEY);
        assert!(missing.help.expect("help").contains("`a`, `b.c`"));
        assert_eq!(read(&path, None).expect_err("which?").code, NO_SUCH_KEY);
    }
    let path = folder.0.join("x.npy");
    assert_eq!(write(&path, &[("a", &a), ("b", &b)]).expect_err("two").code, UNSUPPORTED);
    assert_eq!(write(&path, &[]).expect_err("none").code, UNSUPPORTED);
}

#[test]
fn an_archive_without_keys_says_so() {
    let folder = Folder::new("empty");
    for format in [Format::Npz, Format::Safetensors] {
        let path = folder.0.join(format!("x{}", format.ending()));
        write(&path, &[]).expect("written");
        assert_eq!(read(&path, None).expect_err("nothing").code, NO_SUCH_KEY);
    }
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn other_layouts_are_brought_to_row_major_little_endian() {
    let folder = Folder::new("layout");
    let columns = npy(
        "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n",
        &[1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0],
    );
    let expected = Tensor::from_i64(DType::I16, &[2, 3], &[1, 2, 3, 4, 5, 6]).expect("valid");
    let back = read(&folder.file("f.npy", &columns), None).expect("read");
    assert_eq!(back.same(&expected), Some(true));
    assert_eq!(back.to_le_bytes(), expected.to_le_bytes());
    let big = npy(
        "{\"shape\": (2L,), \"fortran_order\": False, \"descr\": \">i4\"}",
        &[0, 0, 1, 2, 255, 255, 255, 255],
    );
    let expected = Tensor::from_i64(DType::I32, &[2], &[258, -1]).expect("valid");
    assert_eq!(read(&folder.file("b.npy", &big), None).expect("read").same(&expected), Some(true));
}

#[test]
fn hostile_npy_headers_are_coded_errors() {
    let folder = Folder::new("npy");
    let cases = [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0; 7][..], CORRUPT),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0; 9], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': True, 'shape': (9999999999,)}", &[], TOO_LARGE),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", &[], TOO_LARGE),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", &[], TOO_LARGE),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}", &[], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", &[], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': 3}", &[], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}", &[], CORRUPT),
        ("{'descr': '<f8', 'shape': ()}", &[0; 8], CORRUPT),
        ("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", &[0; 8], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'more': 1}", &[0; 8], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': ()} x", &[0; 8], CORRUPT),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (", &[], CORRUPT),
        ("{'descr': '<f8", &[], CORRUPT),
        ("{'descr': '?f8', 'fortran_order': False, 'shape': ()}", &[0; 8], CORRUPT),
        ("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", &[0; 8], UNSUPPORTED),
        ("{'descr': '<u4', 'fortran_order': False, 'shape': ()}", &[0; 4], UNSUPPORTED),
        ("{'descr': '|V2', 'fortran_order': False, 'shape': ()}", &[0; 2], UNSUPPORTED),
        ("{'descr': '|O', 'fortran_order': False, 'shape': ()}", &[0; 2], UNSUPPORTED),
        ("{'descr': '', 'fortran_order': False, 'shape': ()}", &[], UNSUPPORTED),
        ("{'descr': 'é', 'fortran_order': False, 'shape': ()}", &[], UNSUPPORTED),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", &[0; 4], UNSUPPORTED),
        ("", &[], CORRUPT),
    ];
    for (header, data, code) in cases {
        let why = read(&folder.file("x.npy", &npy(header, data)), None).expect_err(header);
        assert_eq!(why.code, code, "{header}: {}", why.message);
    }
    let axes = "1,".repeat(65);
    let deep = npy(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({axes})}}"), &[0]);
    assert_eq!(read(&folder.file("x.npy", &deep), None).expect_err("axes").code, TOO_LARGE);
    let endless = b"\x93NUMPY\x02\x00\xff\xff\xff\xff";
    assert_eq!(read(&folder.file("x.npy", endless), None).expect_err("length").code, CORRUPT);
    let version = b"\x93NUMPY\x07\x00\x00\x00";
    assert_eq!(read(&folder.file("x.npy", version), None).expect_err("version").code, CORRUPT);
}

/// Cuts and changed bytes give a tensor or a coded error, and never a panic.
#[test]
fn damaged_files_never_panic() {
    let folder = Folder::new("damage");
    let tensor = Tensor::from_f64(DType::F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0]).expect("valid");
    let stream = crate::random::Stream { seed: 11, number: 0 };
    for format in Format::ALL {
        let path = folder.0.join(format!("x{}", format.ending()));
        write(&path, &[("x", &tensor)]).expect("written");
        let whole = fs::read(&path).expect("bytes");
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).expect("write");
            let why = read(&path, None).expect_err("cut short");
            assert!((801..=807).contains(&why.code.0), "{why:?}");
        }
        for round in 0..600u64 {
            let mut bytes = whole.clone();
            for change in 0..1 + round % 3 {
                let word = stream.word(round * 4 + change);
                let at = (word >> 8) as usize % bytes.len();
                bytes[at] = word as u8;
            }
            fs::write(&path, &bytes).expect("write");
            if let Err(why) = read(&path, Some("x").filter(|_| format != Format::Npy)) {
                assert!((801..=807).contains(&why.code.0), "{why:?}");
            }
        }
    }
}

#[test]
fn hostile_safetensors_headers_are_coded_errors() {
    let folder = Folder::new("safetensors");
    let file = |header: &str, data: &[u8]| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    };
    let cases = [
        (file(r#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#, &[0; 4]), CORRUPT),
        (file(r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#, &[0; 3]), CORRUPT),
        (file(r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#, &[0; 4]), CORRUPT),
        (file(r#"{"x":{"dtype":"U32","shape":[1],"data_offsets":[0,4]}}"#, &[0; 4]), UNSUPPORTED),
        (file(r#"{"x":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}}"#, &[0]), UNSUPPORTED),
        (
            file(
                r#"{"x":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}"#,
                &[],
            ),
            CORRUPT,
        ),
        (file("{", &[]), CORRUPT),
        (file(&"[".repeat(100_000), &[]), CORRUPT),
        (u64::MAX.to_le_bytes().to_vec(), CORRUPT),
        (vec![1, 2, 3], CORRUPT),
    ];
    for (bytes, code) in cases {
        let why = read(&folder.file("x.safetensors", &bytes), None).expect_err("refused");
        assert_eq!(why.code, code, "{}", why.message);
    }
}

#[test]
fn an_archive_member_may_not_unpack_without_end() {
    let folder = Folder::new("bomb");
    let path = folder.0.join("x.npz");
    let mut archive = zip::ZipWriter::new(File::create(&path).expect("file"));
    let packed = zip::write::SimpleFileOptions::default();
    archive.start_file("x.npy", packed.compression_method(zip::CompressionMethod::Deflated)).expect("member");
    let zeros = vec![0u8; 1 << 20];
    for _ in 0..=(MAX_BYTES >> 20) {
        archive.write_all(&zeros).expect("zeros");
    }
    archive.finish().expect("archive");
    assert_eq!(read(&path, None).expect_err("bomb").code, TOO_LARGE);
}

#[test]
fn files_that_are_none_are_coded_errors() {
    let folder = Folder::new("none");
    fs::create_dir_all(folder.0.join("d.npy")).expect("folder");
    assert_eq!(read(&folder.0.join("d.npy"), None).expect_err("folder").code, UNREADABLE);
    assert_eq!(read(&folder.0.join("no.npy"), None).expect_err("missing").code, UNREADABLE);
    assert_eq!(read(&folder.0.join("x.txt"), None).expect_err("format").code, UNKNOWN_FORMAT);
    let tensor = Tensor::from_i64(DType::I64, &[], &[1]).expect("valid");
    let into = folder.0.join("no/such/x.npy");
    assert_eq!(write(&into, &[("x", &tensor)]).expect_err("folder").code, UNWRITABLE);
    write(&folder.0.join("x.npy"), &[("x", &tensor)]).expect("written");
    assert_eq!(read(&folder.0.join("x.npy"), Some("x")).expect_err("key").code, UNSUPPORTED);
}
