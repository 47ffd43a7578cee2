"""The certificate checker: shares no code with the prover."""
