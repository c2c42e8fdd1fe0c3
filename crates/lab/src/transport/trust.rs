//! TLS as a client (RFC 8446, RFC 5246) by rustls: whose certificates are accepted, and what is
//! said when one is not.

use crate::limits::CA_FILE_BYTES_MAX;
use crate::plan::{Protocol, Transport, Trust};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// Why it is not known whom to trust.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The file of certificates cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is too large to be one.
    #[error(
        "{} has more than {max} bytes: expected certificates in PEM",
        path.display(),
        max = CA_FILE_BYTES_MAX
    )]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// There is none in it, or one that is damaged.
    #[error(
        "{} has no certificate that can be trusted: {reason}; expected PEM with a line \
         -----BEGIN CERTIFICATE-----",
        path.display()
    )]
    NoCertificate {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// rustls cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Config(String),
}

/// How TLS is spoken to a server.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// The configuration for all servers of a run.
///
/// # Errors
/// See [`TrustError`].
pub(crate) fn config(transport: &Transport) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TrustError::Config(error.to_string()))?;
    let builder = match transport.trust.insecure {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        false => builder.with_root_certificates(roots(&transport.trust)?),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![alpn(transport.protocol).to_vec()];
    Ok(Arc::new(config))
}

/// The protocol's name in a handshake (RFC 7301).
pub(crate) fn alpn(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 { .. } => b"http/1.1",
        Protocol::Http2 { .. } => b"h2",
    }
}

fn roots(trust: &Trust) -> Result<RootCertStore, TrustError> {
    let Some(path) = &trust.ca else {
        let roots = webpki_roots::TLS_SERVER_ROOTS.to_vec();
        return Ok(RootCertStore { roots });
    };
    let bytes = read(path)?;
    let refused = |reason: String| TrustError::NoCertificate { path: path.clone(), reason };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        roots.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(refused("there is none in it".to_owned())),
        false => Ok(roots),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TrustError> {
    let failed = |source| TrustError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(CA_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > CA_FILE_BYTES_MAX {
        true => Err(TrustError::TooLarge { path: path.to_owned() }),
        false => Ok(bytes),
    }
}

/// What TLS says of a server, and what can be done.
pub(crate) fn explain(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(why)) => format!("TLS failed: {}", refuse(why)),
        Some(tls) => format!("TLS failed: {tls}{}", hint(tls)),
        None => format!("the TLS handshake broke off: {error}; does the server speak TLS there?"),
    }
}

fn refuse(why: &CertificateError) -> String {
    const ANY: &str = "--insecure accepts any certificate";
    match why {
        CertificateError::UnknownIssuer => format!(
            "the server's certificate is signed by nobody who is trusted; name its authority with \
             --ca FILE, or take --insecure ({why})"
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the server's certificate has expired; {ANY} ({why})")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the server's certificate is for another name: {why}; {ANY}")
        }
        _ => format!("the server's certificate is refused: {why}; {ANY}"),
    }
}

fn hint(error: &rustls::Error) -> &'static str {
    use rustls::Error::{AlertReceived, InvalidMessage};
    match error {
        AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
            ": the server does not speak the protocol that was asked for"
        }
        InvalidMessage(_) => "; does the server speak TLS there? Otherwise use http://",
        _ => "",
    }
}

/// Accepts any certificate. That the server has its key is checked all the same.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ca: &Path) -> String {
        let trust = Trust { ca: Some(ca.to_owned()), insecure: false };
        let transport = Transport { trust, ..Transport::default() };
        config(&transport).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_file_that_is_no_certificate_is_refused_by_name() {
        let missing = Path::new("/nowhere/ca.pem");
        assert!(refusal(missing).starts_with("cannot read /nowhere/ca.pem: "));
        // A file of this crate, which holds none.
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(refusal(&here).contains("there is none in it"), "{}", refusal(&here));
        let endless = refusal(Path::new("/dev/zero"));
        assert!(endless.contains("more than"), "{endless}");
    }
}
