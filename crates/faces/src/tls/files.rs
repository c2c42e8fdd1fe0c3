//! The certificate and the key in their files.

use super::TlsOptions;
use super::validity::{self, Validity};
use crate::limits;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, InconsistentKeys};

/// Why TLS cannot be spoken with these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is no certificate or key for its size alone.
    #[error(
        "{path} has more than {max} bytes: expected a certificate or a key in PEM",
        max = limits::TLS_FILE_BYTES_MAX
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what it begins to be.
    #[error("{path} is damaged: {reason}; expected PEM")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file has no certificate.
    #[error("{path} has no certificate: expected PEM with a line -----BEGIN CERTIFICATE-----")]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The first certificate cannot be read.
    #[error("the first certificate in {path} is not one: {reason}")]
    BadCertificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file has no key.
    #[error(
        "{path} has no private key that can be used: expected PEM with a line -----BEGIN PRIVATE \
         KEY-----, and a key that is not encrypted"
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The key is of a kind that is not known.
    #[error("the private key in {path} cannot be used: {reason}; take RSA, ECDSA or Ed25519")]
    BadKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key are of different pairs.
    #[error(
        "the private key in {key} is not that of the first certificate in {certificate}; the \
         server's own certificate comes first, then those who signed it"
    )]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// rustls cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Library(Error),
}

/// What the files hold.
#[derive(Debug)]
pub(super) struct Loaded {
    pub key: CertifiedKey,
    /// Why clients will refuse the certificate now, or soon.
    pub warning: Option<String>,
}

/// Reads both files and checks that they belong together.
pub(super) fn load(options: &TlsOptions, provider: &CryptoProvider) -> Result<Loaded, TlsError> {
    let chain = certificates(&options.certificate)?;
    let validity = chain.first().map(|first| validity::of(first));
    let key = private_key(&options.key)?;
    let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::Mismatch {
            certificate: options.certificate.clone(),
            key: options.key.clone(),
        },
        Error::InvalidCertificate(reason) => TlsError::BadCertificate {
            path: options.certificate.clone(),
            reason: format!("{reason:?}"),
        },
        other => TlsError::BadKey { path: options.key.clone(), reason: other.to_string() },
    })?;
    let validity = validity.flatten().ok_or_else(|| TlsError::BadCertificate {
        path: options.certificate.clone(),
        reason: "it has no dates".to_owned(),
    })?;
    Ok(Loaded { key, warning: warning(&options.certificate, validity, SystemTime::now()) })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| damaged(path, &error))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: path.to_owned() });
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey { path: path.to_owned() },
        other => damaged(path, &other),
    })
}

fn damaged(path: &Path, error: &pem::Error) -> TlsError {
    TlsError::Pem { path: path.to_owned(), reason: error.to_string() }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read { path: path.to_owned(), source };
    let max = limits::TLS_FILE_BYTES_MAX;
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(max as u64 + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() > max {
        return Err(TlsError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

/// Clients compare the dates with their own clocks, so a wrong one is no reason not to start.
fn warning(path: &Path, validity: Validity, now: SystemTime) -> Option<String> {
    let path = path.display();
    let date = httpdate::fmt_http_date;
    if now > validity.until {
        let date = date(validity.until);
        return Some(format!("the certificate in {path} expired on {date}: clients refuse it"));
    }
    if now < validity.from {
        let date = date(validity.from);
        return Some(format!("the certificate in {path} is valid from {date} only"));
    }
    let soon = now.checked_add(limits::CERTIFICATE_SOON)? > validity.until;
    soon.then(|| format!("the certificate in {path} expires on {}", date(validity.until)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_that_clients_will_mind_are_told() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let day = 86_400;
        let validity = Validity { from: at(1_000 * day), until: at(2_000 * day) };
        let told = |now| warning(Path::new("/c.pem"), validity, at(now));
        assert_eq!(told(1_500 * day), None);
        assert!(told(999 * day).unwrap().contains("valid from"));
        assert!(told(2_000 * day - 60).unwrap().contains("expires on"));
        let expired = told(2_001 * day).unwrap();
        assert!(expired.contains("/c.pem expired on"), "{expired}");
    }
}
