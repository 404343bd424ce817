//! A strict MCP reference server for both eras.
