//! Drives MCP devices: client on both eras, transcripts, replay, reports.
