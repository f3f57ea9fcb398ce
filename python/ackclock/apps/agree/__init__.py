"""`ackclock agree`: one scenario and its controllers on several substrates, with tests of equivalence.

A substrate is what carries the flows: simulated TCP, a QUIC stack in virtual time or on sockets, the TCP of the kernel.
`run` runs and compares; `document` describes the result; `page` and `table` present it.
"""
