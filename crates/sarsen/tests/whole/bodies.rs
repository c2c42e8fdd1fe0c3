//! Bytes and forms on the wire, sent by a client that is not ours: curl.

use crate::harness::{Ends, Server, Site, test_app};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What curl got: status, header fields as text, body.
fn curl(server: &Server, path: &str, arguments: &[&str]) -> (u16, String, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (head, body) = (at("head"), at("body"));
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "60", "--output", &body])
        .args(["--dump-header", &head, "--write-out", "%{http_code}"])
        .args(arguments)
        .arg(server.url(path))
        .ends();
    assert!(output.status.success(), "{path}: {output:?}");
    let status = String::from_utf8_lossy(&output.stdout).parse().expect("a status");
    let head = fs::read_to_string(head).expect("header fields").to_ascii_lowercase();
    (status, head, fs::read(body).unwrap_or_default())
}

/// Every byte there is, many times, and what looks like the end of a part.
fn photo(folder: &Path) -> (String, Vec<u8>) {
    let mut photo: Vec<u8> = (0..200_000u32).map(|n| (n * 7 % 256) as u8).collect();
    photo.extend_from_slice(b"\r\n--\r\n--------------------------\r\n");
    let path = folder.join("näme.png");
    fs::write(&path, &photo).expect("a file");
    (path.display().to_string(), photo)
}

#[test]
fn a_photo_goes_in_by_a_form_and_comes_out_as_it_was() {
    let site = Site::with_app(test_app("album"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, photo) = photo(folder.path());
    let key = {
        let server = site.start();
        let upload = format!("photo=@{file};type=image/png");
        let fields = ["-F", "title=A \"title\"", "-F", "tag=a", "-F", "tag=b", "-F", &upload];
        let (status, head, body) = curl(&server, "/photos", &fields);
        let body = String::from_utf8(body).expect("JSON");
        assert_eq!(status, 201, "{body}");
        assert!(head.contains("x-method: post"), "{head}");
        assert!(body.contains(&format!("\"size\":{}", photo.len())), "{body}");
        assert!(body.contains("\"tags\":[\"a\",\"b\"]"), "{body}");
        let key = body.split('"').nth(3).expect("the key").to_owned();
        assert!(head.contains(&format!("location: /photos/{}", key.to_lowercase())), "{head}");
        key
    };
    // Once more after a kill: what was acknowledged is on disk.
    let server = site.start();
    let (status, head, body) = curl(&server, &format!("/photos/{key}"), &[]);
    assert_eq!((status, body == photo), (200, true));
    assert!(head.contains("content-type: image/png"), "{head}");
    assert!(head.contains(&format!("content-length: {}", photo.len())), "{head}");
    let (_, _, about) = curl(&server, &format!("/photos/{key}/about"), &[]);
    let about = String::from_utf8(about).expect("JSON");
    assert_eq!(about, r#"{"title":"A \"title\"","name":"näme.png","type":"image/png"}"#);
    let (status, head, _) = curl(&server, &format!("/photos/{key}"), &["--head"]);
    assert_eq!(status, 200);
    assert!(head.contains(&format!("content-length: {}", photo.len())), "{head}");
    let upload = format!("@{file}");
    let (status, ..) =
        curl(&server, &format!("/photos/{key}"), &["-X", "PUT", "--data-binary", &upload]);
    assert_eq!(status, 204);
    assert_eq!(curl(&server, &format!("/photos/{key}"), &["-X", "DELETE"]).0, 204);
    let (status, _, body) = curl(&server, &format!("/photos/{key}"), &[]);
    let body = String::from_utf8(body).expect("JSON");
    assert_eq!((status, body.contains("no such photo")), (404, true), "{body}");
}

#[test]
fn methods_slashes_and_refusals_on_the_wire() {
    let site = Site::with_app(test_app("album"));
    let server = site.start();
    let (status, head, _) = curl(&server, "/photos", &["-X", "PATCH"]);
    assert_eq!((status, head.contains("allow: post, options")), (405, true), "{head}");
    let (status, head, body) = curl(&server, "/photos", &["-X", "OPTIONS"]);
    assert_eq!((status, body.len()), (204, 0));
    assert!(head.contains("allow: post, options") && head.contains("x-method: options"), "{head}");
    let (status, head, _) = curl(&server, "/zeros/3/?x=1", &[]);
    assert_eq!((status, head.contains("location: /zeros/3?x=1")), (308, true), "{head}");
    let (status, _, body) = curl(&server, "/photos", &["-d", "title=x"]);
    assert_eq!((status, body.starts_with(b"{\"failed\":\"/photos\"")), (400, true));
    let (status, ..) = curl(&server, "/photos", &["--json", "{}"]);
    assert_eq!(status, 415);
    let odd = ["-H", "Content-Type: multipart/form-data; boundary=x", "-d", "--x\r\nno"];
    assert_eq!(curl(&server, "/photos", &odd).0, 400);
    assert_eq!(curl(&server, "/zeros/2000000", &[]).2, vec![0; 2_000_000]);
    let (status, _, body) = curl(&server, "/zeros/2000001", &[]);
    assert_eq!(status, 500, "{}", String::from_utf8_lossy(&body));
    let chunked = ["-H", "Transfer-Encoding: chunked", "--data-binary", "ü"];
    assert_eq!(curl(&server, "/echo", &chunked).2, "ü".as_bytes());
}
