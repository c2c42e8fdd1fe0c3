//! Certificates made by openssl, which `scripts/setup.sh` installs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An authority and what it has signed, in a folder that goes with it.
pub struct Authority {
    folder: tempfile::TempDir,
}

/// A certificate and its key.
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

fn openssl(arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).output();
    let output = output.unwrap_or_else(|error| {
        panic!("openssl does not run ({error}); scripts/setup.sh openssl installs it")
    });
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

impl Authority {
    pub fn new() -> Self {
        let authority = Self { folder: tempfile::tempdir().unwrap() };
        let Identity { certificate, key } = authority.files("ca");
        let files = ["-keyout", text(&key), "-out", text(&certificate)];
        let rest = ["-x509", "-days", "2", "-subj", "/CN=Test authority"];
        openssl(&[&["req"], &KEY[..], &rest, &files].concat());
        authority
    }

    pub fn certificate(&self) -> PathBuf {
        self.files("ca").certificate
    }

    fn files(&self, name: &str) -> Identity {
        let file = |kind: &str| self.folder.path().join(format!("{name}.{kind}"));
        Identity { certificate: file("pem"), key: file("key") }
    }

    /// One for `name` (as `DNS:localhost`), over after so many days.
    pub fn sign(&self, name: &str, days: i32) -> Identity {
        let stem = format!("{}{days}", name.replace([':', '.'], "-"));
        let (identity, ca) = (self.files(&stem), self.files("ca"));
        let request = self.folder.path().join(format!("{stem}.csr"));
        let names = format!("subjectAltName={name}");
        let rest = ["-subj", "/CN=Test", "-addext", &names];
        let files = ["-keyout", text(&identity.key), "-out", text(&request)];
        openssl(&[&["req", "-new"], &KEY[..], &rest, &files].concat());
        let days = days.to_string();
        openssl(&[
            "x509",
            "-req",
            "-in",
            text(&request),
            "-CA",
            text(&ca.certificate),
            "-CAkey",
            text(&ca.key),
            "-CAcreateserial",
            "-copy_extensions",
            "copy",
            "-days",
            &days,
            "-out",
            text(&identity.certificate),
        ]);
        identity
    }
}
