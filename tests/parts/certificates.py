"""Makes keys and certificates for loopback, so that tests verify TLS instead of switching it off.

The bargain: an `Authority` signs what it is asked to, for a day, and every file lands in the folder given to
it. The keys are elliptic-curve ones, because those are made in no time.
"""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=1)
CLOCK_SKEW = dt.timedelta(minutes=5)
LOOPBACK_NAMES = [
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")),
]
SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority made for one test run."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(SIGNS_CERTIFICATES, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = _write(folder / f"{name}.crt", _pem(certificate))

    def issue(self, name: str, *, dns: str = "") -> KeyPair:
        """A pair good for a server on loopback (or, with `dns`, of that name alone) and for a client called `name`."""
        key = new_key()
        usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = (
            self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usages, critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)] if dns else LOOPBACK_NAMES), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        path = _write(self._folder / f"{name}.crt", _pem(certificate))
        return KeyPair(path, write_key(self._folder / f"{name}.key", key))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        """What every certificate needs; strict clients insist on the two key identifiers."""
        now = dt.datetime.now(dt.UTC)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(issuer, critical=False)
        )


def new_key() -> ec.EllipticCurvePrivateKey:
    """A private key on the curve that every program here understands."""
    return ec.generate_private_key(ec.SECP256R1())


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    """The private key as an unencrypted PEM file that only its owner reads."""
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return _write(path, pem)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
