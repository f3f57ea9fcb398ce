"""Replays: recorded exchanges played against the sender of this simulator.

Three forms of input, told by their keys (docs/replay.md): scripts (writes and ACKs at given times, with the answers of
a sender), vectors (ACKs with the segments that each one sets off), and cases (a network to simulate).
"""
