"""`ackclock conform`: whether a stack's congestion control does what its document says (docs/stacks.md)."""
