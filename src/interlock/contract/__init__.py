"""The contract language: reading, checking, drawing and comparing lifecycles."""
