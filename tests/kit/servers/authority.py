"""An authority of our own: its certificate as a file, and TLS for a server whose certificate it signed."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)
HERE = "127.0.0.1"


class Authority:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of our own")])
        own = self._builder(self._name, self._key, datetime.now(UTC) + DAY)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        usage = [name == "key_cert_sign" for name in USAGES]
        signed = own.add_extension(x509.KeyUsage(*usage), critical=True).sign(self._key, hashes.SHA256())
        self.file = folder / "authority.pem"
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def tls(self, address: str = HERE, ends: timedelta = DAY) -> ssl.SSLContext:
        """Make the context of a server with a certificate for this address, which ends so long from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server")])
        signed = (
            self._builder(name, key, datetime.now(UTC) + ends)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        chain = self.folder / f"server-{signed.serial_number}.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + signed.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, ends: datetime) -> x509.CertificateBuilder:
        public = key.public_key()
        return (
            x509.CertificateBuilder(self._name, name, public, x509.random_serial_number(), ends - 3 * DAY, ends)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        )  # fmt: skip


USAGES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
