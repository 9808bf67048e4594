"""Tests of room 3."""
