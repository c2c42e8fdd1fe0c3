//! RFC 7578 and RFC 2046 §5.1.1, and what browsers and programs send.

use super::*;

fn fields(body: &str) -> Result<Vec<Part>, MultipartError> {
    parse(body.replace('\n', "\r\n").as_bytes(), "x")
}

fn text(name: &str, value: &str) -> Part {
    Part::text(name.to_owned(), value.to_owned())
}

#[test]
fn fields_and_files() {
    let body = "--x\nContent-Disposition: form-data; name=\"a\"\n\none\n\
                --x\ncontent-disposition: form-data; name=a; x=y\nX-Y: z\n\n\n\
                --x \t\nContent-Disposition: form-data; name=\"f\"; filename=\"ü %22.png\"\n\
                Content-Type: image/png\n\n\r\n--xy\n\n--x--\nepilogue";
    let parts = fields(body).unwrap();
    assert_eq!(parts[..2], [text("a", "one"), text("a", "")]);
    let Content::File { name, media_type, place } = parts[2].content.clone() else {
        panic!("{parts:?}")
    };
    assert_eq!((name.as_str(), media_type.as_str()), ("ü \".png", "image/png"));
    let body = body.replace('\n', "\r\n");
    assert_eq!(&body[place], "\r\r\n--xy\r\n", "a longer boundary is content");
}

#[test]
fn preamble_and_defaults() {
    let body = "for old mail programs\n--x\nContent-Disposition: form-data; name=f; \
                filename=C:\\a.txt\n\nlines\nof it\n--x--";
    let parts = fields(body).unwrap();
    let Content::File { name, media_type, .. } = &parts[0].content else { panic!("{parts:?}") };
    assert_eq!((name.as_str(), media_type.as_str()), ("C:\\a.txt", "application/octet-stream"));
}

#[test]
fn a_file_that_was_not_chosen_is_left_out() {
    let body = "--x\nContent-Disposition: form-data; name=\"f\"; filename=\"\"\n\
                Content-Type: application/octet-stream\n\n\n--x--";
    assert_eq!(fields(body), Ok(vec![]));
    assert_eq!(fields("--x--"), Ok(vec![]));
}

#[test]
fn what_is_no_form_is_refused() {
    let part = "--x\nContent-Disposition: form-data; name=\"a\"\n\n1";
    for (body, why) in [
        (String::new(), MultipartError::Start),
        ("a=b".to_owned(), MultipartError::Start),
        ("--xy\n".to_owned(), MultipartError::Start),
        (part.to_owned(), MultipartError::End),
        (format!("{part}\n--x"), MultipartError::End),
        (format!("{part}\n--x\n"), MultipartError::Head),
        ("--x\n\n1\n--x--".to_owned(), MultipartError::Name),
        ("--x\nA: b\n\n1\n--x--".to_owned(), MultipartError::Name),
        ("--x\nno field\n\n1\n--x--".to_owned(), MultipartError::Head),
        ("--x\nContent-Disposition: form-data\n\n1\n--x--".to_owned(), MultipartError::Name),
        ("--x\nContent-Disposition: file; name=a\n\n\n--x--".to_owned(), MultipartError::Name),
    ] {
        assert_eq!(fields(&body), Err(why), "{body:?}");
    }
    for boundary in ["", "é", "a\r\n", &"a".repeat(BOUNDARY_CHARS_MAX + 1)] {
        assert!(matches!(parse(b"", boundary), Err(MultipartError::Boundary(_))), "{boundary}");
    }
}

#[test]
fn parts_and_their_heads_are_bounded() {
    let part = "--x\nContent-Disposition: form-data; name=a\n\n1\n";
    assert_eq!(fields(&format!("{}--x--", part.repeat(FORM_FIELDS_MAX))).unwrap().len(), 1_000);
    let more = format!("{}--x--", part.repeat(FORM_FIELDS_MAX + 1));
    assert_eq!(fields(&more), Err(MultipartError::Parts));
    let with = |bytes: usize| {
        let start = "Content-Disposition: form-data; name=";
        format!("--x\n{start}{}\n\n1\n--x--", "n".repeat(bytes - start.len()))
    };
    assert!(fields(&with(PART_HEAD_BYTES_MAX)).is_ok());
    assert_eq!(fields(&with(PART_HEAD_BYTES_MAX + 1)), Err(MultipartError::Head));
}
