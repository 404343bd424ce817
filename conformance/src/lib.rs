//! Checks any MCP server against the specification, clause by clause.
