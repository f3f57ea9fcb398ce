"""How both ends of a connection of aioquic are configured, and the certificate."""

import datetime
import ssl

from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LARGEST = 1452  # bytes of a datagram, as the other QUIC stacks use
PLENTY = 1 << 40  # of flow control


def certificate():
    """A certificate with the same bytes in every run: signatures of Ed25519 all have 64 bytes and no random part."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    years = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2020, 2120)]
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, *years)
    return key, builder.sign(key, None)


KEY, CERTIFICATE = certificate()


def configuration(case, is_client):
    """The configuration of an end for a case."""
    return QuicConfiguration(
        is_client=is_client,
        alpn_protocols=["bytes"],
        congestion_control_algorithm=case["controller"],
        max_datagram_size=min(LARGEST, case["mtu"] - case["header"]),
        max_data=PLENTY,
        max_stream_data=PLENTY,
        idle_timeout=1e6,
        verify_mode=ssl.CERT_NONE,
        server_name="localhost",
        certificate=CERTIFICATE,
        private_key=KEY,
    )
